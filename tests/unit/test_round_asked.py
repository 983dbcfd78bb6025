"""How often a round is asked how far it is: several times a second, and less where answers take their time."""

from __future__ import annotations

import pytest

from entrypoints.following import pause_after


@pytest.mark.parametrize(
    ("took", "pause"), [(0.0, 0.2), (0.01, 0.2), (0.05, 0.2), (0.1, 0.4), (0.3, 1.2), (0.5, 2.0), (5.0, 2.0)]
)
def test_what_takes_long_to_answer_is_asked_less(took: float, pause: float) -> None:
    assert pause_after(took) == pytest.approx(pause)
