"""Todos as workflows of a Temporal server."""
