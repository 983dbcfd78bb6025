"""Starts a worker: `python worker.py --help`."""
