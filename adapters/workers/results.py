"""What came of a worker command, from how it ended and what it wrote. It runs nothing and stores the output only."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from adapters.masking.masker import Masker
from adapters.workers.handed_in import HandedIn
from adapters.workers.output import masked
from adapters.workers.supervised import Ended
from domain.handed_in import output_answer, output_claim
from domain.life import WorkResult
from domain.order import WorkerCommand
from domain.ports import EvidenceStore

KILLED = "the worker command and what watches it were killed from outside, or for want of memory"


def killed(started: datetime) -> WorkResult:
    """Nothing is known but that it is over."""
    return WorkResult(problems=(KILLED,), started_at=started, ended_at=datetime.now(UTC))


def result_of(
    worker: WorkerCommand, ended: Ended, found: HandedIn, asked: bool, started: datetime, output: tuple[str, str]
) -> WorkResult:
    """What was written counts, whatever the exit code; where nothing was, the output does: its digest and its text.

    `asked`: the auditor's question is open.
    """
    digest, text = output
    facts: dict[str, Any] = {
        "output": digest,
        "exit_code": None if ended.timed_out else ended.status,
        "timed_out": ended.timed_out,
        "isolation": ended.isolation,
        "started_at": started,
        "ended_at": datetime.now(UTC),
    }
    how = f"was ended after {worker.timeout:g} seconds, its limit"
    how = how if ended.timed_out else f"ended with exit code {ended.status}"
    if found.problems or found.question:
        return WorkResult(problems=found.problems, question=found.question, **facts)
    if asked:
        answer = found.answer or output_answer(how, text)
        return WorkResult(answer=answer.answer, evidence=tuple(answer.additional_evidence), **facts)
    return WorkResult(claim=found.claim or output_claim(how, text), **facts)


def stored_output(ended: Ended, store: EvidenceStore, masker: Masker) -> tuple[str, str]:
    """The digest and the text of what was printed."""
    text = masked(ended.head, ended.tail, ended.total, masker)
    if ended.left:
        text += "\n[... Countersign: something that the command had begun could not be ended ...]\n"
    return store.put(text.encode()), text
