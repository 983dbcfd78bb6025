"""The only I/O: one folder a port of `domain/ports.py`, and the reading of files that people write."""
