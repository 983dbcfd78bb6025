"""What crosses a process boundary: one frozen input and one result for each workflow and activity, only added to."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from domain.base import Message
from domain.checks import CheckResult, Item
from domain.decision import Decision
from domain.events import Actor, TrailEntry
from domain.order import Base, Order, Resources, Scope
from domain.scope import Violation
from domain.tree import Change, Dropped

SHOWN = 50
"""Paths of each kind that travel in a message; the blob named beside them has them all."""


class RoundInput(Message):
    """One round: `order` with absolute paths, `host` where the workspace is, `store` the trail the caller reads.

    `order_file` is where the caller read the order, an absolute path; empty when it was stored.
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

    @property
    def workflow_id(self) -> str:
        """`round/SESSION/TODO/ATTEMPT`, CONTRACT "For Temporal's own CLI"."""
        return f"round/{self.session}/{self.todo}/{self.attempt}"


class AppendInput(Message):
    """One event for the trail; `store` is the id of the trail that it is meant for, or empty for any."""

    entry: TrailEntry
    store: str = ""


class FreezeInput(Message):
    """What to freeze: a workspace and its base (absolute paths), and the gitignore patterns of what is looked at.

    `commits`: whether the workspace's repository is asked for its commits since the base. `secrets` are names of
    variables, whose values no change may have in it.
    """

    round: str
    workspace: str
    base: Base
    include: tuple[str, ...] = ("**",)
    commits: bool = False
    secrets: tuple[str, ...] = ()


class Leak(Message):
    """A file whose name or content has a secret in it: its path, and what the secret is called."""

    path: str
    secret: str


class Frozen(Message):
    """Two stored manifests by digest, the blob that lists what was found and not taken, and that of the commits.

    `secrets_in_base`: the first files of the base that have a secret in them.
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


class ScopeInput(Message):
    """The frozen trees, by digest, the order's scope, and the inputs of its set-up."""

    frozen: Frozen
    scope: Scope
    inputs: tuple[str, ...] = ()


class ScopeResult(Message):
    """The trusted tree, by digest, and what became of the worker's changes; lists are cut at `SHOWN`, totals are whole.

    `report` and `diff` name the blobs with everything: a `ScopeReport` and a unified diff from base to trusted tree.
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


class PrepareInput(Message):
    """The image that an order names."""

    image: str


class Image(Message):
    """An image that is there: `id` is the engine's digest, which checks run on; `reference` is for people."""

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
    """One item to run in one round, on the tree `tree` (a manifest's digest). `image` is the engine's id."""

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


class ReleaseInput(Message):
    """The round whose seal may go."""

    round: str


NodeStatus = Literal["waiting", "running", "passed", "failed", "could_not_run", "done"]


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

    `refused` and `unknown`: why there is no tree to speak of, as `domain.decision.Facts` has them.
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


class FiledReport(Message):
    """What was stored of a round, by digest: its report, its record, and what the next attempt is told, if it is.

    `failures`: how many things the next attempt is told to mend.
    """

    report: str
    record: str = ""
    retry_context: str = ""
    failures: int = 0


class RoundResult(Message):
    """What a round answers: the decision, and the digest of the report that explains it."""

    decision: Decision
    report: str
