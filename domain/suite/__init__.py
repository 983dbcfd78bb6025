"""Runs of tests: what was recorded of them, what they are held against, and what they come to."""
