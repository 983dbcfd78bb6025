"""The designer's and the strategist's part of a round: checks for an order that has none, each linted on the base.

Nothing of the work takes part: the packets, the tools and the lint see the order and the base alone. Which orders get
checks and which checks may count is `domain.drafts`' to say. Source: DESIGN 4, seed `pipeline` "Designer" and
"Strategist", docs/adr/0024.
"""

from __future__ import annotations

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from pydantic import JsonValue

    from activities.boundary import outside_error
    from activities.drafts import DraftActivities
    from activities.snapshot import SnapshotActivities
    from domain.criteria import Criterion
    from domain.drafts.effective import joining, numbered
    from domain.drafts.lint import uncovered
    from domain.drafts.messages import DraftAsked, DraftFound, DraftKept, DraftStored, draft_key
    from domain.drafts.record import DraftRecord, Rejected
    from domain.drafts.wanted import not_now, not_wanted
    from domain.errors import Unavailable
    from domain.events import HARNESS
    from domain.messages import Frozen, NodeStatus, RoundInput, ScopeInput
    from domain.roles.designed import DraftedCheck, Specification, TestPlan
    from domain.roles.names import Role
    from domain.roles.passes import PassInput
    from domain.roles.results import PassResult
    from workflows import options
    from workflows.environment import Environment
    from workflows.items import ItemRuns
    from workflows.linting import Linting
    from workflows.passes import Passes, actor_of
    from workflows.trail import RoundTrail
    from workflows.trees import Trees


class Drafting:
    """The drafting of one round. `record`: all of it, None where nothing was to be drafted."""

    def __init__(
        self, request: RoundInput, trail: RoundTrail, runs: ItemRuns, passes: Passes, environment: Environment
    ) -> None:
        self._order = request.order
        self._trail = trail
        self._runs = runs
        self._passes = passes
        self._environment = environment
        self._round = request.model_copy(update={"claim": None, "brought": (), "frozen": None})
        self._key = ""
        self._found = DraftFound(empty="")
        self._base: Trees | None = None
        self._spec: Specification | None = None
        self._digest = ""
        self._asked: list[PassResult] = []
        self._returned: list[Rejected] = []
        self.record: DraftRecord | None = None

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """What joins the order."""
        return self.record.criteria if self.record else ()

    @property
    def undrafted(self) -> str:
        """Why it could not be told what to check, for a cause outside the work; empty where it could."""
        return self.record.undrafted if self.record else ""

    async def design(self, trees: Trees | Unavailable | None) -> tuple[NodeStatus, str]:
        """The specification; or the whole draft, where an earlier attempt has made it."""
        if why := not_wanted(self._order, self._round.authored):
            return "skipped", why
        if not isinstance(trees, Trees):
            return "could_not_run", "no tree to look at"
        if why := not_now(trees.scope):
            return "skipped", why
        self._key = draft_key(self._order, trees.base)
        try:
            await self._look(trees)
            if self.record is not None:
                return "done", "an earlier attempt has drafted it"
            if self._found.specification is None:
                return await self._designed()
            return await self._specified(self._found.specification)
        except ActivityError as error:
            return self._unknown(outside_error(error))

    async def _look(self, trees: Trees) -> None:
        """What an earlier attempt has left, and the base as trees of its own, in which nothing of the work is."""
        self._found = await workflow.execute_activity_method(
            DraftActivities.find, DraftAsked(key=self._key), summary="an earlier draft", **options.ASSESS
        )
        alone = _base_alone(trees.frozen, self._found.empty)
        scope = await workflow.execute_activity_method(
            SnapshotActivities.assess,
            ScopeInput(
                frozen=alone,
                scope=self._order.scope,
                inputs=tuple(self._order.environment.inputs),
                tests=tuple(self._order.verification.tests),
                builds=bool(self._order.environment.build),
            ),
            summary="the base alone",
            **options.ASSESS,
        )
        self._base = Trees(alone, scope)
        if known := self._found.record:
            await self._environment.make_ready_late(alone)
            update = {"binding": self._binding, "remembered": True, "passes": (), "seconds": 0.0}
            self.record = known.model_copy(update=update)

    async def _designed(self) -> tuple[NodeStatus, str]:
        asked = self._input("designer")
        result = await self._ask(asked)
        if result.outcome != "answered" or result.specification is None:
            return self._without(_why_not("designer", result))
        spec = numbered(result.specification, self._order)
        stored = await self._keep(DraftKept(key=self._key, specification=spec))
        payload: dict[str, JsonValue] = {
            "spec": stored.specification,
            "criteria": len(spec.criteria),
            "summary": spec.summary,
        }
        await self._trail.record("spec_created", actor_of(asked), payload)
        return await self._specified(spec, stored.specification)

    async def _specified(self, spec: Specification, digest: str = "") -> tuple[NodeStatus, str]:
        self._spec = spec
        self._digest = digest or (await self._keep(DraftKept(key=self._key, specification=spec))).specification
        return "done", f"{len(spec.requirements)} requirements, {len(spec.criteria)} criteria"

    async def plan(self) -> tuple[NodeStatus, str]:
        """The checks for it: what does not pass its lint goes back once, and is then dropped."""
        if self.record is not None:
            return ("could_not_run" if self.record.unknown else "skipped"), self.record.why or "drafted before"
        if self._spec is None:
            return "skipped", "nothing to plan for"
        assert self._base, "a specification follows a look at the base"
        try:
            return await self._planned(self._spec, self._base)
        except ActivityError as error:
            return self._unknown(outside_error(error))

    async def _planned(self, spec: Specification, base: Trees) -> tuple[NodeStatus, str]:
        if missing := await self._environment.make_ready_late(base.frozen):
            return self._unknown(missing)
        linting = Linting(self._order, spec, self._runs, base, self._found.empty)
        first = await self._ask(self._input("strategist", specification=self._digest))
        if first.outcome != "answered" or first.plan is None:
            return self._without(_why_not("strategist", first))
        linted = await linting.of(first.plan.checks)
        if isinstance(linted, Unavailable):
            return self._unknown(linted)
        counting, rejected, why = linted.counting, linted.rejected, ""
        if rejected:
            self._returned = list(rejected)
            await self._tell(rejected, dropped=False)
            second = await self._ask(self._again(rejected))
            if second.outcome != "answered" or second.plan is None:
                why = _why_not("strategist", second)
            else:
                linted = await linting.of(_replacing(second.plan, rejected))
                if isinstance(linted, Unavailable):
                    return self._unknown(linted)
                counting = (*counting, *linted.counting)
                rejected = _still(rejected, second.plan, linted.rejected)
            await self._tell(rejected, dropped=True)
        return await self._drafted(spec, counting, rejected, why)

    async def _drafted(
        self, spec: Specification, counting: tuple[DraftedCheck, ...], dropped: tuple[Rejected, ...], why: str
    ) -> tuple[NodeStatus, str]:
        """The record of it, which the next attempt finds if it has checks and everybody was heard."""
        self.record = self._made(
            DraftRecord(
                specification=self._digest,
                summary=spec.summary,
                criteria=joining(spec, counting),
                dropped=dropped,
                uncovered=uncovered(spec, (check.id for check in counting)),
                why=why,
            )
        )
        whole = self.record.model_copy(update={"passes": ()}) if counting and not why else None
        stored = await self._keep(DraftKept(key=self._key, specification=spec, checks=counting, record=whole))
        payload: dict[str, JsonValue] = {"tests": stored.checks, "count": len(counting)}
        await self._trail.record("tests_generated", actor_of(self._input("strategist")), payload)
        return "done", f"{len(counting)} of {len(spec.criteria)} criteria have a check, {len(dropped)} were dropped"

    async def _ask(self, asked: PassInput) -> PassResult:
        result = await self._passes.ask(asked)
        self._asked.append(result)
        return result

    async def _keep(self, kept: DraftKept) -> DraftStored:
        return await workflow.execute_activity_method(
            DraftActivities.keep, kept, summary="keep the draft", **options.ASSESS
        )

    async def _tell(self, rejected: tuple[Rejected, ...], *, dropped: bool) -> None:
        for one in rejected:
            await self._trail.record("check_rejected", HARNESS, {**one.model_dump(mode="json"), "dropped": dropped})

    def _input(self, role: Role, specification: str = "") -> PassInput:
        """A pass that is given the order and the base."""
        assert self._base, "the base was looked at"
        return PassInput(
            round=self._round,
            frozen=self._base.frozen,
            scope=self._base.scope,
            results=(),
            role=role,
            stage="design" if role == "designer" else "strategy",
            specification=specification,
            limit=self._passes.left,
        )

    def _again(self, rejected: tuple[Rejected, ...]) -> PassInput:
        """The strategist's second pass: a conversation of its own, about what was rejected alone."""
        asked = self._input("strategist", specification=self._digest)
        return asked.model_copy(update={"part": 1, "rejected": rejected})

    @property
    def _binding(self) -> bool:
        return not self._round.content_authored

    def _made(self, record: DraftRecord) -> DraftRecord:
        """With what every draft has, whatever it came to."""
        lean = tuple(one.model_copy(update={"specification": None, "plan": None}) for one in self._asked)
        return record.model_copy(
            update={
                "passes": lean,  # what they said is in the blobs that they name, and a message has a limit
                "returned": tuple(self._returned),
                "binding": self._binding,
                "seconds": sum(one.seconds for one in self._asked),
            }
        )

    def _without(self, why: str) -> tuple[NodeStatus, str]:
        """Nothing is drafted: the round decides by what the order has."""
        self.record = self._made(DraftRecord(why=why))
        return "skipped", why

    def _unknown(self, why: Unavailable) -> tuple[NodeStatus, str]:
        """Nothing is drafted, and nothing dropped: the round is tried again."""
        self.record = self._made(DraftRecord(why=str(why), unknown=True))
        return "could_not_run", why.reason


def _base_alone(frozen: Frozen, nothing: str) -> Frozen:
    """The base as if it were handed in: no digest of the work's is in it. `nothing` names an empty list."""
    return Frozen(
        head=frozen.base,
        base=frozen.base,
        head_files=frozen.base_files,
        head_bytes=0,
        base_files=frozen.base_files,
        dropped=nothing,
        secrets_in_base=frozen.secrets_in_base,
        order_files=frozen.order_files,
    )


def _why_not(role: Role, result: PassResult) -> str:
    if result.outcome == "not_configured":
        return f"no model is configured for the {role}"
    return f"the {role} has no answer: {result.why or result.outcome.replace('_', ' ')}"


def _replacing(plan: TestPlan, rejected: tuple[Rejected, ...]) -> list[DraftedCheck]:
    """What a second plan has instead of rejected checks; the others stand as they are."""
    wanted = {one.criterion for one in rejected}
    return [check for check in plan.checks if check.id in wanted]


def _still(rejected: tuple[Rejected, ...], plan: TestPlan, again: tuple[Rejected, ...]) -> tuple[Rejected, ...]:
    """What is dropped: what was rejected again, and what nothing stands for, not even that it cannot be tested."""
    answered = {check.id for check in plan.checks} | {one.criterion for one in plan.untestable}
    return (*(one for one in rejected if one.criterion not in answered), *again)
