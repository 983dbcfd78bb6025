"""Roles that language models play: what they are sent, what they may use, what is kept of it."""
