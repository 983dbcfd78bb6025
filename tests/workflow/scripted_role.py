"""An auditor that says what it is told to, one pass after the other. It looks at nothing."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from domain.base import sha256_hex
from domain.ports import EvidenceStore, Progress
from domain.roles.opinion import FirstLook, Opinion, Question
from domain.roles.passes import PassInput
from domain.roles.results import Assessed, PassResult, PassUsage, Provenance, RefusedCall, WantedTest
from domain.verdict import Audit, AuditorOutcome

FIRST_LOOK = FirstLook(assessments=[]).model_dump_json().encode()
OPINION = (
    Opinion(verdict="approved", confidence=0.9, reasons=[], evidence_citations=[], assessments=[])
    .model_dump_json()
    .encode()
)
MESSAGES = b"[]"
SCRIPTED = Provenance(model="script:auditor.yaml", scripted=True, prompt="p" * 64, tools="t" * 64, policy="c" * 64)
LOOKED = PassResult(
    outcome="answered", said=sha256_hex(FIRST_LOOK), messages=sha256_hex(MESSAGES), provenance=SCRIPTED, seconds=10.0
)
APPROVED = PassResult(
    outcome="answered",
    said=sha256_hex(OPINION),
    messages=sha256_hex(MESSAGES),
    audit=Audit(outcome=AuditorOutcome.APPROVED, cited=True, confidence=0.9),
    assessed=(Assessed(criterion="AC-1", assessment="PASS", confidence=0.9, evidence="ev-0123456789abcdef"),),
    usage=PassUsage(requests=2, input_tokens=1000, output_tokens=200, micros=2500),
    provenance=SCRIPTED,
    seconds=20.0,
)
CAPPED = PassResult(outcome="cost_cap_exceeded", why="the todo's cap of $5 would be passed", provenance=SCRIPTED)


def asking(text: str, **fields: object) -> PassResult:
    """A pass that ends with a question to the worker."""
    question = Question(question=text, evidence_requested=["the log of it"], reason="nothing shows it")
    return LOOKED.model_copy(update={"outcome": "asks", "said": "", "question": question, **fields})


def wanting(*items: str) -> PassResult:
    """A pass that ends with checks to be run."""
    tests = tuple(WantedTest(call=f"call-{number}", item=item) for number, item in enumerate(items, 1))
    return LOOKED.model_copy(update={"outcome": "wants_tests", "said": "", "tests": tests})


def refused(*tools: str) -> tuple[RefusedCall, ...]:
    """Calls that were refused."""
    return tuple(RefusedCall(tool=tool, arguments="{}", code="no_such_tool", reason="no such tool") for tool in tools)


@dataclass
class Sayings:
    """What the passes come to, one after the other; afterwards no model is configured. `asked`: what each was told.

    `seconds`: how long each takes of the worker's own time.
    """

    passes: list[PassResult | Exception] = field(default_factory=list)
    asked: list[PassInput] = field(default_factory=list)
    seconds: float = 0.0
    cancelled: int = 0


class ScriptedRole:
    """Every role there is; what they say is in the store."""

    def __init__(self, sayings: Sayings, store: EvidenceStore) -> None:
        self._sayings = sayings
        for blob in (FIRST_LOOK, OPINION, MESSAGES):
            store.put(blob)

    async def run(self, request: PassInput, progress: Progress, used: float) -> PassResult:
        """The next saying."""
        said = self._sayings
        said.asked.append(request)
        try:
            await asyncio.sleep(said.seconds)
        except asyncio.CancelledError:
            said.cancelled += 1
            raise
        result = said.passes.pop(0) if said.passes else PassResult(outcome="not_configured")
        if isinstance(result, Exception):
            raise result
        return result
