"""The processes that a test's own process has begun."""

from __future__ import annotations

import psutil


def children() -> set[int]:
    """Their ids: a server of another test's may be among them, so compare with those of before."""
    return {child.pid for child in psutil.Process().children()}
