"""The workflow of a session: what waits, tells and starts. The rules are `domain.sessions`'."""
