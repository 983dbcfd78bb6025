"""The trail in a database, its rows chained by their hashes, its ends recorded outside (DESIGN 5).

`SqlTrail` is loaded when it is first asked for: who only reads rows (`reading`) does without SQLAlchemy, slow to load.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adapters.trail.sql import SqlTrail

__all__ = ["SqlTrail"]


def __getattr__(name: str) -> Any:
    if name != "SqlTrail":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from adapters.trail.sql import SqlTrail  # noqa: PLC0415 - see above

    return SqlTrail
