"""Failing tests, read from what test runners print. A reader words a failure; it never changes an outcome."""
