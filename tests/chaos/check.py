"""What must be true after any number of faults. Everything that is not becomes one line; nothing is repaired."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import psutil
from docker import APIClient
from temporalio.client import WorkflowExecutionStatus

from adapters.config.settings import Settings
from adapters.evidence.folder import FolderStore
from domain.base import sha256_hex
from domain.checks import items_of
from domain.decision import RoundOutcome
from domain.errors import Unavailable
from domain.events import TrailRow
from domain.order import Order
from domain.read_model import differences, fold
from domain.report import Report
from entrypoints.client import connect
from entrypoints.host_state import ensure_up
from entrypoints.names import AT_WORK
from entrypoints.stores import build_trail
from tests.chaos.rounds import Answer, kind_of

SETTLED_SECONDS = 240.0
ANSWERED = timedelta(seconds=120)
"""How long the server, or the test itself, may stand still in the middle of a question."""

ENDED_SECONDS = 60.0
"""How long after `down` a process may be there: to die takes a moment."""

OWNER = "countersign.owner"

Key = tuple[str, int]
"""A round: its todo and attempt."""


async def settled(settings: Settings) -> dict[Key, str]:
    """How each round that the server knows of ended, once none is open any more, whoever started it."""
    state = await ensure_up(settings)
    client = await connect(settings, state.address)
    async with asyncio.timeout(SETTLED_SECONDS):
        while (await client.count_workflows(AT_WORK, rpc_timeout=ANSWERED)).count:  # noqa: ASYNC110 - the server has no event
            await asyncio.sleep(0.3)
    return {
        _key(found.id): WorkflowExecutionStatus(found.status).name if found.status else "?"
        async for found in client.list_workflows()
    }


def _key(workflow_id: str) -> Key:
    _, _, todo, attempt = workflow_id.split("/")
    return todo, int(attempt)


def problems_of_rounds(
    ended: Mapping[Key, str], rows: Sequence[TrailRow], answers: Iterable[Answer], orders: Mapping[str, Order]
) -> Iterator[str]:
    """Rounds that are not in the trail exactly once, with all that they did and the verdict that they had to have."""
    by_round: dict[Key, list[TrailRow]] = {}
    for row in rows:
        by_round.setdefault((row.todo_id, row.attempt), []).append(row)
    for key in sorted({*ended, *by_round}):
        if ended.get(key) != "COMPLETED":
            yield f"{key}: its workflow is {ended.get(key, 'not known to the server')}"
        yield from (f"{key}: {what}" for what in _problems_of_one(key, by_round.get(key, []), orders[key[0]]))
    outcomes = {key: row.payload["outcome"] for key, found in by_round.items() for row in _closing(found)}
    seen: Counter[Key] = Counter()
    for answer in answers:
        if answer.acknowledged:
            key = (answer.todo, answer.attempt)
            seen[key] += 1
            if outcomes.get(key) != answer.outcome or answer.code != kind_of(answer.todo).code:
                yield f"{key}: a client was told {answer.outcome} ({answer.code}), the trail has {outcomes.get(key)}"
    yield from (f"{key}: told to {count} clients" for key, count in seen.items() if count > 1)


def _problems_of_one(key: Key, rows: Sequence[TrailRow], order: Order) -> Iterator[str]:
    counts: Counter[tuple[str, str]] = Counter((row.action, str(row.payload.get("check", ""))) for row in rows)
    expected = {("verification_started", ""), ("audit_completed", "")}
    for item in items_of(order):
        expected |= {("check_started", item.id), ("check_completed", item.id)}
    for event in sorted(expected | set(counts)):
        if counts[event] != 1:
            yield f"{counts[event]} times {event[0]} {event[1]}".strip()
    for row in _closing(rows):
        wanted = kind_of(key[0]).outcome
        if row.payload["outcome"] not in (wanted, RoundOutcome.INCONCLUSIVE):
            yield f"its outcome is {row.payload['outcome']}, not {wanted}"


def _closing(rows: Iterable[TrailRow]) -> list[TrailRow]:
    return [row for row in rows if row.action == "audit_completed"]


def inconclusive(rows: Iterable[TrailRow]) -> list[Key]:
    """The rounds that came to no verdict: never wrong, and to be told apart from those that did."""
    return [(r.todo_id, r.attempt) for r in _closing(rows) if r.payload["outcome"] == RoundOutcome.INCONCLUSIVE]


def problems_of_stores(settings: Settings) -> Iterator[str]:
    """Faults of trail, read model, evidence and, where they are files of SQLite, of the databases themselves."""
    trail = build_trail(settings)
    try:
        found = trail.verify()
        yield from (f"trail {fault.session}/{fault.sequence}: {fault.what}" for fault in found.faults)
        yield from (f"trail {session}: tail unproven" for session in found.unproven)
        rows = list(trail.rows())
        yield from (f"read model: {found}" for found in differences(trail.state(), fold(rows)))
    finally:
        trail.close()
    yield from _problems_of_reports(rows, FolderStore(settings.evidence_dir))
    for blob in settings.evidence_dir.glob("blobs/??/*"):
        if sha256_hex(blob.read_bytes()) != blob.name:
            yield f"{blob} is not what its name says"
    for database in settings.state_dir.glob("*.db"):
        with closing(sqlite3.connect(database)) as connection:
            said = connection.execute("PRAGMA integrity_check").fetchall()
        if said != [("ok",)]:
            yield f"{database.name}: {said[:3]}"


def _problems_of_reports(rows: Iterable[TrailRow], store: FolderStore) -> Iterator[str]:
    """What a closing row says must be what the blobs that it names say."""
    for row in _closing(rows):
        where = f"{row.todo_id}/{row.attempt}"
        try:
            report = Report.model_validate_json(store.get(str(row.payload["report"])))
            store.get(str(row.payload["record"]))
        except Unavailable as error:
            yield f"{where}: {error}"
            continue
        told = (report.work_order_id, report.attempt, report.verdict, report.outcome)
        if told != (row.todo_id, row.attempt, row.payload["result"], row.payload["outcome"]):
            yield f"{where}: its report says {told}"


def leftovers(engine: APIClient, settings: Settings, mark: str) -> Iterator[str]:
    """What is there though it should not, once no host runs. `mark`: a variable that all our processes have."""
    ours = {"label": f"{OWNER}={settings.state_dir}"}
    yield from (f"container {found['Names']}" for found in engine.containers(all=True, filters=ours))
    yield from (f"volume {found['Name']}" for found in engine.volumes(filters=ours)["Volumes"] or ())
    yield from (f"network {found['Name']}" for found in engine.networks(filters=ours))
    deadline = time.monotonic() + ENDED_SECONDS
    while (found := processes(mark)) and time.monotonic() < deadline:
        time.sleep(0.1)
    yield from (f"process {one}" for one in found)
    yield from (f"temporary file {path}" for path in temporary_files(settings))


def temporary_files(settings: Settings) -> list[Path]:
    """What a writer that died in the middle left behind."""
    staged = settings.evidence_dir.glob("blobs/.staging/*")
    return sorted({*settings.state_dir.rglob("*.tmp"), *settings.evidence_dir.rglob("*.tmp"), *staged})


def processes(mark: str) -> list[str]:
    """Every process that was started with the variable `mark`, by number and command."""
    found = []
    for process in psutil.process_iter():
        try:
            if mark in process.environ() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(f"{process.pid} {' '.join(process.cmdline())[:120]}")
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found
