"""Asks the roles once more on what is stored of a round, and holds what they say against what they said then.

As the round asked them, but for two things that only a round has: a check that a role wants is not run, it is told what
the round saw; a question to the worker gets the answer of then, if there was one. Only the auditor is asked: what was
argued and ruled in the round stands, although another word of the auditor's might have had something else disputed.
Nothing of the todo changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from domain.audit_report import Answers, said_of
from domain.claims.claim import ClaimedEvidence
from domain.claims.minted import MintedEvidence
from domain.errors import Refused, Unavailable
from domain.events import TrailRow
from domain.life import FollowUpAnswer
from domain.messages import RoundRecord
from domain.ports import EvidenceStore, Progress, Roles
from domain.rejudge import decide_on
from domain.rejudge_roles import AskedAgain, compared
from domain.roles import course
from domain.roles.opinion import Question
from domain.roles.passes import PassInput, RanTest
from domain.roles.results import Answered, AuditRecord, PassResult, WantedTest


class RolesAgain:
    """One round's roles, asked once more. `take` keeps what earlier takes remembered away from this one."""

    def __init__(
        self,
        store: EvidenceStore,
        roles: Roles,
        record: RoundRecord,
        rows: Sequence[TrailRow],
        *,
        model: str,
        take: str,
        say: Progress,
    ) -> None:
        self._store, self._roles, self._record = store, roles, record
        self._model, self._take, self._say = model, take, say
        self._answered = tuple(answers_of(store, record, rows))
        self._ran = {result.id: result for result in (*record.results, *(record.audit.ran if record.audit else ()))}
        self._passes: list[PassResult] = []
        self._dialogue: list[Answered] = []
        self._answers: list[FollowUpAnswer] = []

    async def run(self) -> AskedAgain:
        """Both sides compared. Raises `Refused` for a round in which nobody would be asked, `Unavailable`."""
        record = self._record
        if why := course.unasked(record.order, record.scope, record.results, record.probe, undrafted=record.undrafted):
            raise Refused("no_roles", f"no role is asked in such a round: {why}", "say --objective")
        now = await self.audit()
        decided = decide_on(record, record.results, now.audit)
        then_said, now_said = answers_in(self._store, record.audit), answers_in(self._store, now)
        found = compared(record.audit, then_said, now, now_said, recorded=record.decision, decided=decided)
        tiebreak = record.dispute.tiebreak if record.dispute else None
        ruled = tuple(ruling.criterion for ruling in tiebreak.rulings) if tiebreak else ()
        return found.model_copy(update={"argued": ruled})

    async def audit(self) -> AuditRecord:
        """First the blind look, then with everything that the worker said."""
        record = self._record
        assert record.frozen is not None, "a tree that is scoped is frozen"
        assert record.scope is not None, "nobody is asked without a tree"
        blind = PassInput(
            round=record.effective.model_copy(update={"claim": None}),  # what is not sent cannot frame the first look
            frozen=record.frozen,
            scope=record.scope,
            results=record.results,
            stage="blind",
            limit=record.input.order.safeguards.audit_timeout,
            model=self._model,
            take=self._take,
        )
        last = await self._stage(blind)
        if last.outcome == "answered":
            changes: dict[str, object] = {
                "round": record.effective,
                "stage": "informed",
                "contradictions": record.contradictions,
                "first_look": last.said,
                "questions": record.input.order.safeguards.follow_ups,
            }
            last = await self._stage(blind.model_copy(update=changes))
        return AuditRecord(
            passes=tuple(self._passes),
            dialogue=tuple(self._dialogue),
            audit=course.audit_of(last),
            seconds=sum(result.seconds for result in self._passes),
        )

    async def _stage(self, asked: PassInput) -> PassResult:
        """The pass that ends the stage."""
        last = PassResult(outcome="inconclusive")
        for part in range(course.most_passes(self._record.input.order)):
            last = await self._pass(asked.model_copy(update={"part": part, "messages": last.messages}))
            if last.outcome == "asks" and last.question and asked.questions > len(self._dialogue):
                asked = asked.model_copy(update={"ran": (), **self._heard(last.question)})
            elif last.outcome == "wants_tests" and all(test.item in self._ran for test in last.tests):
                asked = asked.model_copy(update={"ran": tuple(self._seen(last.tests))})
            else:
                return last
        return last

    async def _pass(self, asked: PassInput) -> PassResult:
        order = self._record.input.order
        left = course.time_left(order, self._passes)
        self._say(f"{asked.role}: {asked.stage} look, part {asked.part + 1}")
        if left > 0:
            result = await self._roles.run(asked.model_copy(update={"limit": left}), self._say, 0.0)
        else:
            why = f"the audit's {order.safeguards.audit_timeout:g} s are used up"
            result = PassResult(outcome="timed_out", why=why)
        self._passes.append(result)
        return result

    def _seen(self, wanted: Iterable[WantedTest]) -> Iterator[RanTest]:
        """What the round saw of these checks, the last time that they ran in it."""
        return (RanTest(call=test.call, result=self._ran[test.item]) for test in wanted)

    def _heard(self, question: Question) -> dict[str, object]:
        """What the worker answered then to the question of the same round; where that was another one, it is said."""
        number = len(self._dialogue) + 1
        told = next((answer for asked, answer in self._answered if asked.round == number), None)
        then = next((asked for asked, _ in self._answered if asked.round == number), None)
        answer = told or FollowUpAnswer(round=number)
        if answer.answer is not None and then is not None and then.question.question != question.question:
            words = f"(the worker was asked another question then: {then.question.question}) {answer.answer}"
            answer = answer.model_copy(update={"answer": words})
        self._answers.append(answer)
        ids = tuple(piece.id for piece in answer.evidence)
        self._dialogue.append(Answered(round=number, question=question, answer=answer.answer, evidence=ids))
        left = self._record.input.order.safeguards.follow_ups - number
        return {"answers": tuple(self._answers), "questions": left}


def answers_in(store: EvidenceStore, audit: AuditRecord | None) -> Answers:
    """What the roles of an audit answered. Raises `Unavailable` for a blob that is gone."""
    return {digest: shape.model_validate_json(store.get(digest)) for digest, shape in said_of(audit)}


def answers_of(
    store: EvidenceStore, record: RoundRecord, rows: Sequence[TrailRow]
) -> Iterator[tuple[Answered, FollowUpAnswer]]:
    """The recorded dialogue, with the evidence that came with each answer, as far as that is there."""
    brought = {row.payload.get("round"): row for row in rows if row.action == "follow_up_answered"}
    for asked in record.audit.dialogue if record.audit else ():
        row = brought.get(asked.round)
        pieces = tuple(_pieces(store, row)) if row is not None and asked.answer is not None else ()
        yield asked, FollowUpAnswer(round=asked.round, answer=asked.answer, evidence=pieces)


def _pieces(store: EvidenceStore, row: TrailRow) -> Iterator[MintedEvidence]:
    ids, blobs = row.payload.get("evidence"), row.payload.get("blobs")
    for name, digest in zip(ids, blobs, strict=False) if isinstance(ids, list) and isinstance(blobs, list) else ():
        try:
            evidence = ClaimedEvidence.model_validate_json(store.get(str(digest)))
        except Unavailable:  # named among what is damaged, where the round itself is judged again
            continue
        yield MintedEvidence(id=str(name), label=evidence.label, type=evidence.type, digest=str(digest), news="")
