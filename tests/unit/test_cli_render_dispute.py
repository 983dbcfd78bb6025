"""What a person sees of the adversarial stage and of drafted checks: readable, labelled, and steering no terminal."""

from __future__ import annotations

import io
from typing import Any, get_args

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from domain.report import Report, build
from domain.roles.disputes import Dispute, Why
from domain.roles.results import DisputeRecord
from domain.verdict import Tiebreak, TiebreakOutcome
from entrypoints.cli.evidence import _ids
from entrypoints.cli.prose import told as told_in_a_column
from entrypoints.cli.prose import wrapped
from entrypoints.cli.render import FOR_WANT_OF_A_RULING, next_step, show_report
from entrypoints.cli.render_dispute import REASONS, STILL_FAILED, WORDS
from tests.fakes.audits import assessment, audited, one_pass
from tests.fakes.disputes import AGAINST, DESIGN, FIRST, FOR, SCRIPT, SECOND, disputed, drafted, ruling
from tests.unit.test_cli_render import HOSTILE
from tests.unit.test_dispute_report import with_dispute
from tests.unit.test_draft_report import with_draft
from tests.unit.test_report import SCOPE, record

LONG = "The specification says what it returns. Different is not more than required, it is something else. " * 12


def shown(report: Report, *, verbose: bool = False, width: int = 160) -> str:
    stream = io.StringIO()
    show_report(Console(file=stream, width=width, soft_wrap=True), report, "/evidence", "", verbose)
    return stream.getvalue()


def argued(*rulings: dict[str, Any], **more: Any) -> Report:
    dispute, words = disputed(*rulings, **more)
    return build(with_dispute(dispute), {}, SCOPE, None, words)


def part(text: str, begins: str) -> list[str]:
    """The lines of the part under this heading, up to the next one."""
    lines = text.split(f"\n{begins}\n", 1)[1].splitlines()
    ends = next((n for n, line in enumerate(lines) if line and not line.startswith(" ")), len(lines))
    return lines[:ends]


def test_a_disputed_criterion_is_told_from_its_reason_to_its_ruling() -> None:
    lines = [line.strip() for line in part(shown(argued(ruling("AC-2"))), "judge") if line.strip()]
    assert lines[1:] == [
        "read the critic first, then the advocate",
        "✗ AC-2  reads well",
        "disputed    the auditor was not sure; the auditor and the check differ",
        "advocate    AC-2 is met",
        "“ValueError: Input must be positive”  ev-0000000000000001",
        "critic      AC-2 is not met",
        "“ValueError: Input must be positive”  ev-0000000000000001",
        "judge       FAIL, confidence 0.90",
        "why         AC-2: different is not more",
        "“ValueError: Input must be positive”  ev-0000000000000001",
    ]
    assert lines[0].startswith("ruled on what was disputed")


def test_what_was_seen_stands_beside_the_arguments_and_no_ruling_passes_a_failed_check() -> None:
    text = shown(argued(ruling("tests", "PASS")))
    assert "✗ tests  pytest" in "\n".join(part(text, "judge"))
    assert "seen ✗      exit code 1, expected 0" in text
    assert "judge       PASS, confidence 0.90" in text
    assert STILL_FAILED in text
    assert STILL_FAILED not in shown(argued(ruling("AC-2", "PASS"), ruling("AC-1", "PASS")))


def test_a_second_hearing_says_whether_the_word_was_the_same() -> None:
    same = shown(argued(ruling("AC-2", "FAIL", 0.4), again=(ruling("AC-2", "FAIL", 0.5),)))
    assert "was not sure, read them once more with the advocate first, and said the same" in same
    assert "FAIL, confidence 0.40, said twice" in same
    other = shown(argued(ruling("AC-2", "FAIL", 0.4), again=(ruling("AC-2", "PASS", 0.5),)))
    assert "and changed its word on AC-2" in other
    assert "FAIL, confidence 0.40, the critic read first" in other
    assert "PASS, confidence 0.50, the advocate read first" in other
    assert "? AC-2  reads well" in other


@pytest.mark.parametrize("outcome", [*TiebreakOutcome, None])
def test_every_outcome_has_words_and_those_without_a_ruling_say_why(outcome: TiebreakOutcome | None) -> None:
    tiebreak = Tiebreak(outcome=outcome, feedback="the reason why") if outcome else None
    told = argued(ruling("AC-2"), hearings=(), tiebreak=tiebreak, why="" if outcome else "the reason why")
    text = "\n".join(part(shown(told), "judge"))
    assert WORDS[outcome][0] in text
    assert ("the reason why" in text) is (outcome is not TiebreakOutcome.JUDGED)
    assert "AC-2 is met" in text, "what was argued is shown all the same"


@pytest.mark.parametrize("why", get_args(Why))
def test_every_reason_of_a_dispute_has_words(why: Why) -> None:
    dispute = Dispute(criterion="AC-2", why=(why,), required=False)
    text = shown(argued(ruling("AC-2"), disputes=(dispute,)))
    assert f"disputed    {REASONS[why]}" in text
    assert "✗ AC-2 (advisory)" in text


def test_long_texts_are_wrapped_and_cut_unless_everything_is_wanted() -> None:
    told = argued(ruling("AC-2", reasoning=LONG))
    short, whole = (part(shown(told, verbose=verbose, width=80), "judge") for verbose in (False, True))
    assert max(map(cell_len, short[3:])) <= 80
    assert [line.strip() for line in short if "more lines" in line] == ["[... 16 more lines: --verbose]"]
    assert " ".join(" ".join(whole).split()).count("Different is not more") == 12
    assert not [line for line in whole if "--verbose" in line]
    assert "critic: they may say otherwise" in "\n".join(whole)
    assert "critic: they may say otherwise" not in "\n".join(short)


def test_a_script_is_called_one_on_each_word_of_it() -> None:
    dispute, words = disputed(ruling("AC-2"))

    def played(result: Any) -> Any:
        return result.model_copy(update={"provenance": SCRIPT})

    hearings = tuple(each.model_copy(update={"result": played(each.result)}) for each in dispute.hearings)
    script = dispute.model_copy(
        update={"advocate": played(dispute.advocate), "critic": played(dispute.critic), "hearings": hearings}
    )
    text = shown(build(with_dispute(script), {}, SCOPE, None, words))
    assert "scripted: no model judged" in text
    assert "advocate    (scripted) AC-2 is met" in text
    assert "critic      (scripted) AC-2 is not met" in text
    assert "judge       (scripted) FAIL" in text
    assert "scripted" not in shown(argued(ruling("AC-2")))


def test_where_nothing_is_disputed_or_drafted_nothing_is_said_of_it() -> None:
    text = shown(build(with_dispute(DisputeRecord()), {}, SCOPE, None))
    assert "\njudge\n" not in text
    assert "\ndrafted\n" not in text
    assert "roles" not in text


def test_the_cost_is_that_of_all_roles_and_the_auditors_line_has_its_own() -> None:
    audit, answers = audited(assessment("AC-1"), assessment("AC-2"))
    dispute, words = disputed(ruling("AC-2"))
    text = shown(build(with_dispute(dispute, audit), {}, SCOPE, None, {**answers, **words}))
    assert "8 requests, 4,200 tokens, $0.0050" in text
    assert "roles    14 requests, 7,350 tokens, $0.008" in text


def test_a_draft_is_told_requirement_by_requirement_and_what_was_rejected_by_name() -> None:
    draft, words = drafted()
    text = shown(build(with_draft(draft), {}, SCOPE, None, words))
    lines = part(text, "drafted")
    assert [line.rstrip() for line in lines[1:]] == [
        "  summary     A checker of primes",
        "  R1  returns True for a prime",
        "      ✓ AC-2  7 is prime  python -m solution 7",
        "  R2  is readable",
        "      ? AC-3  the code reads well  only a judge can tell",
        "  R3  keeps its command  the base does it already",
        "      no check that counts covers it",
        "  edge case: 0 and 1",
        "  edge case: negative numbers",
        "  rejected    AC-4 true [vacuous]: passes on an empty tree",
        "  mended      AC-5 echo $RANDOM [flaky]: three runs, three outputs",
        "",
    ]
    assert lines[0].startswith("  3 requirements, 1 check, 1 for a judge, 1 rejected")
    assert "AC-2 (drafted)" in text
    assert "no gate" not in text


def test_a_draft_that_is_no_gate_says_so_and_one_that_is_none_says_why() -> None:
    draft, words = drafted(binding=False)
    assert "no gate: an agent asked for it" in shown(build(with_draft(draft), {}, SCOPE, None, words))
    silent, _ = drafted(passes=(), specification="", criteria=(), returned=(), dropped=(), uncovered=(), why="503")
    assert "nothing: 503" in shown(build(record().model_copy(update={"draft": silent}), {}, SCOPE, None))


def test_no_role_can_steer_the_terminal() -> None:
    hostile = ruling("AC-2", reasoning=HOSTILE, quotes=[{"evidence_id": HOSTILE, "quote": HOSTILE}])
    dispute, words = disputed(
        hostile, tiebreak=Tiebreak(outcome=TiebreakOutcome.INCONCLUSIVE, feedback=HOSTILE), why=HOSTILE
    )
    draft, more = drafted(summary=HOSTILE, why=HOSTILE)
    rejected = draft.dropped[0].model_copy(update={"criterion": HOSTILE, "check": HOSTILE, "reason": HOSTILE})
    draft = draft.model_copy(update={"dropped": (rejected,), "returned": (rejected,)})
    given = with_draft(draft).model_copy(update={"dispute": dispute})
    report = build(given, {}, SCOPE, None, {**words, **more})
    text = report.model_dump_json().replace("is met", r"\u001b[2J").replace("returns True", r"\u001b[2J")
    for verbose in (False, True):
        seen = shown(Report.model_validate_json(text), verbose=verbose)
        assert not {c for c in seen if not c.isprintable()} - {"\n"}
        assert seen.count("\\x1b[2J") >= 9


@pytest.mark.parametrize("width", [20, 40, 300])
def test_a_text_keeps_its_paragraphs_at_any_width(width: int) -> None:
    console = Console(file=io.StringIO(), width=width, soft_wrap=True)
    lines = wrapped(console, f"\n\nfirst {LONG}\n\n1. second\n\n", width)
    assert max(map(cell_len, lines)) <= width
    assert (lines[0].split()[0], lines[-2], lines[-1]) == ("first", "", "1. second")
    told_in_a_column(console, Text("why"), "", verbose=False)
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == "    why\n"


@pytest.mark.parametrize("code", FOR_WANT_OF_A_RULING)
def test_where_only_a_ruling_is_missing_the_next_step_is_about_that(code: str) -> None:
    report = argued(ruling("AC-2"))
    reason = report.reasons[0].model_copy(update={"code": code})
    alone = report.model_copy(update={"reasons": (reason,), "criteria": (), "checks": ()})
    assert next_step(alone) == FOR_WANT_OF_A_RULING[code]


def test_every_answer_can_be_looked_up() -> None:
    dispute, words = disputed(ruling("AC-2", "FAIL", 0.4), again=(ruling("AC-2", "FAIL", 0.5),))
    draft, more = drafted()
    given = with_draft(draft).model_copy(update={"dispute": dispute})
    named = _ids(build(given, {}, SCOPE, None, {**words, **more}))
    assert {name: digest for name, digest in named.items() if name.endswith("said")} == {
        "designer/design/0 said": DESIGN,
        "strategist/strategy/0 said": "3" * 64,
        "advocate/argument/0 said": FOR,
        "critic/argument/0 said": AGAINST,
        "judge/judgement/0 said": FIRST,
        "judge/judgement/1 said": SECOND,
    }
    silent, _ = disputed(ruling("AC-2"), critic=one_pass("timed_out"), hearings=())
    assert "critic/argument/0 said" not in _ids(build(with_dispute(silent), {}, SCOPE, None))
