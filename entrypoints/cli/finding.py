"""What `countersign doctor` says of one thing that it looked at."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing looked at. `fix` is empty when it is well."""

    name: str
    ok: bool
    text: str
    fix: str = ""
