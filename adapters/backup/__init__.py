"""The file that a backup is."""
