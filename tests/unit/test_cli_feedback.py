"""What the auditor said of the last attempt, where people look: it is all that there is where no check failed."""

from __future__ import annotations

import pytest

from domain.decision import RoundOutcome
from domain.feedback import RetryContext
from entrypoints.cli.todo_show import Told, _show_told
from tests.unit.test_cli_render import report, shown

SAID = "the auditor: - the name says nothing [ev-0123456789abcdef]\n- to do (high): name it \x1b[2J"
CONTEXT = RetryContext(attempt_number=2, max_attempts=3, verifier_feedback=SAID)


def test_verify_says_it() -> None:
    text = shown(report(RoundOutcome.CHANGES_REQUESTED, retry_context=CONTEXT))
    told = text[text.index("attempt 2 is told:") :]
    assert "the auditor: - the name says nothing" in told
    assert "- to do (high): name it \\x1b[2J" in told


def test_todo_show_says_it(capsys: pytest.CaptureFixture[str]) -> None:
    _show_told(Told(retry_context=CONTEXT.model_dump(mode="json")), again=True)
    told = capsys.readouterr().out
    assert "  the auditor: - the name says nothing" in told
    assert "  - to do (high): name it \\x1b[2J" in told
