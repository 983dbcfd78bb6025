"""What the runs say that a command has to fail: a control's, judged from what was seen. Pure; it runs nothing.

A command that ends with 0 whatever is done to the tree was talked into it, by the work, or never looked. Which of the
two, the base tells: it is trusted, so what it does not notice either, no worker has brought about. Source: DESIGN 8.

Codes: `subverted`; `control_not_applicable` where the work keeps the control from being a proof; `control_unusable`
where the order's control proves nothing on the base either, which no worker has to answer for.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Literal

from domain.base import Message
from domain.checks import Observation, Outcome, classify
from domain.excused import SinglesRun, excused
from domain.scrutiny import GROUPS, ControlSeen

Verdict = tuple[Outcome, str, str]
_Judged = tuple[ControlSeen, Verdict | None]

UNUSABLE = "control_unusable"
NOT_APPLICABLE = "control_not_applicable"
SUBVERTED = "subverted"
_NEXT_STEPS = {
    UNUSABLE: "see to it that the order's control makes the command fail on the base, too",
    NOT_APPLICABLE: "leave what the order's control changes where it is, or have the order's control changed",
    SUBVERTED: "make the command fail when what it checks is wrong; where it is not what looks at these values, name a "
    "control of its own in the order: control: {patch: FILE} or {command: ...}",
}

_NO_ANSWER = frozenset(
    (
        *("verification_timeout", "output_flood", "out_of_memory", "build_failed"),
        *("command_not_found", "command_not_executable"),
    )
)
"""Codes of a command that ended without an answer of its own."""

_LEAST_MARK = 4  # characters: anything shorter stands in outputs by itself
_MARKS = 50
_NAMED = 3


class ControlRun(Message):
    """One run that has to fail. `what` was done, for people; to these `paths`; `marks` are what was written there.

    `base` is the base with the same done to it, empty where that cannot be; `on_base`: what was seen there, if asked.
    """

    what: str
    tree: str
    base: str = ""
    paths: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    observation: Observation
    on_base: Observation | None = None


class ControlRuns(Message):
    """Everything that was tried on one check. `unchanged`: the check's own command on the base as it is.

    `unusable`: why the order's patch cannot be used at all. `moved`: why it no longer fits the work; what runs then is
    the patch's file as it comes out on the base, or nothing. `singles`: of tests, the runs with few values changed.
    """

    kind: Literal["patch", "command", "tests"]
    command: str
    cwd: str = "."
    limit: float
    seed: int = 0
    runs: tuple[ControlRun, ...] = ()
    unchanged: Observation | None = None
    singles: tuple[SinglesRun, ...] = ()
    unusable: str = ""
    moved: str = ""

    @property
    def missed(self) -> tuple[ControlRun, ...]:
        """The runs that had to fail and did not, or not so that it proves anything."""
        return tuple(run for run in self.runs if not self.noticed(run.observation))

    def noticed(self, seen: Observation) -> bool:
        """Whether a run failed as it has to: the order's other command by an answer of its own."""
        outcome, code, _ = classify(seen, self.limit)
        return outcome is Outcome.FAILED and not (self.kind == "command" and code in _NO_ANSWER)


def judge(control: ControlRuns) -> _Judged:
    """What a check's controls came to, and the verdict that they put in the place of `passed`, if any."""
    broken = next((run for run in control.runs if run.observation.copy_failed), None)
    if broken:
        verdict = classify(broken.observation, control.limit)
        return ControlSeen(kind=control.kind, outcome="not_applicable", text=verdict[2]), verdict
    return _judge_tests(control) if control.kind == "tests" else _judge_named(control)


def next_step(code: str) -> str:
    """What helps where a control gave the code, empty for any other."""
    return _NEXT_STEPS.get(code, "")


def _judge_named(control: ControlRuns) -> _Judged:
    """The control that the order names."""
    if control.unusable:
        return _seen(control, "not_applicable", (Outcome.COULD_NOT_RUN, UNUSABLE, control.unusable))
    if not control.runs:
        return _seen(control, "not_applicable", (Outcome.FAILED, NOT_APPLICABLE, control.moved))
    (run,) = control.runs
    if not control.missed:
        ended = classify(run.observation, control.limit)[2]
        return ControlSeen(kind=control.kind, outcome="noticed", text=f"{run.what}: {ended}"), None
    if run.on_base and not control.noticed(run.on_base):
        text = f"{run.what}: on the base, too, this does not make it fail"
        return _seen(control, "not_applicable", (Outcome.COULD_NOT_RUN, UNUSABLE, text))
    ended = classify(run.observation, control.limit)[2]
    if run.observation.exit_code != 0 or run.observation.timed_out:
        text = f"the control ended without an answer of its own ({run.what}: {ended})"
        return _seen(control, "not_applicable", (Outcome.FAILED, NOT_APPLICABLE, text))
    if control.moved:
        text = f"passes with {run.what} as on the base, where the patch fits; to the work it does not: {control.moved}"
        return _seen(control, "missed", (Outcome.FAILED, NOT_APPLICABLE, text))
    if control.kind == "patch":
        text = f"passes on a tree that it has to fail on ({run.what})"
    else:
        text = f"a command that has to fail passes ({run.what})"
    return _seen(control, "missed", (Outcome.FAILED, SUBVERTED, text))


def _judge_tests(control: ControlRuns) -> _Judged:
    """A run of tests whose expected values were changed, some files at a time."""
    blamed = [run for run in control.missed if _looked_at(control, run)]
    if blamed:
        paths = _named(path for run in blamed for path in run.paths)
        text = f"passes whatever its tests expect: the values in {paths} were changed, and it ended with 0 all the same"
        return _seen(control, "missed", (Outcome.FAILED, SUBVERTED, text))
    told = (excused(run, control.unchanged, control.limit) for run in control.singles)
    if text := next(filter(None, told), ""):
        return _seen(
            control, "missed", (Outcome.FAILED, SUBVERTED, f"passes whatever some of its tests expect: {text}")
        )
    ignored = _named(path for run in control.missed for path in run.paths)
    noticed = _named(path for run in control.runs if run not in control.missed for path in run.paths)
    if not noticed:
        text = f"nothing shows that the command looks at the values in {ignored}"
        return ControlSeen(kind="tests", outcome="not_applicable", text=text), None
    text = f"fails once the values that its tests expect are changed: {noticed}"
    if ignored:
        text += f"; it does not look at those in {ignored}"
    return ControlSeen(kind="tests", outcome="noticed", text=text), None


def _looked_at(control: ControlRuns, run: ControlRun) -> bool:
    """Whether the command looks at what was changed, by what is known of the base.

    Where it passes on the base: whether it fails there, once the values are changed. Where it fails there anyway,
    something has to show that these files are what it runs, or else honest work could not pass beside tests that the
    command leaves out.
    """
    before, after = control.unchanged, run.on_base
    if before is None or after is None:
        return False
    if classify(before, control.limit)[0] is Outcome.PASSED:
        return control.noticed(after)
    first, second = (f"{seen.stdout}\n{seen.stderr}" for seen in (before, after))
    if any(mark in second and mark not in first for mark in run.marks):
        return True
    return any(posixpath.basename(path) in first or _names(control, path) for path in run.paths)


def _names(control: ControlRuns, path: str) -> bool:
    """Whether a word of the command is the file, a pattern for it, or a folder that it is in."""
    for word in re.findall(r"[^\s;&|()'\"`=]+", control.command):
        plain = posixpath.normpath(posixpath.join(control.cwd, word))
        if plain == path or (plain != "." and path.startswith(f"{plain}/")) or fnmatchcase(path, plain):
            return True
    return False


def marks_of(texts: Iterable[str]) -> tuple[str, ...]:
    """What to look for in an output, of texts that were written into tests: the longest word of each."""
    words = (max(re.findall(r"[\w-]+", text), key=len, default="") for text in texts)
    return tuple(dict.fromkeys(word for word in words if len(word) >= _LEAST_MARK))[:_MARKS]


def grouped(sources: Mapping[str, str], changed: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """The test files whose values are changed together: at most `GROUPS` groups, and what the work is about alone.

    A test is about a changed file if its text has the file's name. The others share the last group: that one of them is
    subverted could stay unseen beside one that is not, so the likeliest get a run of their own.
    """
    stems = {posixpath.basename(path).partition(".")[0] for path in changed if path not in sources}
    words = [re.compile(rf"\b{re.escape(stem)}\b") for stem in sorted(stems) if stem]
    ordered = sorted(sources, key=lambda path: (-sum(bool(word.search(sources[path])) for word in words), path))
    alone, rest = ordered[: GROUPS - 1], ordered[GROUPS - 1 :]
    return (*((path,) for path in alone), *((tuple(rest),) if rest else ()))


def _seen(control: ControlRuns, outcome: Literal["missed", "not_applicable"], verdict: Verdict) -> _Judged:
    return ControlSeen(kind=control.kind, outcome=outcome, text=verdict[2]), verdict


def _named(paths: Iterable[str]) -> str:
    names = sorted(set(paths))
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
