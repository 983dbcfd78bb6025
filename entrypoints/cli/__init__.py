"""The command line: one module a command or family of commands."""
