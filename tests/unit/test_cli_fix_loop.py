"""What `verify` says of a fix loop: while it runs, beside the verdict, in the report, and by its exit code."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from domain.confidence import Confidence
from domain.decision import Decision, Reason, RoundOutcome
from domain.fix_messages import Ending, FixLoopResult, FixProgress, Iteration
from domain.fix_report import ANY_OTHER, NEXT_STEPS, FixLoopReport, fix_loop_report
from domain.fixing import Tally
from domain.messages import Progress, RoundResult, Step
from domain.report import Report, with_fix_loop
from entrypoints.cli.render import Watcher
from entrypoints.cli.stages import Stages
from entrypoints.cli.verifying import exit_code
from entrypoints.cli.watching_fix import LoopWatcher
from entrypoints.following import LoopSeen
from entrypoints.rounds import Ended
from tests.fakes.trail import MemoryTrail
from tests.unit.test_cli_render import HOSTILE, report, shown

FIRST = Iteration(
    loop=1,
    answer="APPLIED:2",
    edits=2,
    refused=1,
    paths=("src/b.py", "src/a.py"),
    attempt=2,
    outcome="changes_requested",
    confidence=Confidence.FEEDBACK,
    micros=400_000,
)
SECOND = FIRST.model_copy(
    update={
        "loop": 2,
        "refused": 0,
        "paths": ("src/a.py",),
        "attempt": 3,
        "outcome": "verified",
        "confidence": Confidence.PERFECT,
    }
)
NONE = Iteration(loop=3, answer="COULD_NOT_APPLY: no such file", why="no such file")


def loop(ending: Ending = "success", *iterations: Iteration, **fields: Any) -> FixLoopResult:
    given = {"loops": len(iterations), "of": 3, "iterations": iterations, "tally": Tally(loops=2, micros=800_000)}
    return FixLoopResult.model_validate({"ending": ending, **given, **fields})


def told(of: FixLoopResult, outcome: RoundOutcome = RoundOutcome.VERIFIED) -> Report:
    return with_fix_loop(report(outcome), fix_loop_report(of, "/evidence/1"))


def loop_in(of: FixLoopResult, outcome: RoundOutcome = RoundOutcome.VERIFIED) -> str:
    """The section in what a person sees."""
    return shown(told(of, outcome)).partition("\nfix loop")[2].partition("\nchanges")[0]


def test_a_patch_that_is_in_the_workspace_is_said_with_its_paths() -> None:
    applied = loop("success", FIRST, SECOND, placed="applied", patch="p", summary="s")
    text = loop_in(applied)
    assert "repaired and verified  2 of 3 loops used, $0.8000" in text
    assert "✗ 1  APPLIED:2, 2 edits, 1 call refused, round 2: changes requested (FEEDBACK)  $0.4000" in text
    assert "✓ 2  APPLIED:2, 2 edits, round 3: verified (PERFECT)" in text
    assert "in the workspace: src/a.py, src/b.py" in text
    assert "/evidence/1/fix_loop/SUMMARY.md" in text
    assert "next     nothing: the repaired work is countersigned" in shown(told(applied))


def test_a_patch_that_is_only_offered_is_said_with_the_command_that_applies_it() -> None:
    offered = loop("success", SECOND, placed="offered", why_offered="src/a.py has changed since", patch="p")
    text = loop_in(offered)
    assert "the workspace is left as it is: src/a.py has changed since" in text
    assert "patch -p1 < /evidence/1/fix_loop/repair.patch" in text
    assert "patch -p1 < /evidence/1/fix_loop/repair.patch" in told(offered).model_dump()["fix_loop"]["next_step"]


def test_a_patch_that_could_not_be_filed_is_no_file_to_apply() -> None:
    lost = loop("success", SECOND, placed="offered", why_offered="src/a.py has changed since")
    assert "patch -p1" not in shown(told(lost))
    assert "could not be filed" in shown(told(lost))


@pytest.mark.parametrize("trigger", [*NEXT_STEPS, "auditor_blocked"])
def test_an_escalation_says_why_and_what_a_human_can_do(trigger: str) -> None:
    asked = loop("escalated", FIRST, NONE, trigger=trigger, reason="because of something")
    text = shown(told(asked, RoundOutcome.CHANGES_REQUESTED))
    assert text.splitlines()[1].startswith("NOT VERIFIED: a human has to decide")
    assert f"a human has to look [{trigger}]" in text
    assert "because of something" in text
    assert "✗ 3  COULD_NOT_APPLY: no such file, 0 edits, no such file  $0.0000" in text
    assert " ".join(NEXT_STEPS.get(trigger, ANY_OTHER).split()[:4]) in text
    assert "SUMMARY.md" not in text, "none was filed"


def test_a_verified_round_that_a_person_has_to_look_at_is_no_pass() -> None:
    stakes = loop("escalated", trigger="high_stakes", reason="PARTIAL in domain finance")
    asked = told(stakes, RoundOutcome.VERIFIED)
    assert (asked.outcome, asked.verdict, asked.trigger) == (RoundOutcome.NEEDS_HUMAN, "INCONCLUSIVE", "high_stakes")
    kept = told(stakes, RoundOutcome.CHANGES_REQUESTED)
    assert (kept.outcome, kept.verdict, kept.trigger) == (RoundOutcome.CHANGES_REQUESTED, "FAIL", "")


def test_nothing_that_a_model_wrote_steers_the_terminal() -> None:
    each = FIRST.model_copy(update={"answer": HOSTILE, "why": HOSTILE, "paths": (HOSTILE,)})
    fields = {"reason": HOSTILE, "notes": (HOSTILE,), "why_offered": HOSTILE, "patch": "p", "placed": "offered"}
    for ending in ("success_with_notes", "escalated"):
        text = loop_in(loop(ending, each, trigger=HOSTILE, **fields))
        assert "\x1b" not in text
        assert "\x07" not in text
        assert text.count("\\x1b[2J[red]") >= 5


def test_without_a_loop_nothing_is_said_of_one() -> None:
    assert "fix loop" not in shown(report(RoundOutcome.VERIFIED))
    assert report(RoundOutcome.VERIFIED).model_dump()["fix_loop"] is None


def test_the_report_can_be_read_back() -> None:
    of = fix_loop_report(loop("success", FIRST, SECOND, placed="applied", patch="p", summary="s"), "/evidence/1")
    assert FixLoopReport.model_validate_json(of.model_dump_json()) == of
    assert (of.iterations[0].cost_usd, of.cost_usd, of.iterations[0].attempt) == (0.4, 0.8, 2)
    assert fix_loop_report(loop("escalated", NONE), "/e").iterations[0].attempt is None
    assert fix_loop_report(loop("escalated", FIRST, patch="p"), "/e").paths == (), "nothing was placed"


@pytest.mark.parametrize(
    ("ending", "trigger", "code"),
    [
        ("success", "", 0),
        ("success_with_notes", "", 0),
        ("aborted", "", 1),
        ("escalated", "revision_cap_exceeded", 4),
        ("escalated", "high_stakes", 4),
        ("escalated", "could_not_apply", 4),
        ("escalated", "cost_cap_exceeded", 4),
        ("escalated", "timeout", 4),
        ("escalated", "checks_could_not_run", 3),
        ("escalated", "system_error", 3),
        ("escalated", "hard_fail", 1),
    ],
)
def test_exit_codes(ending: Ending, trigger: str, code: int) -> None:
    requested = Decision(outcome=RoundOutcome.CHANGES_REQUESTED, reasons=(Reason(code="c", text="t"),))
    result = RoundResult(decision=requested, record="r", report="r")
    assert exit_code(Ended(result)) == 1
    assert exit_code(Ended(result, loop(ending, trigger=trigger))) == code


def steps(status: str) -> Progress:
    return Progress(steps=(Step.model_validate({"id": "checks", "status": status}),))


def watched(*, terminal: bool = False) -> tuple[Watcher, LoopWatcher, io.StringIO]:
    stream = io.StringIO()
    watcher = Watcher(Console(file=stream, width=160, force_terminal=terminal))
    return watcher, LoopWatcher(watcher, MemoryTrail()), stream


def run_through(watcher: Watcher, looking: LoopWatcher) -> None:
    """A loop of two, the second of which is not seen to end."""
    repairs = FixProgress(loop=1, of=3, doing="repairing")
    verifies = repairs.model_copy(update={"doing": "verifying", "round": "round/local/wo/2"})
    with watcher:
        watcher.see(steps("running"))
        watcher.see(steps("passed"))
        for progress in (FixProgress(of=3, doing="deciding"), repairs, repairs, verifies):
            looking.see(LoopSeen(progress))
        watcher.see(steps("passed"))
        again = FixProgress(loop=2, of=3, doing="repairing", iterations=(FIRST,))
        looking.see(LoopSeen(again, waits="the trail is away"))
        looking.see(LoopSeen(again, waits="the trail is away"))
        looking.see(LoopSeen(again.model_copy(update={"doing": "applying"})))
        looking.end(loop("success", FIRST, SECOND))


def test_each_step_is_a_line_and_each_is_told_once() -> None:
    watcher, looking, stream = watched()
    run_through(watcher, looking)
    assert [line.strip() for line in stream.getvalue().splitlines()] == [
        "▸ checks",
        "✓ checks",
        "▸ fix loop 1 of 3: the fix builder repairs the work",
        "▸ fix loop 1 of 3: round 2 verifies the repair",
        "✓ checks",
        "✗ fix loop 1 of 3  APPLIED:2, 2 edits, 1 call refused, round 2: changes requested, $0.4000",
        "▸ fix loop 2 of 3: the fix builder repairs the work",
        "… waits: the trail is away",
        "▸ fix loop 2 of 3: the verified repair is written to the workspace",
        "✓ fix loop 2 of 3  APPLIED:2, 2 edits, round 3: verified, $0.4000",
        "fix loop: repaired and verified, 2 of 3 loops used",
    ]


def test_on_a_terminal_the_same_lines_stay() -> None:
    watcher, looking, stream = watched(terminal=True)
    run_through(watcher, looking)
    for words in ("fix loop 1 of 3: the fix builder", "2 edits, 1 call refused", "repaired and verified, 2 of 3"):
        assert words in stream.getvalue()


def test_the_stages_that_are_told_are_those_of_the_round_that_runs() -> None:
    watcher, looking, _ = watched()
    trail = MemoryTrail()
    watcher.stages = first = Stages(trail, "local", "wo", 1)
    looking.see(LoopSeen(FixProgress(loop=1, of=3, doing="repairing")))
    assert watcher.stages is first
    looking.see(LoopSeen(FixProgress(loop=1, of=3, doing="verifying", round="round/local/wo/2")))
    assert watcher.stages is not first
