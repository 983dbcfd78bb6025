"""Rounds as they are when they have been decided: real snapshots, checkers, files and rows; only no container runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

from temporalio.testing import ActivityEnvironment

from activities.checks import CheckActivities
from activities.report import ReportActivities
from adapters.checkers.registry import checkers
from adapters.checkers.remote import Access
from adapters.evidence.folder import FolderStore
from adapters.snapshot.snapshots import FileSnapshots
from adapters.trail import SqlTrail
from domain.base import canonical_json
from domain.checks import CheckResult, Observation, beside_the_base, items_of
from domain.decision import Decision, Policy, RoundOutcome, decide
from domain.events import AUDITOR, HARNESS, SYSTEM, Action, Actor, TrailEntry, TrailRow
from domain.facts import facts_of
from domain.life import FollowUpAnswer
from domain.messages import (
    CheckInput,
    FreezeInput,
    Frozen,
    Image,
    RoundInput,
    RoundRecord,
    ScopeInput,
    ScopeResult,
    SetupInput,
)
from domain.order import Order
from domain.ports import ProbeRequest, Progress, Roles, RunRequest, Served
from domain.read_model import standing
from domain.roles.results import Answered, AuditRecord
from domain.status import AFTER_A_ROUND, ReviewStatus, TodoStatus
from entrypoints.rejudging_roles import RolesAgain
from tests.fakes.roles import ASKED, rows_of

NOW = datetime(2026, 1, 15, 10, 0, tzinfo=UTC)
PASSED = Observation(exit_code=0, duration_ms=5)
ACCESS = Access((), "https://github.invalid", None)


class SaidSandbox:
    """Answers by command, and by (tree, command) where the base is to answer otherwise."""

    def __init__(self, said: Mapping[str, Observation]) -> None:
        self._said = said

    async def prepare(self, image: str, progress: Progress) -> Image:
        """Checkers have their image, so that nothing reaches this."""
        raise AssertionError(image)

    async def setup(self, request: SetupInput, progress: Progress) -> Image:
        """As `prepare`."""
        raise AssertionError(request)

    async def ready(self, image: Image, setup: SetupInput | None, progress: Progress) -> Image:
        """As `prepare`."""
        raise AssertionError(image)

    async def release(self, round: str) -> None:
        """As `prepare`."""
        raise AssertionError(round)

    async def reap(self) -> int:
        """Nothing is left behind."""
        return 0

    async def run(self, request: RunRequest) -> Observation:
        """What was said for the command, on this tree or when it is run again, else that it passed."""
        on_tree = self._said.get(f"{request.tree} {request.command}")
        again = self._said.get(f"again {request.command}") if "/again-" in request.key else None
        return on_tree or again or self._said.get(request.command, PASSED)

    async def serve(self, served: RunRequest, probe: ProbeRequest) -> Served:
        """What was said of the server and of the probe."""
        return Served(probe=self._said["probe"], server=self._said["server"])


@dataclass
class World:
    """A trail, a store, a base and a workspace below `root`."""

    root: Path
    ordinal: int = 0
    at: datetime = NOW
    said: dict[str, Observation] = field(default_factory=dict)
    session: str = "local"

    def __post_init__(self) -> None:
        self.trail = SqlTrail(f"sqlite:///{self.root}/trail.db", self.root / "heads.jsonl")
        self.store = FolderStore(self.evidence)
        self.write("base", **{"a.txt": "before\n"})
        self.write("work", **{"a.txt": "after\n"})

    @property
    def evidence(self) -> Path:
        """The evidence folder."""
        return self.root / "evidence"

    def write(self, folder: str, **files: str) -> None:
        """Files by name."""
        for name, text in files.items():
            path = self.root / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def order(self, todo: str = "wo-1", **fields: Any) -> Order:
        """An order on base and workspace."""
        paths = {"workspace": str(self.root / "work"), "base": str(self.root / "base")}
        return Order.model_validate_json(canonical_json({"id": todo, "content": "some work", **paths, **fields}))

    def row(
        self, request: RoundInput, action: Action, payload: dict[str, Any], actor: Actor = SYSTEM, **more: Any
    ) -> None:
        """One row of the round, a second after the one before."""
        self.ordinal += 1
        self.at += timedelta(seconds=1)
        place = {"session": request.session, "todo_id": request.todo, "attempt": request.attempt}
        entry = {"workflow_id": request.workflow_id, "ordinal": self.ordinal, "actor": actor, "action": action}
        self.trail.append(TrailEntry(**place, **entry, payload=payload, timestamp=self.at, **more))

    def begin(self, order: Order, attempt: int = 1) -> RoundInput:
        """A round that has begun."""
        request = RoundInput(
            session=self.session,
            todo=order.id,
            attempt=attempt,
            order=order,
            order_digest=order.digest,
            host="here",
            store=self.trail.store_id(),
            order_file=str(self.root / "order.yaml"),
            actor=Actor(role="unattributed", identity="ann"),
        )
        claimed = standing(TodoStatus.CLAIMED, ReviewStatus.AUDITING)
        started = {"attempt": attempt, "items": [], "order": order.digest, "title": "some work", "domain": order.domain}
        self.row(request, "verification_started", started, after=claimed)
        return request

    def freeze(self, request: RoundInput) -> tuple[Frozen, ScopeResult]:
        """The round's trees, stored and in the trail."""
        snapshots = FileSnapshots(self.store)
        order = request.order
        assert order.base is not None
        asked = FreezeInput(
            round=request.workflow_id,
            workspace=order.workspace,
            base=order.base,
            commits=False,
            order_folder=str(self.root),
            order_files=order.files_beside,
        )
        frozen = snapshots.freeze(asked, lambda text: None)
        self.row(request, "snapshot_frozen", {"head": frozen.head, "base": frozen.base})
        scope = snapshots.assess(ScopeInput(frozen=frozen, scope=order.scope, tests=tuple(order.verification.tests)))
        facts = {"tree": scope.tree, "changed": scope.changed_total, "report": scope.report}
        self.row(request, "scope_assessed", facts)
        return frozen, scope

    def cancel(self, request: RoundInput) -> None:
        """The round ends without a verdict."""
        waiting = standing(TodoStatus.CLAIMED, ReviewStatus.NOT_REQUESTED)
        self.row(request, "verification_cancelled", {"reason": "cancelled"}, after=waiting)

    async def verify(
        self, order: Order, attempt: int = 1, roles: Roles | None = None, answer: FollowUpAnswer | None = None
    ) -> RoundRecord:
        """A whole round, decided and filed; with `roles` audited, by a worker that answers a question with `answer`."""
        request = self.begin(order, attempt)
        frozen, scope = self.freeze(request)
        results = await self._results(request, frozen, scope)
        undecided = Decision(outcome=RoundOutcome.INCONCLUSIVE, reasons=())
        record = RoundRecord(
            input=request,
            started_at=NOW,
            ended_at=self.at,
            frozen=frozen,
            scope=scope,
            image=Image(reference="python", id="sha256:1"),
            results=results,
            decision=undecided,
        )
        audit = await self._audited(record, roles, answer) if roles else None
        decision = decide(facts_of(order, scope, results, audit=audit.audit if audit else None), Policy.of(order))
        record = record.model_copy(update={"audit": audit, "decision": decision, "ended_at": self.at})
        filed = await ActivityEnvironment().run(ReportActivities(self.store).file, record)
        status, review = AFTER_A_ROUND[decision.outcome]
        verdict = {
            "result": decision.verdict,
            "outcome": decision.outcome.value,
            "criteria": [result.id for result in results],
            "reasons": [reason.code for reason in decision.reasons],
            "trigger": decision.trigger,
            "record": filed.record,
            "report": filed.report,
        }
        self.row(request, "audit_completed", verdict, HARNESS, after=standing(status, review))
        return record

    async def _audited(self, record: RoundRecord, roles: Roles, answer: FollowUpAnswer | None) -> AuditRecord:
        """The roles' part, and its rows."""
        rows: list[TrailRow] = []
        if answer is not None:
            ids, blobs = [one.id for one in answer.evidence], [one.digest for one in answer.evidence]
            payload = {"answer": answer.answer, "evidence": ids, "blobs": blobs, "round": answer.round}
            self.row(record.input, "follow_up_answered", payload, Actor(role="worker", identity="w"))
            rows = list(self.trail.rows())
            asked = Answered(round=1, question=ASKED, answer=answer.answer, evidence=tuple(ids))
            record = record.model_copy(update={"audit": AuditRecord(dialogue=(asked,))})
        asked_now = RolesAgain(self.store, roles, record, rows, model="", take="", say=lambda text: None)
        audit = await asked_now.audit()
        for action, payload in rows_of(audit):
            self.row(record.input, cast(Action, action), payload, AUDITOR)
        return audit

    async def _results(self, request: RoundInput, frozen: Frozen, scope: ScopeResult) -> tuple[CheckResult, ...]:
        sandbox = SaidSandbox(self.said)
        checks = CheckActivities(checkers(self.store, sandbox, ACCESS), self.store, sandbox)
        found = []
        for item in items_of(request.order):
            asked = CheckInput(
                session=request.session,
                todo=request.todo,
                attempt=request.attempt,
                round=request.workflow_id,
                item=item,
                tree=scope.tree,
                image="sha256:1",
                resources=request.order.resources,
                base=scope.base or frozen.base,
                trusted=scope.trusted,
                order_files=frozen.order_files,
                retries=request.order.verification.retries_on_failure,
                flaky_passes=request.order.verification.on_flaky == "pass",
            )
            result = await ActivityEnvironment().run(checks.run, asked)
            facts = {
                **{"check": item.id, "outcome": result.outcome.value, "passed": result.passed, "code": result.code},
                **{"exit_code": result.exit_code, "duration_ms": result.duration_ms},
                **{"required": result.required, "evidence": result.evidence},
            }
            self.row(request, "check_completed", facts, HARNESS)
            if not result.passed and item.needs_sandbox:
                on_base = asked.model_copy(update={"tree": frozen.base})
                base = await ActivityEnvironment().run(checks.run_on_base, on_base)
                result = beside_the_base(result, base)
                facts = {
                    **{"check": item.id, "outcome": result.outcome.value, "code": result.code},
                    **{"base_outcome": base.outcome.value, "base_code": base.code, "evidence": base.evidence},
                }
                self.row(request, "base_compared", facts, HARNESS)
            found.append(result)
        return tuple(found)
