"""Runs in which only some expected values are changed: whether what compares them excuses these. Pure; it runs nothing.

Beside tests that fail, one that cannot is not seen. So what a run of changed values does not show is changed alone; a
run that passes then is a proof where these places raise and the run fails, or where the base runs the tests. Honest
work passes it with dead code, and where an error is swallowed as much as another value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from domain.base import Message
from domain.checks import Observation, Outcome, classify
from domain.mutation.singles import Single

SECONDS = 60.0
"""What the runs of some values alone may take together; a command that takes longer has none."""

_NAMED = 3
_JOINS = re.compile(r"[;|\n]|(?<!&)&(?!&)")


class Place(Message):
    """A value of a test file."""

    path: str
    single: Single

    def shown(self) -> str:
        """`tests/a.js:12`."""
        return f"{self.path}:{self.single.line}"


class SinglesRun(Message):
    """A run with only these values changed; the rest was seen where it passed, and only what could be.

    `on_base`: the same on the base. `raising`: the work with expressions that raise in their places. `stopped` and
    `stopped_on_base`: with the tests that they are in stopped at their beginning.
    """

    places: tuple[Place, ...]
    observation: Observation
    on_base: Observation | None = None
    raising: Observation | None = None
    stopped: Observation | None = None
    stopped_on_base: Observation | None = None


def is_plain(command: str) -> bool:
    """Whether the exit code is that of everything the command runs, as far as its words tell."""
    return not _JOINS.search(command.strip())


def unshown(places: Sequence[Place], seen: Observation) -> tuple[Place, ...]:
    """Those of the changed places that the run does not show to have made a test fail."""
    output = _output(seen)
    told = [place for place in places if place.single.mark and place.single.mark in output]
    functions = {(place.path, place.single.test) for place in told}
    failed = {line[1] for line in re.finditer(r"^(?:FAIL|ERROR): (\w+)\b", output, re.MULTILINE)}

    def shows(place: Place) -> bool:
        """By its mark; without one by its function, unless another value of it is what failed."""
        single = place.single
        beside = not single.mark and single.test in failed and (place.path, single.test) not in functions
        return place in told or beside

    return tuple(place for place in places if not shows(place))


def unmasked(waiting: Sequence[Place], runs: Sequence[SinglesRun]) -> tuple[Place, ...]:
    """Those whose test no run showed to fail, so that nothing before them can have ended it; all, if there are none."""
    shown = {(place.path, place.single.test) for run in runs for place in run.places if place not in waiting}
    return tuple(place for place in waiting if (place.path, place.single.test) not in shown) or tuple(waiting)


def excused(run: SinglesRun, unchanged: Observation | None, limit: float) -> str:
    """What people are told of a run that shows that values are excused, empty for one that shows nothing."""
    if not _passed(run.observation, limit):
        return ""
    if unchanged and _passed(unchanged, limit) and (run.on_base is None or _passed(run.on_base, limit)):
        return ""  # the base passes with these values, too
    if run.raising and not _passed(run.raising, limit):
        reached = [place for place in run.places if place.single.raised in _output(run.raising)]
        if reached:
            return f"the values at {_named(reached)} were changed alone, and it ended with 0 all the same"
    if run.stopped and _passed(run.stopped, limit) and run.stopped_on_base and unchanged:
        before, after = _output(unchanged), _output(run.stopped_on_base)
        stopped = [place for place in run.places if place.single.stop]
        left_out = [p for p in stopped if p.single.stopped in after and p.single.stopped not in before]
        if left_out and not _passed(run.stopped_on_base, limit):
            return f"the tests at {_named(left_out)}, which the base runs, were made to fail, and it ended with 0"
    return ""


def _passed(seen: Observation, limit: float) -> bool:
    return classify(seen, limit)[0] is Outcome.PASSED


def _output(seen: Observation) -> str:
    return f"{seen.stdout}\n{seen.stderr}"


def _named(places: Sequence[Place]) -> str:
    shown = sorted({place.shown() for place in places})
    return ", ".join(shown[:_NAMED]) + (f" and {len(shown) - _NAMED} more" if len(shown) > _NAMED else "")
