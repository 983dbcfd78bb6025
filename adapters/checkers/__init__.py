"""How each type of criterion is checked; `checkers` is the one registry."""

from adapters.checkers.registry import checkers

__all__ = ["checkers"]
