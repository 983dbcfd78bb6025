"""The adversarial part of a round: an advocate and a critic on what is disputed, then a judge who has read both.

What is disputed is `domain.roles.disputing`'s to say, whether a judge is asked and what it all comes to
`domain.roles.tiebreak`'s, what a ruling means for the verdict `decide`'s. Source: DESIGN 4, seed `pipeline` "Advocate",
"Critic", "Judge".
"""

from __future__ import annotations

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from domain.checks import CheckResult
    from domain.claims.claim import Contradiction
    from domain.life import FollowUpAnswer
    from domain.messages import NodeStatus, RoundInput
    from domain.roles import tiebreak
    from domain.roles.disputes import Dispute
    from domain.roles.disputing import disputes_of
    from domain.roles.names import Side
    from domain.roles.passes import GivenCase, PassInput
    from domain.roles.results import AuditRecord, DisputeRecord, Hearing, PassResult
    from domain.verdict import Tiebreak
    from workflows.passes import Passes, actor_of
    from workflows.trail import RoundTrail
    from workflows.trees import Trees

UNDISPUTED: tuple[NodeStatus, str] = ("skipped", "nothing is disputed")


class Arguing:
    """The adversarial stage of one round. `record`: all of it, None where nothing was disputed."""

    def __init__(self, request: RoundInput, trail: RoundTrail, passes: Passes) -> None:
        self._trail = trail
        self._passes = passes
        self._threshold = request.order.verification.confidence_threshold
        self._asked: PassInput | None = None
        self._disputes: tuple[Dispute, ...] = ()
        self._cases: dict[Side, PassResult] = {}
        self._hearings: list[Hearing] = []
        self.record: DisputeRecord | None = None

    def take_up(
        self,
        request: RoundInput,
        trees: Trees,
        results: tuple[CheckResult, ...],
        contradictions: tuple[Contradiction, ...],
        audit: AuditRecord | None,
        answers: tuple[FollowUpAnswer, ...],
    ) -> None:
        """What the round knows when the auditor has spoken. `request` has what was drafted, too."""
        self._disputes = disputes_of(request.order, results, (one.check for one in contradictions), audit)
        heard = next((each for each in reversed(audit.passes) if each.audit), None) if audit else None
        self._asked = PassInput(
            round=request,
            frozen=trees.frozen,
            scope=trees.scope,
            results=results,
            contradictions=contradictions,
            role="advocate",
            stage="argument",
            answers=answers,
            limit=request.order.safeguards.audit_timeout,
            disputes=self._disputes,
            opinion=heard.said if heard else "",
        )

    async def advocate(self) -> tuple[NodeStatus, str]:
        """The case for PASS."""
        return await self._argue("advocate")

    async def criticise(self) -> tuple[NodeStatus, str]:
        """The case for FAIL."""
        return await self._argue("critic")

    async def judge(self) -> tuple[NodeStatus, str]:
        """The rulings, after both sides; where they are not sure, once more in the other order."""
        if self._asked is None or not self._disputes:
            return UNDISPUTED
        first = tiebreak.first_of(workflow.random().random())
        while tiebreak.wants_hearing(self._disputes, self._cases, self._hearings, self._threshold):
            self._hearings.append(await self._hearing(self._asked, first))
            first = tiebreak.other(first)
        came_to = tiebreak.tiebreak_of(self._disputes, self._cases, self._hearings, self._threshold)
        passes = (*self._cases.values(), *(hearing.result for hearing in self._hearings))
        self.record = DisputeRecord(
            disputes=self._disputes,
            advocate=self._cases["advocate"],
            critic=self._cases["critic"],
            hearings=tuple(self._hearings),
            tiebreak=came_to,
            why=tiebreak.why_not(tiebreak.missing(self._cases, self._hearings)),
            seconds=sum(result.seconds for result in passes),
        )
        return self._told(self.record)

    async def _argue(self, side: Side) -> tuple[NodeStatus, str]:
        if self._asked is None or not self._disputes:
            return UNDISPUTED
        result = await self._passes.ask(self._asked.model_copy(update={"role": side}))
        self._cases[side] = result
        if result.outcome == "not_configured":
            return "skipped", "no model is configured"
        if result.outcome != "answered":
            return "could_not_run", result.why or "no answer that holds up"
        named = ", ".join(dispute.criterion for dispute in self._disputes)
        return "done", _labelled(f"argued {named}", result)

    async def _hearing(self, asked: PassInput, first: Side) -> Hearing:
        """One pass of the judge, with its word on each criterion in the trail."""
        sides = (first, tiebreak.other(first))
        asked = asked.model_copy(
            update={
                "role": "judge",
                "stage": "judgement",
                "part": len(self._hearings),
                "cases": tuple(
                    GivenCase(side=side, said=self._cases[side].said, messages=self._cases[side].messages)
                    for side in sides
                ),
            }
        )
        result = await self._passes.ask(asked)
        for ruled in result.rulings if result.outcome == "answered" else ():
            await self._trail.record(
                "criterion_judged",
                actor_of(asked),
                {
                    "criterion": ruled.criterion,
                    "verdict": ruled.verdict,
                    "confidence": ruled.confidence,
                    "first": first,
                    "evidence": ruled.evidence[0] if ruled.evidence else "",
                },
            )
        return Hearing(first=first, result=result)

    def _told(self, record: DisputeRecord) -> tuple[NodeStatus, str]:
        if record.tiebreak is None:
            return "skipped", record.why
        if not record.tiebreak.rulings:
            return "could_not_run", record.tiebreak.feedback
        return _ruled(record.tiebreak), _labelled(_rulings(record.tiebreak), record.hearings[0].result)


def _ruled(came_to: Tiebreak) -> NodeStatus:
    return "failed" if came_to.failed else "passed"


def _rulings(came_to: Tiebreak) -> str:
    return ", ".join(f"{ruled.criterion} {ruled.verdict}" for ruled in came_to.rulings)


def _labelled(text: str, result: PassResult) -> str:
    return f"scripted: {text}" if result.provenance.scripted else text
