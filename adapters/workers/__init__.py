"""Runs worker commands on this host: the `Workers` port. Importing this imports nothing, as `supervisor` needs it."""
