"""The trail in a database, its rows chained by their hashes, its ends recorded outside (DESIGN 5)."""

from adapters.trail.sql import SqlTrail

__all__ = ["SqlTrail"]
