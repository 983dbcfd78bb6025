"""Prime numbers."""
