"""What goes wrong, when and to whom: all of it follows from a seed."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Literal, Protocol

import psutil
import psycopg

from entrypoints.host_state import Files
from tests.chaos.disk import Disk
from tests.postgres import Cluster

Victim = Literal["worker", "host", "server", "database", "client", "disk"]
PROCESSES: tuple[Victim, ...] = ("worker", "host", "server", "database")
PATIENCE_SECONDS = 240.0
FULL = (0.3, 2.0, 6.0, 15.0)
"""Seconds."""


@dataclass(frozen=True)
class Fault:
    """`delay` seconds after the `after`-th round has begun the victim is killed.

    A database is away, and a disk is full, for `absence` seconds.
    """

    after: int
    delay: float
    victim: Victim
    absence: float = 0.0


def schedule(chance: random.Random, rounds: int, kills: int, victims: Sequence[Victim] = PROCESSES) -> list[Fault]:
    """`kills` faults over `rounds` rounds, every victim as often as the others, and beside them clients killed."""
    chosen: list[Victim] = [victims[number % len(victims)] for number in range(kills)]
    chosen += ["client"] * max(1, kills // 8)
    faults = [
        Fault(
            after=chance.randint(1, rounds),
            delay=round(chance.uniform(0.0, 3.0), 2),
            victim=victim,
            absence=round(chance.uniform(0.2, 8.0), 2) if victim == "database" else 0.0,
        )
        for victim in chosen
    ]
    return sorted(faults, key=lambda fault: fault.after)


def full_disks(chance: random.Random, rounds: int, times: int) -> list[Fault]:
    """A disk that is full `times` times over `rounds` rounds, for moments and for longer than any retry takes."""
    faults = [
        Fault(chance.randint(1, rounds), round(chance.uniform(0.0, 2.0), 2), "disk", round(chance.choice(FULL), 2))
        for _ in range(times)
    ]
    return sorted(faults, key=lambda fault: fault.after)


class Watched(Protocol):
    """Clients at work: how far they are, and whether they are through."""

    ended: Event

    @property
    def begun(self) -> int:
        """How many rounds or commands there were so far."""
        ...

    def kill_one(self, chance: random.Random) -> int | None:
        """Kill -9 one of them; its process id, None when none runs."""
        ...


@dataclass
class Killer:
    """Carries a schedule out. `done`: one line a fault, in the order in which they happened; `at`: when each was over.

    `at` is in monotonic seconds, with the victim.
    """

    state_dir: Path
    clients: Watched
    faults: Sequence[Fault]
    chance: random.Random
    cluster: Cluster | None = None
    disk: Disk | None = None
    done: list[str] = field(default_factory=list)
    missed: list[Fault] = field(default_factory=list)
    at: list[tuple[float, Victim]] = field(default_factory=list)

    def run(self) -> None:
        """Every fault at its moment. One whose victim is not there waits for it as long as clients run."""
        started = time.monotonic()
        for fault in self.faults:
            while self.clients.begun < fault.after and not self.clients.ended.is_set():
                time.sleep(0.02)
            time.sleep(fault.delay)
            killed = self._do(fault)
            when = f"{time.monotonic() - started:7.2f} s"
            if killed is None:
                self.missed.append(fault)
            else:
                self.at.append((time.monotonic(), fault.victim))
            self.done.append(f"{when}  after {fault.after:3}  {fault.victim} {killed or 'was not there'}")

    def _do(self, fault: Fault) -> int | None:
        if fault.victim == "client":
            return self.clients.kill_one(self.chance)
        if fault.victim == "database":
            return self._kill_database(fault.absence)
        if fault.victim == "disk":
            return self._fill_disk(fault.absence)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            victim = self._find(fault.victim)
            if victim is not None:
                victim.kill()
                return victim.pid
            if self.clients.ended.is_set():
                return None
            time.sleep(0.05)
        return None

    def _kill_database(self, absence: float) -> int:
        assert self.cluster is not None, "no database server to kill"
        victim = self.cluster.pid
        self.cluster.kill()
        time.sleep(absence)
        self.cluster.start()
        return victim

    def _fill_disk(self, absence: float) -> int:
        """How many bytes were taken."""
        assert self.disk is not None, "no disk to fill"
        free = self.disk.free
        end = time.monotonic() + absence
        self.disk.fill()
        if self.cluster is not None:
            with suppress(psycopg.Error):  # what it had set aside for its log is used up: now it needs room
                self.cluster.execute("SELECT pg_switch_wal()")
        while time.monotonic() < end:
            self.disk.fill()  # again and again: what others remove is room, too
            time.sleep(0.1)
        self.disk.clear()
        if self.cluster is not None:
            _revive(self.cluster)
        return free

    def _find(self, victim: Victim) -> psutil.Process | None:
        """The process that `host.json` names, if it lives."""
        state = Files(self.state_dir).read()
        named = {"worker": state.worker, "host": state.host, "server": state.server}[victim] if state else None
        return named.find() if named else None


def _revive(cluster: Cluster) -> None:
    """What an administrator does after a full disk: start the database again if it has given up."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with suppress(psycopg.Error):
            cluster.execute("SELECT 1")
            return
        time.sleep(0.2)
    cluster.kill()
    cluster.start()
