"""What activities need from the outside, as protocols; `adapters/` implements each, a contract suite tests it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from pydantic import JsonValue

from domain.base import Message
from domain.brief import Brief
from domain.checks import BaseOutcome, Item, Observation, Outcome
from domain.events import EVERYTHING, RowFilter, TrailCheck, TrailEntry, TrailRef, TrailRow
from domain.fix_messages import Applied, ApplyInput
from domain.life import TodoInput, WorkInput, WorkResult
from domain.messages import (
    FreezeInput,
    Frozen,
    FrozenBase,
    Image,
    ProbeInput,
    ScopeInput,
    ScopeResult,
    SetupInput,
)
from domain.notifications import Delivery, Whom, WhomInput
from domain.order import Resources
from domain.probes import ProbeTrees
from domain.read_model import TABLES, Difference, State, Table
from domain.roles.passes import PassInput
from domain.roles.results import PassResult
from domain.roles.spending import CapRefusal, CapsInMicros, Reservation, Settled, Spent
from domain.scrutiny import ControlSeen, Counts, Expectation
from domain.signatures import SignatureCheck, Signed, Signers
from domain.todo import Gate

Progress = Callable[[str], None]
"""Called now and then by something long with what it is doing; cheap, and callable from any thread."""


class Trail(Protocol):
    """The append-only record. Raises `Unavailable` (store_unavailable, disk_full) when it cannot be written or read."""

    def store_id(self) -> str:
        """The id of this store, made when it was: two processes with the same id share a trail."""
        ...

    def append(self, entry: TrailEntry) -> TrailRef:
        """Store `entry` once. Again with the same body it answers with the stored row; with another: ValueError."""
        ...

    def rows(self, wanted: RowFilter = EVERYTHING) -> Iterator[TrailRow]:
        """The rows that match, by session and sequence."""
        ...

    def last_attempt(self, session: str, todo: str) -> int:
        """The highest attempt that the trail knows of, 0 for none."""
        ...

    def verify(self) -> TrailCheck:
        """Check every chain, and every session's end against the heads kept outside the database."""
        ...

    def state(self, session: str | None = None, todo: str | None = None, tables: Collection[Table] = TABLES) -> State:
        """The read model as the appends left it, of one session or todo if named; the rows are not looked at.

        Of `tables` that are not named nothing is read, and nothing is in it.
        """
        ...

    def rebuild(self, repair: bool = True) -> tuple[Difference, ...]:
        """Derive the read model from the rows; what was otherwise. With `repair` the stored one is replaced by it."""
        ...


class Bulk(Protocol):
    """Many blobs that are stored together. Raises `Unavailable` (store_unavailable, disk_full)."""

    def add(self, chunks: Iterable[bytes]) -> str:
        """Take one blob, given in pieces of which only a few are held, and answer with its digest."""
        ...


class EvidenceStore(Protocol):
    """Blobs by their SHA-256, and the folder that people see. Raises `Unavailable` (store_unavailable, disk_full)."""

    def put(self, data: bytes) -> str:
        """Store `data`, once, and answer with its digest."""
        ...

    def get(self, digest: str) -> bytes:
        """The blob; its digest is checked. Raises `Unavailable` (store_unavailable) when there is none."""
        ...

    def has(self, digest: str) -> bool:
        """Whether the blob is there."""
        ...

    def remember(self, key: str, data: bytes) -> None:
        """Keep `data` under `key`, a digest of everything that it follows from: a cache that is shared and durable."""
        ...

    def recall(self, key: str) -> bytes | None:
        """What was last remembered under `key`, None when nothing was or it is damaged."""
        ...

    def bulk(self) -> AbstractContextManager[Bulk]:
        """For a whole snapshot: its blobs are stored when the block ends, none of them when it ends in an error."""
        ...

    def place(self, session: str, todo: str, attempt: int, name: str, data: bytes) -> None:
        """Write a file of the folder `evidence/SESSION/TODO/ATTEMPT/`; `name` may have folders of its own."""
        ...

    def placed(self, session: str, todo: str, attempt: int, name: str) -> bytes | None:
        """What is in a file of that folder now, whoever wrote it; None when there is none."""
        ...

    def place_of(self, session: str, todo: str, attempt: int) -> str:
        """Where people find that folder: a path, or a URL."""
        ...


class Snapshots(Protocol):
    """Freezes trees and tells what changed. `freeze` raises `WorkspaceRefused`, all raise `Unavailable`."""

    def freeze_base(self, request: FreezeInput, progress: Progress) -> FrozenBase:
        """Copy the base and the files beside the order into the store, to be `FreezeInput.frozen_base` later."""
        ...

    def freeze(self, request: FreezeInput, progress: Progress) -> Frozen:
        """Copy workspace and base into the store, by path, running nothing of theirs.

        With a frozen base nothing that was frozen with it is read again.
        """
        ...

    def assess(self, request: ScopeInput) -> ScopeResult:
        """The trusted tree and what became of each change."""
        ...

    def probe(self, request: ProbeInput) -> ProbeTrees:
        """The trees on which a required check has to fail, if the checks test the change."""
        ...

    def patch(self, from_head: str, to_head: str) -> str:
        """The digest of a unified diff from one tree to another, manifests by digest, as `patch -p1` takes it."""
        ...

    def apply(self, request: ApplyInput, progress: Progress) -> Applied:
        """Write a repair into the workspace, unless that has changed since; again, it finds it written."""
        ...


class RunRequest(Message):
    """One command in one container over a sealed tree. `key` is the same for the same item of the same round.

    `image` is this engine's id, from `prepare`, `setup` or `ready`. `build` runs first, in the tree's root; what it
    prints is shown only when it fails, and what it leaves is bound by `build_rules`: a blob with
    `domain.builds.BuildRules`, the strict ones where that is empty. `timeout` in seconds bounds build and command
    together. `stdin` is what the command reads.
    """

    key: str
    round: str
    tree: str
    image: str
    command: str
    cwd: str = "."
    env: dict[str, str] = {}
    build: tuple[str, ...] = ()
    build_rules: str = ""
    stdin: str = ""
    timeout: float
    resources: Resources


class ProbeRequest(Message):
    """A trusted command, on an image of ours and without any tree, beside what is served: it has the same network."""

    image: str
    command: str
    env: dict[str, str] = {}


class Served(Message):
    """What was seen of a probe, and of the command that served it, which is killed once the probe has ended.

    `server.exit_code` means something only when `ended`: the command ended before the probe did.
    """

    probe: Observation
    server: Observation
    ended: bool = False


class Sandbox(Protocol):
    """Runs commands in containers. Everything raises `Unavailable` when it could not tell."""

    async def prepare(self, image: str, progress: Progress) -> Image:
        """Make the image available: found, built from sandbox_images/, or pulled."""
        ...

    async def setup(self, request: SetupInput, progress: Progress) -> Image:
        """The image with what the base's inputs ask for installed, from the cache or made now, with network.

        Raises `Unavailable` (setup_failed for commands that fail or inputs that the base does not have).
        """
        ...

    async def ready(self, image: Image, setup: SetupInput | None, progress: Progress) -> Image:
        """What `prepare`, then `setup`, made ready on some engine, as this one has it: made anew where it has not.

        Raises `Unavailable` as those two do.
        """
        ...

    async def run(self, request: RunRequest) -> Observation:
        """Run the command over the tree and say what was seen. Cancelled, it leaves no container behind."""
        ...

    async def serve(self, served: RunRequest, probe: ProbeRequest) -> Served:
        """Run both side by side until the probe ends or `served.timeout` has passed, whichever is first."""
        ...

    async def release(self, round: str) -> None:
        """Remove what the round left sealed. Doing it twice is no error."""
        ...

    async def reap(self) -> int:
        """Remove containers and volumes whose deadline has passed; how many."""
        ...


class Finding(Message):
    """What a checker came to for one item, before it is evidence. `seen` is everything it saw, to be stored.

    `base`: what the item came to on the base, where the checker had to know. The rest is as in `CheckResult`.
    """

    outcome: Outcome
    code: str
    text: str
    next_step: str = ""
    exit_code: int | None = None
    stdout: str = ""
    stderr: str = ""
    duration_ms: int = 0
    out_of_process: bool = False
    seen: dict[str, JsonValue] = {}
    base: BaseOutcome | None = None
    tests: Counts | None = None
    control: ControlSeen | None = None
    expectation: Expectation | None = None
    seed: int | None = None


class CheckContext(Message):
    """Where an item is checked: on the trusted tree, or on the base. Trees and `commits` are digests of blobs.

    `probe_image` is what `http_response` asks from; `commits` names what was read of the workspace's repository.
    `base` is what a checker may run beside `tree`: empty where `tree` is the base. `trusted` names the JSON array of
    the tree's tests that the worker did not write, `order_files` the manifest of the files beside the order.
    `build_rules` is as in `RunRequest`, `doctests` as in `ScopeResult`. `controls`: whether the check itself is
    examined, too. `run` counts from 0 how often it was run before.
    """

    round: str
    tree: str
    image: str
    resources: Resources
    build: tuple[str, ...] = ()
    probe_image: str = ""
    commits: str = ""
    base: str = ""
    trusted: str = ""
    build_rules: str = ""
    doctests: str = ""
    order_files: str = ""
    controls: bool = True
    run: int = 0


class Checker(Protocol):
    """Checks one type of criterion. Raises `Unavailable` when it could not tell."""

    type: str

    async def check(self, item: Item, context: CheckContext) -> Finding:
        """What became of `item`, whose criterion is of this checker's type."""
        ...


class Todos(Protocol):
    """Todos as workflows of their own. Raises `Unavailable` (server_unavailable)."""

    async def start(self, todo: TodoInput) -> bool:
        """Start the todo's workflow; False where it runs or ran already."""
        ...

    async def tell(self, session: str, todo: str, gate: Gate) -> None:
        """Send the session's word. A todo whose workflow has ended is left alone."""
        ...


class Roles(Protocol):
    """Roles that language models play. Raises `Unavailable` (store_unavailable, disk_full) for what is ours."""

    async def run(self, request: PassInput, progress: Progress, used: float) -> PassResult:
        """One pass. `used`: seconds of `request.limit` that earlier tries of it have taken.

        What a model or its provider does wrong is a result, never an error. Run again, it sends no request twice.
        """
        ...


class Ledger(Protocol):
    """What requests to models cost, before and after. Raises `Unavailable` (store_unavailable, disk_full)."""

    def reserve(self, wanted: Reservation, caps: CapsInMicros) -> CapRefusal | None:
        """Reserve an estimate, or say which cap it would pass. A key that was settled and charged reserves nothing.

        One that was settled at nothing, since its provider refused it, is reserved anew.

        A key that is reserved and not settled belongs to a request that was lost: its estimate stays counted, and
        `wanted` is reserved beside it.
        """
        ...

    def settle(self, settled: Settled) -> None:
        """What the request came to, in place of its estimate. Twice is once."""
        ...

    def spent(self, session: str, todo: str = "", attempt: int = 0, role: str = "") -> Spent:
        """The sum over a session, or of it a todo, a round, a role; what is open counts by its estimate as `lost`."""
        ...


class Workers(Protocol):
    """Runs worker commands where the workspace is.

    Raises `Unavailable` (disk_full, store_unavailable, workspace_unreadable).
    """

    async def run(self, request: WorkInput, brief: Brief, progress: Progress) -> WorkResult:
        """Run the command to its end, once for its drive; lost by a worker that died, it is run again, `resumed`.

        Cancelled, it leaves no process behind. `brief.resumed` and its paths are the adapter's to fill in.
        """
        ...


class Notifier(Protocol):
    """Tells people and machines outside that a todo waits. What it sends has no secret in it."""

    def whom(self, request: WhomInput) -> Whom:
        """Who is told of this, by the configuration as it is here."""
        ...

    async def send(self, delivery: Delivery) -> None:
        """Send it to its address, once, and return when that has taken it.

        Raises `Unavailable`: service_unavailable where it was not taken, in less than a minute; not_allowed where there
        is no such address any more.
        """
        ...


class Signatures(Protocol):
    """Says whose a signature is. Raises `Unavailable` (system_error, service_unavailable) when it cannot tell."""

    def check(self, signed: Signed, signers: Signers, at: datetime, claimed: str = "") -> SignatureCheck:
        """Whose it is, of those who may sign by `signers`, at that time; `claimed` as in `SignatureInput`.

        Who may sign no more by what is configured now is refused, too.
        """
        ...
