"""Roles that answer at once, from the pieces that they are shown: what they cite is real. No model is asked."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from adapters.roles.packets import load_packet
from adapters.roles.tooling import Toolbox
from domain.audit_report import NEVER_ASKED, in_stages
from domain.ports import EvidenceStore, Progress
from domain.roles.citations import asked_of, assessed_of, audit_of
from domain.roles.opinion import FirstLook, Opinion, Question
from domain.roles.packet import Piece
from domain.roles.passes import PassInput
from domain.roles.results import AuditRecord, PassOutcome, PassResult, PassUsage, Provenance, RefusedCall, WantedTest

ASKED = Question(question="How often did it run?", evidence_requested=["a log"], reason="it is not shown")
SEEN_BY_TOOL = "what a tool saw"


@dataclass
class SaidRoles:
    """An auditor. `words` by criterion stand for PASS; with `asks`, `test` and `tool` it first does that.

    `outcome`: how every pass ends instead of an answer. `requests` has what it was asked, in order.
    """

    store: EvidenceStore
    verdict: str = "approved"
    confidence: float = 0.9
    words: dict[str, str] = field(default_factory=dict)
    asks: bool = False
    test: str = ""
    tool: bool = False
    outcome: PassOutcome | None = None
    prompt: str = "p"
    requests: list[PassInput] = field(default_factory=list)

    async def run(self, request: PassInput, progress: Progress, used: float) -> PassResult:
        """One pass."""
        self.requests.append(request)
        progress("request 1")
        if self.outcome:
            return PassResult(outcome=self.outcome, why="as the test says", seconds=0.5)
        if self.test and request.stage == "blind" and not request.part:
            wanted = (WantedTest(call="call-1", item=self.test),)
            return self._result(request, "wants_tests", messages=b"[]", tests=wanted)
        if self.asks and request.stage == "informed" and not request.answers:
            return self._result(request, "asks", messages=b"[]", question=ASKED)
        return await self._answer(request)

    async def _answer(self, request: PassInput) -> PassResult:
        order = request.round.order
        pieces = dict(load_packet(self.store, request).by_id)
        marks: list[dict[str, Any]] = []
        if self.tool and request.stage == "informed":
            box = Toolbox((), self.store, request)
            digest = self.store.put(SEEN_BY_TOOL.encode())
            heard = await box.found("tool Read {}", "Read {}", digest)
            marks = [{"what": heard.what, "title": "Read {}", "digest": digest}]
            pieces |= box.pieces
        cited = next(piece for piece in reversed([*pieces.values()]) if piece.observed)
        assessments = [self._assessment(criterion.id, cited) for criterion in order.acceptance_criteria]
        messages = json.dumps([{"parts": [{"part_kind": "tool-return", "metadata": mark} for mark in marks]}]).encode()
        if request.stage == "blind":
            look = FirstLook.model_validate({"assessments": assessments})
            said = self.store.put(look.model_dump_json().encode())
            return self._result(request, "answered", messages=messages, said=said, assessed=assessed_of(look))
        word = Opinion.model_validate(
            {
                **{"verdict": self.verdict, "confidence": self.confidence, "assessments": assessments},
                "reasons": [{"reason": "it was seen", "evidence_id": cited.id}],
                "evidence_citations": [cited.id],
            }
        )
        audit = audit_of(word, pieces, asked_of(order, request.results, request.round.authored))
        return self._result(
            request,
            "answered",
            messages=messages,
            said=self.store.put(word.model_dump_json().encode()),
            assessed=assessed_of(word),
            audit=audit,
        )

    def _assessment(self, criterion: str, cited: Piece) -> dict[str, Any]:
        word = self.words.get(criterion, "PASS")
        quotes = [{"evidence_id": cited.id, "quote": cited.text.split("\n")[0]}]
        return {
            **{"criterion": criterion, "assessment": word, "confidence": self.confidence},
            **{"reason": "as it was seen", "quotes": [] if word == "UNPROVED" else quotes},
        }

    def _result(self, request: PassInput, outcome: PassOutcome, messages: bytes, **more: Any) -> PassResult:
        model = request.model or "openai:first"
        refused = RefusedCall(tool="Write", arguments="{}", code="no_such_tool", reason="there is none")
        given: dict[str, Any] = {
            "messages": self.store.put(messages),
            "refused": (refused,) if request.stage == "blind" else (),
            "usage": PassUsage(requests=1, input_tokens=100, output_tokens=10, micros=500),
            "provenance": Provenance(
                model=model,
                prompt=self.store.put(self.prompt.encode()),
                tools="t",
                policy="o",
                packet=self.store.put(request.stage.encode()),
            ),
            "seconds": 0.5,
        }
        return PassResult.model_validate({"outcome": outcome, **given, **more})


def rows_of(audit: AuditRecord) -> list[tuple[str, dict[str, Any]]]:
    """What a round writes in the trail of it: the action and the payload of each row."""
    found: list[tuple[str, dict[str, Any]]] = []
    for stage, part, result in in_stages(audit.passes):
        if result.outcome in NEVER_ASKED:
            continue
        usage = result.usage.model_dump(mode="json")
        cost = {"cost_usd": usage.pop("micros") / 1e6}
        place = {"role": "auditor", "stage": stage, "part": part, "outcome": result.outcome, "why": result.why}
        blobs = {"said": result.said, "messages": result.messages}
        payload = {**place, **result.provenance.model_dump(mode="json"), **usage, **cost, **blobs}
        found.append(("role_pass_completed", payload))
        found += [("tool_refused", {"role": "auditor", **call.model_dump(mode="json")}) for call in result.refused]
        if stage == "informed" and result.outcome == "answered":
            found += [("criterion_audited", assessed.model_dump(mode="json")) for assessed in result.assessed]
    return found
