"""How many examples Hypothesis tries: all in `make long`, a fourth of them in `make test`."""

from __future__ import annotations

import os

SEARCH = "COUNTERSIGN_SEARCH" in os.environ
"""Whether new examples are looked for, as `make long` does."""


def examples(number: int) -> int:
    """`number` where examples are looked for, else a fourth of it."""
    return number if SEARCH else number // 4
