"""What one check of kind pytest comes to, from everything that was recorded: pure, so that it can be done again."""

from __future__ import annotations

from functools import cached_property

from adapters.checkers.recording import Canary, Recorded
from domain.base import Message
from domain.checks import Outcome, classify
from domain.command_criteria import PytestParams
from domain.scrutiny import ControlSeen, Counts, Expectation
from domain.suite.control import Change, Measured, canary_failed, expectation, measure
from domain.suite.functions import Function
from domain.suite.runs import RED, Run, rooted, stands_for
from domain.suite.verdict import Facts, Judged, judge

SHOWN = 5  # ids in a text

NOT_RECORDED = (
    "let the command start pytest with the environment that it was given (no env -i, no python -I or -E), in an image "
    "that has pytest 7 or later; or say kind: command"
)


class Prepared(Message):
    """What is known before the run that is judged. `has_base`: whether there is a base to compare with.

    `functions`, `changed` and `lost` are as in `domain.suite.verdict.Facts`; `changes` are those of the control,
    `companions` the functions that it runs as they are, and `seed` is what both follow from.
    """

    base: Recorded | None = None
    has_base: bool = False
    functions: tuple[Function, ...] = ()
    changed: tuple[str, ...] = ()
    lost: dict[str, tuple[str, ...]] = {}
    changes: tuple[Change, ...] = ()
    companions: tuple[str, ...] = ()
    seed: int = 0


class Case(Prepared):
    """Everything that the verdict follows from. `unchanged` says why a control ran without some of the changes.

    `disturbed` and `plain`: tests that went red though nothing of theirs was changed, alone, with the changes around
    them and without.
    """

    head: Recorded
    control: Recorded | None = None
    control_of_base: Recorded | None = None
    disturbed: Recorded | None = None
    plain: Recorded | None = None
    canary: Canary | None = None
    unchanged: str = ""

    @cached_property
    def measured(self) -> Measured:
        """What the control's changes did to tests that pass."""
        head, control = self.head.run, self.control and self.control.run
        return measure(self.changes, head, control) if head and control else Measured()

    @property
    def blind(self) -> tuple[str, ...]:
        """Tests that pass whatever they expect, though not on the base."""
        base, control = self.base and self.base.run, self.control_of_base and self.control_of_base.run
        there = frozenset(measure(self.changes, base, control).blind) if base and control else frozenset()
        return tuple(name for name in self.measured.blind if name not in there)

    @property
    def turned(self) -> tuple[str, ...]:
        """Tests that fail as soon as others are changed, though not on the base, nor for want of those others."""
        found = self.measured.turned
        if not found:
            return ()
        base, control = self.base and self.base.run, self.control_of_base and self.control_of_base.run
        if base and control:
            there = frozenset(measure(self.changes, base, control).turned)
            found = tuple(name for name in found if name not in there)
        head, disturbed, plain = self.head.run, self.disturbed, self.plain
        if head and disturbed and plain:
            again = measure(self.changes, head, disturbed.run).turned if disturbed.run else found
            passed = plain.run.tests if plain.run else {}
            found = tuple(n for n in found if n in again and n in passed and passed[n].state not in RED)
        return found


class Concluded(Message):
    """The verdict, and what was learned of the check itself."""

    outcome: Outcome
    code: str
    text: str
    next_step: str = ""
    tests: Counts | None = None
    control: ControlSeen | None = None
    expectation: Expectation | None = None


def conclude(case: Case, params: PytestParams, limit: float) -> Concluded:
    """What the case comes to; `limit` in seconds is the one that the command had."""
    observed = case.head.observation
    outcome, code, text = classify(observed, limit)
    if code not in ("ok", "exit_code") and not (observed.exit_code in (126, 127) and case.head.began):
        return Concluded(outcome=outcome, code=code, text=text)
    run = case.head.run
    if not case.head.began:
        said = f"the command ended with exit code {observed.exit_code}, and no pytest that it started was recorded"
        return Concluded(outcome=Outcome.FAILED, code="not_recorded", text=said, next_step=NOT_RECORDED)
    if run is None:
        said = f"pytest began and did not report its end; the command's exit code is {observed.exit_code}"
        said += ", and it wrote more than is kept" if observed.truncated else ""
        return Concluded(outcome=Outcome.FAILED, code="no_report", text=said)
    judged = judge(_facts(case, run, params))
    if run.altered:
        said = f"files of tests were changed by the time pytest read them: {_names(run.altered)}"
        judged = judged.model_copy(update={"outcome": Outcome.FAILED, "code": "subverted", "text": said})
    return _controlled(case, run, judged, params)


def _facts(case: Case, run: Run, params: PytestParams) -> Facts:
    listed = params.pass_to_pass
    return Facts(
        exit_code=case.head.observation.exit_code,
        head=run,
        base=case.base.run if case.base else None,
        has_base=case.has_base,
        functions=case.functions,
        changed=case.changed,
        lost=case.lost,
        fail_to_pass=tuple(params.fail_to_pass),
        pass_to_pass="base" if listed == "base" else tuple(listed),
    )


def _controlled(case: Case, run: Run, judged: Judged, params: PytestParams) -> Concluded:
    """The verdict on the tests, unless the control says that they say nothing."""
    done = Concluded(
        outcome=judged.outcome, code=judged.code, text=judged.text, next_step=judged.next_step, tests=judged.counts
    )
    if case.control is None:
        return done
    control = _canary(case)
    expected = expectation(case.measured, judged.expected, case.seed)
    told = done.model_copy(update={"control": control, "expectation": expected})
    if judged.outcome is not Outcome.PASSED:
        return told
    if control.outcome == "missed":
        return told.model_copy(update={"outcome": Outcome.FAILED, "code": "subverted", "text": control.text})
    if blind := case.blind:
        verb = "passes whatever it expects" if len(blind) == 1 else "pass whatever they expect"
        said = f"{_count(len(blind))} {verb}: {_names(blind)}"
        return told.model_copy(update={"outcome": Outcome.FAILED, "code": "subverted", "text": said})
    if turned := case.turned:
        verb = "fails" if len(turned) == 1 else "fail"
        said = f"{_count(len(turned))} {verb} as soon as others are changed: {_names(turned)}"
        return told.model_copy(update={"outcome": Outcome.FAILED, "code": "subverted", "text": said})
    if weak := _unconstrained(case, run, params):
        said = f"named in fail_to_pass, but nothing that it expects makes a difference: {_names(weak)}"
        return told.model_copy(update={"outcome": Outcome.FAILED, "code": "unconstrained", "text": said})
    if expected.measured:
        said = f"{expected.constrained} of {expected.measured} measured depend on what they expect"
        return told.model_copy(update={"text": f"{judged.text}; {said}"})
    if not case.measured.measured:
        return told.model_copy(update={"text": f"{judged.text}; nothing that they expect could be changed"})
    return told


def _canary(case: Case) -> ControlSeen:
    """What became of the test that had to fail."""
    assert case.control is not None
    assert case.canary is not None
    run = case.control.run
    if run and canary_failed(run, case.canary.name, case.canary.token):
        text = "a test that must fail was reported failed" + (f"; {case.unchanged}" if case.unchanged else "")
        return ControlSeen(kind="canary", outcome="noticed", text=text)
    why = "was not reported failed" if run else "was to run in a run of pytest that never reported its end"
    return ControlSeen(kind="canary", outcome="missed", text=f"a test that must fail {why}: the run says nothing")


def _unconstrained(case: Case, run: Run, params: PytestParams) -> tuple[str, ...]:
    """Named tests that no change turned red, and that the base did not show to be able to fail either."""
    base = case.base.run.tests if case.base and case.base.run else {}
    red = {name for name, ran in base.items() if ran.state in RED}
    weak = []
    for wanted, shown in rooted(run, params.fail_to_pass).items():
        mine = [name for name in case.measured.measured if stands_for(wanted, name)]
        if mine and not any(stands_for(wanted, name) for name in (*case.measured.constrained, *red)):
            weak.append(shown)
    return tuple(weak)


def _count(number: int) -> str:
    return "1 test" if number == 1 else f"{number} tests"


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
