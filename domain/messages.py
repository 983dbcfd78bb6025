"""What crosses a process boundary: one frozen input and one result for each workflow and activity, only added to."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from domain.authority import Authority, Rejection
from domain.base import Message
from domain.checks import CheckResult, Item
from domain.claims.claim import Claim, Contradiction
from domain.claims.minted import MintedEvidence
from domain.confidence import Confidence
from domain.decision import Decision
from domain.drafts.record import DraftRecord
from domain.events import Actor, TrailEntry
from domain.order import Base, Order, Resources, Scope
from domain.probes import ProbeSeen
from domain.roles.results import AuditRecord, DisputeRecord
from domain.scope import Violation
from domain.tree import Change, Dropped

SHOWN = 50
"""Paths of each kind that travel in a message; the blob named beside them has them all."""


class AppendInput(Message):
    """One event for the trail; `store` is the id of the trail that it is meant for, or empty for any."""

    entry: TrailEntry
    store: str = ""


class FreezeInput(Message):
    """What to freeze: a workspace and its base (absolute paths), and the gitignore patterns of what is looked at.

    `commits`: whether the workspace's repository is asked for its commits since the base. `secrets` are names of
    variables, whose values no change may have in it. `order_files` are files or folders beside the order, which is in
    `order_folder`, an absolute path; `beside` has the SHA-256 of each of them by its path there, where a person pinned
    them: other files, or another content, are refused. `frozen_base` names the `rest` of a `FrozenBase`: then `base` is
    only asked for commits.
    """

    round: str
    workspace: str
    base: Base
    include: tuple[str, ...] = ("**",)
    commits: bool = False
    secrets: tuple[str, ...] = ()
    order_folder: str = ""
    order_files: tuple[str, ...] = ()
    frozen_base: str = ""
    beside: dict[str, str] = {}


class FrozenBase(Message):
    """A base as it was frozen when its todo started: its manifest, and the blob with what else freezing needs of it."""

    manifest: str
    rest: str
    files: int


class Leak(Message):
    """A file whose name or content has a secret in it: its path, and what the secret is called."""

    path: str
    secret: str


class Frozen(Message):
    """Two stored manifests by digest, the blob that lists what was found and not taken, and that of the commits.

    `secrets_in_base`: the first files of the base that have a secret in them. `order_files` names the manifest of the
    files beside the order, empty when it names none.
    """

    head: str
    base: str
    head_files: int
    head_bytes: int
    base_files: int
    dropped: str
    dropped_count: int = 0
    commits: str = ""
    secrets_in_base: tuple[Leak, ...] = ()
    order_files: str = ""


class RoundInput(Message):
    """One round: `order` with absolute paths, `host` where the workspace is, `store` the trail the caller reads.

    `order_file` is where the caller read the order, an absolute path; empty when it was stored. `claim` is what the
    worker says it did, None where nobody claimed; `brought` is the evidence for it, where that is stored already.
    `todo_workflow`: the todo whose round it is, which keeps its own standing; empty for one that stands alone.
    `frozen`: the trees that the claim is about, if they are frozen already. `inconclusive`: rounds of the same claim
    before it that learned nothing. `authored`: criteria that an agent wrote, which no gate is made of alone. `widen`:
    what the limits of checks and criteria are multiplied by. `content_authored`: an agent wrote the content, so what is
    drafted from it is no gate. `loop`: which iteration of the fix loop made the work, 0 for a worker's; then nobody
    answers questions, and `roles_used` seconds of the roles' time are gone already. `authority`: what else decides.
    `human_feedback`: what people asked for after earlier standalone rounds; `rejections`: what they sent back.
    `beside`: the files beside the order as they were pinned, as in `FreezeInput`.
    """

    session: str
    todo: str
    attempt: int
    order: Order
    order_digest: str
    host: str
    store: str = ""
    order_file: str = ""
    actor: Actor
    claim: Claim | None = None
    brought: tuple[MintedEvidence, ...] = ()
    todo_workflow: str = ""
    frozen: Frozen | None = None
    inconclusive: int = 0
    authored: frozenset[str] = frozenset()
    widen: float = 1.0
    content_authored: bool = False
    loop: int = 0
    roles_used: float = 0.0
    authority: Authority = Authority()
    human_feedback: str = ""
    rejections: tuple[Rejection, ...] = ()
    beside: dict[str, str] = {}

    @property
    def workflow_id(self) -> str:
        """`round/SESSION/TODO/ATTEMPT`, CONTRACT "For Temporal's own CLI"."""
        return f"round/{self.session}/{self.todo}/{self.attempt}"

    def rejection(self, frozen: Frozen | None) -> str:
        """That a person sent these trees back, in words; empty where nobody did."""
        same = (one for one in self.rejections if frozen and (one.head, one.base) == (frozen.head, frozen.base))
        return next((f"{one.by} sent this tree back in attempt {one.attempt}: {one.feedback}" for one in same), "")

    def drafted(self, draft: DraftRecord | None) -> RoundInput:
        """The same as if `order` had had from the start what was drafted for it."""
        if draft is None:
            return self
        update = {"order": draft.completed(self.order), "authored": self.authored | draft.no_gate}
        return self.model_copy(update=update)


class ScopeInput(Message):
    """The frozen trees, by digest, the order's scope, the inputs of its set-up, and its own tests (paths).

    `builds`: whether anything is built before the checks, after which the tree is put back. `scripts`: paths that its
    commands run as tests, protected where the base has them.
    """

    frozen: Frozen
    scope: Scope
    inputs: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    builds: bool = False
    scripts: tuple[str, ...] = ()


class ScopeResult(Message):
    """The trusted tree, by digest, and what became of the worker's changes; lists are cut at `SHOWN`, totals are whole.

    `report` and `diff` name the blobs with everything: a `ScopeReport` and a unified diff from base to trusted tree.
    `base` is the tree that stands for the base when something is run: with the order's own tests. `trusted` names the
    blob with the paths, a JSON array, of `tree` that are tests and that the worker did not write. `build_rules` names
    the blob with the `domain.builds.BuildRules` of both trees, `doctests` the one with what `domain.suite.doctests`
    goes by, a JSON object; empty where nothing is lost.
    """

    tree: str
    tree_bytes: int
    report: str
    diff: str
    changed: tuple[Change, ...] = ()
    changed_total: int = 0
    restored: tuple[str, ...] = ()
    restored_total: int = 0
    dropped: tuple[Dropped, ...] = ()
    dropped_total: int = 0
    violations: tuple[Violation, ...] = ()
    violations_total: int = 0
    lines_added: int = 0
    lines_removed: int = 0
    changed_inputs: tuple[str, ...] = ()
    base: str = ""
    trusted: str = ""
    build_rules: str = ""
    doctests: str = ""


class PrepareInput(Message):
    """The image that an order names."""

    image: str


class Image(Message):
    """An image that is there: `id` is the digest that one engine has it under, `reference` what any engine finds it by.

    Where an engine has neither, it makes the image from `reference`, and from what was set up on it.
    """

    reference: str
    id: str


class SetupInput(Message):
    """What to install on `image`: `setup` sees of the tree `base` (a manifest's digest) only `inputs`.

    `secrets` are names of variables, whose values only the process that runs the set-up has.
    """

    image: Image
    base: str
    setup: tuple[str, ...]
    inputs: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()


class CheckInput(Message):
    """One item to run in one round, on the tree `tree` (a manifest's digest). `image` is the id on the engine that made
    it ready; on another the check runs on what `reference`, and `set_up` if there was one, lead to (so `probe_image`).

    `base`, `trusted`, `build_rules`, `doctests` and `order_files` are as in `ScopeResult` and `Frozen`. A failure is
    run again `retries` times, and passes when one of them does and `flaky_passes`. `controls`: whether the check itself
    is examined, too. `run` tells runs of the same item on the same tree apart.
    """

    session: str
    todo: str
    attempt: int
    round: str
    item: Item
    tree: str
    image: str
    resources: Resources
    build: tuple[str, ...] = ()
    probe_image: str = ""
    commits: str = ""
    secrets: tuple[str, ...] = ()
    base: str = ""
    trusted: str = ""
    build_rules: str = ""
    doctests: str = ""
    order_files: str = ""
    retries: int = 0
    flaky_passes: bool = False
    controls: bool = True
    reference: str = ""
    set_up: SetupInput | None = None
    probe_reference: str = ""
    run: int = 0


class ProbeInput(Message):
    """Which trees the falsifiability probe needs: `how` as in the order; `seed` chooses what is mutated."""

    how: Literal["revert", "mutate"]
    frozen: Frozen
    scope: ScopeResult
    seed: int


class ClaimInput(Message):
    """A claim, and what the harness saw of the same round; `report` names the blob of the `ScopeReport`."""

    claim: Claim
    order: Order
    results: tuple[CheckResult, ...]
    report: str


class Contradictions(Message):
    """Where the claim says something else than was seen."""

    found: tuple[Contradiction, ...] = ()


class ReleaseInput(Message):
    """The round whose seal may go."""

    round: str


NodeStatus = Literal["waiting", "running", "passed", "failed", "could_not_run", "done", "skipped"]


class Step(Message):
    """One line of a round's progress: a node of the DAG, or an item that runs in one (`parent`)."""

    id: str
    parent: str = ""
    label: str = ""
    required: bool = True
    status: NodeStatus = "waiting"
    detail: str = ""
    started_at: datetime | None = None
    ended_at: datetime | None = None


class Progress(Message):
    """A round as it stands: what the `progress` query answers. `waits`: why all of it stands still, if it does."""

    steps: tuple[Step, ...] = ()
    waits: str = ""


class RoundRecord(Message):
    """Everything a round came to: what the report is made of, and what `domain.facts` takes the facts from.

    `refused` and `unknown`: why there is no tree to speak of, as `domain.decision.Facts` has them. `contradictions`:
    where the claim says something else than was seen. `audit`: the auditor's part, None where it was not asked; so
    `draft` and `dispute`, those of the designer and strategist, and of the advocate, critic and judge.
    """

    input: RoundInput
    started_at: datetime
    ended_at: datetime
    frozen: Frozen | None = None
    scope: ScopeResult | None = None
    image: Image | None = None
    results: tuple[CheckResult, ...] = ()
    refused: str = ""
    unknown: str = ""
    decision: Decision
    notices: tuple[str, ...] = ()
    head_sequence: int = 0
    head_hash: str = ""
    probe: ProbeSeen | None = None
    contradictions: tuple[Contradiction, ...] = ()
    audit: AuditRecord | None = None
    draft: DraftRecord | None = None
    dispute: DisputeRecord | None = None

    @property
    def order(self) -> Order:
        """The order with the criteria that the round drafted for it: what was checked, judged and decided by."""
        return self.effective.order

    @property
    def effective(self) -> RoundInput:
        """The round's input with that order, and with what of it is no gate."""
        return self.input.drafted(self.draft)

    @property
    def undrafted(self) -> str:
        """Why it could not be told what to check, as `domain.decision.Facts` has it."""
        return self.draft.undrafted if self.draft else ""


class FiledReport(Message):
    """What was stored of a round, by digest: its report, its record, and what the next attempt is told, if it is.

    `failures`: how many things the next attempt is told to mend.
    """

    report: str
    record: str = ""
    retry_context: str = ""
    failures: int = 0


class RoundResult(Message):
    """What a round answers: the decision, and the digest of the report that explains it.

    `retry_context` names the blob of what the next attempt is told, empty where there is none. `not_passed`: names of
    the required checks and criteria that did not pass, in order; `passed`: the work could be looked at, and there are
    none of those. `timed_out`: something ran out of its time. Where the order has the fix loop: `confidence`, `remarks`
    (of a round that is PARTIAL: what did not pass and need not), and `frozen` and `scope` where there is a tree to
    repair; `fix` is the id of the loop that a standalone round began.
    """

    decision: Decision
    report: str
    retry_context: str = ""
    not_passed: tuple[str, ...] = ()
    passed: bool = False
    timed_out: bool = False
    confidence: Confidence | None = None
    frozen: Frozen | None = None
    scope: ScopeResult | None = None
    fix: str = ""
    remarks: tuple[str, ...] = ()
