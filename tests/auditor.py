"""An auditor for tests, played at the server: it finds evidence in what it is sent, and cites it as a model would."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.provider import Received, Script, Turn, output

KEY_VARIABLE, KEY = "AUDIT_KEY", "sk-audit-key-of-the-tests"
CRITERIA = ("AC-1", "AC-2")
DIFF = "the change from the base to the tree that was checked"
QUOTED = "+after"
"""Stands in the diff of every round of these tests."""

STAGES = {"blind": "first look", "informed": "second look"}
_BLOCK = re.compile(r"^<data id=([0-9a-f]+) what=\w+>\n(.*?)\n</data id=\1>$", re.DOTALL | re.MULTILINE)

Answer = Turn | Callable[[Received], Turn]


def stage_of(received: Received) -> str:
    """Which look a request belongs to, by what it is told."""
    return next(stage for stage, words in STAGES.items() if f"This is your {words}." in received.system)


def audits(blind: Sequence[Answer], informed: Sequence[Answer] = ()) -> Script:
    """Each stage's answers by how many the conversation has; the last of them repeats."""

    def script(received: Received) -> Turn:
        turns = {"blind": blind, "informed": informed}[stage_of(received)]
        turn = turns[min(received.answered, len(turns) - 1)]
        return turn if isinstance(turn, Turn) else turn(received)

    return script


def pieces(received: Received) -> Iterator[dict[str, Any]]:
    """The evidence in a request."""
    for block in _BLOCK.finditer(received.user):
        piece = json.loads(block[2])
        if "evidence_id" in piece:
            yield piece


def cited(received: Received, title: str) -> str:
    """The id of the evidence with that title."""
    return str(next(piece["evidence_id"] for piece in pieces(received) if title in piece["title"]))


def assessments(received: Received) -> list[dict[str, Any]]:
    """Every criterion met, each with a quote that stands in the diff."""
    quote = {"evidence_id": cited(received, DIFF), "quote": QUOTED}
    said = {"assessment": "PASS", "confidence": 0.9, "reason": "it is in the change", "quotes": [quote]}
    return [{"criterion": criterion, **said} for criterion in CRITERIA]


def look(received: Received) -> Turn:
    """A first look that finds everything met."""
    return output({"assessments": assessments(received), "suspicions": []})


def approve(received: Received) -> Turn:
    """An approval that holds up, as far as the checks let it."""
    return output(
        {
            "verdict": "approved",
            "confidence": 0.9,
            "reasons": [{"reason": "the change has it", "evidence_id": cited(received, DIFF)}],
            "evidence_citations": [cited(received, DIFF)],
            "assessments": assessments(received),
        }
    )


def ask(question: str) -> Turn:
    """A question to the worker."""
    return output({"question": question, "evidence_requested": ["a log"], "reason": "the diff does not show it"})


def configure(project: Path, openai: str, anthropic: str, **caps: float) -> None:
    """Two models of one server, the second in place of the first where that is gone. `caps` in dollars."""
    entry = f'model = "m"\napi_key_env = "{KEY_VARIABLE}"\nprice = {{input = 1.0, output = 10.0}}\n'
    table = "\n".join(f"{name} = {value}" for name, value in caps.items())
    (project / "countersign.toml").write_text(
        '[agents]\nmodel = "first"\n'
        f'[agents.auditor]\nfallbacks = ["second"]\nmax_tokens = 8192\n[agents.caps]\n{table}\n'
        f'[agents.models.first]\nprovider = "openai"\nbase_url = "{openai}"\n{entry}'
        f'[agents.models.second]\nprovider = "anthropic"\nbase_url = "{anthropic}"\n{entry}'
    )
