"""Roles that say what they are told to, one pass after the other. They look at nothing."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, Literal

from domain.base import sha256_hex
from domain.ports import EvidenceStore, Progress
from domain.roles.argued import Case, Judgement
from domain.roles.names import Role, Side
from domain.roles.opinion import FirstLook, Opinion, Question
from domain.roles.passes import PassInput
from domain.roles.results import Assessed, Fixed, PassResult, PassUsage, Provenance, RefusedCall, WantedTest
from domain.verdict import Audit, AuditorOutcome, Ruled

FIRST_LOOK = FirstLook(assessments=[]).model_dump_json().encode()
OPINION = (
    Opinion(verdict="approved", confidence=0.9, reasons=[], evidence_citations=[], assessments=[])
    .model_dump_json()
    .encode()
)
CASES: dict[Side, bytes] = {
    side: Case.model_validate(
        {
            "arguments": [
                {
                    "criterion": "AC-1",
                    "argument": f"the {side}'s",
                    "quotes": [{"evidence_id": "ev-0123456789abcdef", "quote": "exit code 1"}],
                }
            ]
        }
    )
    .model_dump_json()
    .encode()
    for side in ("advocate", "critic")
}
JUDGEMENT = Judgement(rulings=[]).model_dump_json().encode()
MESSAGES = b"[]"
PATCH = b"--- a/a.py\n+++ b/a.py\n"
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


NO_MODEL = PassResult(outcome="not_configured")
ARGUED: dict[Side, PassResult] = {
    side: LOOKED.model_copy(update={"said": sha256_hex(case), "seconds": 5.0}) for side, case in CASES.items()
}


def ruling(*, confidence: float = 0.9, **verdicts: Literal["PASS", "FAIL"]) -> PassResult:
    """A judge's pass. A criterion is named with `_` for `-`."""
    rulings = tuple(
        Ruled(
            criterion=name.replace("_", "-"),
            verdict=verdict,
            confidence=confidence,
            reasoning=f"why {verdict}",
            evidence=("ev-0123456789abcdef",),
        )
        for name, verdict in verdicts.items()
    )
    return LOOKED.model_copy(update={"said": sha256_hex(JUDGEMENT), "rulings": rulings, "seconds": 7.0})


def arguing(*hearings: PassResult | Exception, **sides: PassResult | Exception) -> dict[Role, list[Any]]:
    """What the three say of a dispute; both sides argue unless something else is said of one."""
    return {
        "advocate": [sides.get("advocate", ARGUED["advocate"])],
        "critic": [sides.get("critic", ARGUED["critic"])],
        "judge": list(hearings),
    }


def asking(text: str, **fields: object) -> PassResult:
    """A pass that ends with a question to the worker."""
    question = Question(question=text, evidence_requested=["the log of it"], reason="nothing shows it")
    return LOOKED.model_copy(update={"outcome": "asks", "said": "", "question": question, **fields})


def wanting(*items: str) -> PassResult:
    """A pass that ends with checks to be run."""
    tests = tuple(WantedTest(call=f"call-{number}", item=item) for number, item in enumerate(items, 1))
    return LOOKED.model_copy(update={"outcome": "wants_tests", "said": "", "tests": tests})


def repaired(head: str = "1", **fields: object) -> PassResult:
    """A fix builder's pass that came to a repair: a tree by its name."""
    fixed = Fixed(
        kind="applied",
        answer="APPLIED:1",
        edits=1,
        head=head * 64,
        head_files=2,
        head_bytes=30,
        patch=sha256_hex(PATCH),
        paths=("a.py",),
    )
    return LOOKED.model_copy(update={"fixed": fixed, "seconds": 40.0, **fields})


def unrepaired(reason: str) -> PassResult:
    """A fix builder's pass that came to none."""
    fixed = Fixed(kind="could_not_apply", answer=f"COULD_NOT_APPLY: {reason}", reason=reason)
    return LOOKED.model_copy(update={"fixed": fixed})


def refused(*tools: str) -> tuple[RefusedCall, ...]:
    """Calls that were refused."""
    return tuple(RefusedCall(tool=tool, arguments="{}", code="no_such_tool", reason="no such tool") for tool in tools)


@dataclass
class Sayings:
    """What the auditor's passes come to, one after the other, and each other role's; afterwards no model is configured.

    `told`: what every pass was told, in the order in which they began; the first has `began`. `seconds`: how long each
    takes of the worker's own time; it ends no sooner than what it is `held` by is set.
    """

    passes: list[PassResult | Exception] = field(default_factory=list)
    by_role: dict[Role, list[PassResult | Exception]] = field(default_factory=dict)
    told: list[PassInput] = field(default_factory=list)
    seconds: float = 0.0
    cancelled: int = 0
    held: asyncio.Event | None = None
    began: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def asked(self) -> list[PassInput]:
        """What each of the auditor's was told."""
        return [asked for asked in self.told if asked.role == "auditor"]

    @property
    def others_asked(self) -> list[PassInput]:
        """What each other role's was told."""
        return [asked for asked in self.told if asked.role != "auditor"]


class ScriptedRole:
    """Every role there is; what they say is in the store."""

    def __init__(self, sayings: Sayings, store: EvidenceStore) -> None:
        self._sayings = sayings
        for blob in (FIRST_LOOK, OPINION, JUDGEMENT, MESSAGES, PATCH, *CASES.values()):
            store.put(blob)

    async def run(self, request: PassInput, progress: Progress, used: float) -> PassResult:
        """The next saying."""
        said = self._sayings
        said.told.append(request)
        said.began.set()
        passes = said.passes if request.role == "auditor" else said.by_role.get(request.role, [])
        try:
            await asyncio.sleep(said.seconds)
            if said.held is not None:
                await said.held.wait()
        except asyncio.CancelledError:
            said.cancelled += 1
            raise
        result = passes.pop(0) if passes else NO_MODEL
        if isinstance(result, Exception):
            raise result
        return result
