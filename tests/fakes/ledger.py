"""A ledger in memory: the same rules and the same errors as the one in a database."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Literal

from domain.errors import Unavailable
from domain.roles.caps import Used, refusal
from domain.roles.spending import CapRefusal, CapsInMicros, Reservation, Settled, Spent


@dataclass(frozen=True)
class Line:
    """A request as it was reserved, and what became of it; `micros` is what it counts."""

    wanted: Reservation
    state: Literal["open", "lost", "settled"]
    micros: int
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def is_free(self) -> bool:
        return self.state == "settled" and not (self.micros or self.input_tokens or self.output_tokens)


@dataclass
class Book:
    """What outlives the ledger's object, as a table would. While `trouble` is set, everything raises it."""

    lines: list[Line] = field(default_factory=list)
    trouble: Unavailable | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


class MemoryLedger:
    """`domain.ports.Ledger` in a list."""

    def __init__(self, book: Book | None = None) -> None:
        self.book = book or Book()

    def reserve(self, wanted: Reservation, caps: CapsInMicros) -> CapRefusal | None:
        _demand_amounts(wanted.micros)
        with self._turn() as lines:
            place = self._newest(wanted.key)
            if place is not None and lines[place].state == "settled" and not lines[place].is_free:
                return None
            if place is not None and lines[place].state == "open":
                lines[place] = replace(lines[place], state="lost")
            refused = refusal(wanted, caps, self._used(wanted))
            if refused is None:
                lines.append(Line(wanted, "open", wanted.micros))
            return refused

    def settle(self, settled: Settled) -> None:
        _demand_amounts(settled.micros, settled.input_tokens, settled.output_tokens)
        with self._turn() as lines:
            place = self._newest(settled.key)
            if place is not None and lines[place].state != "settled":
                amounts = settled.model_dump(exclude={"key"})
                lines[place] = replace(lines[place], state="settled", **amounts)

    def spent(self, session: str, todo: str = "", attempt: int = 0, role: str = "") -> Spent:
        with self._turn():
            lines = self._of(session, todo, attempt, role)
        return Spent(
            requests=len(lines),
            input_tokens=sum(line.input_tokens for line in lines),
            output_tokens=sum(line.output_tokens for line in lines),
            micros=sum(line.micros for line in lines if line.state == "settled"),
            lost=sum(line.micros for line in lines if line.state != "settled"),
        )

    @contextmanager
    def _turn(self) -> Iterator[list[Line]]:
        """One at a time, and nobody while there is trouble."""
        if self.book.trouble:
            raise self.book.trouble
        with self.book.lock:
            yield self.book.lines

    def _newest(self, key: str) -> int | None:
        return max((place for place, line in enumerate(self.book.lines) if line.wanted.key == key), default=None)

    def _used(self, wanted: Reservation) -> Used:
        session = [line for line in self.book.lines if line.wanted.session == wanted.session]
        todo = [line for line in session if line.wanted.todo == wanted.todo]
        own = (wanted.attempt, wanted.role)
        return Used(
            role=sum(line.micros for line in todo if (line.wanted.attempt, line.wanted.role) == own),
            todo=sum(line.micros for line in todo),
            session=sum(line.micros for line in session),
        )

    def _of(self, session: str, todo: str, attempt: int, role: str) -> list[Line]:
        return [
            line
            for line in self.book.lines
            if line.wanted.session == session
            and todo in ("", line.wanted.todo)
            and attempt in (0, line.wanted.attempt)
            and role in ("", line.wanted.role)
        ]


def _demand_amounts(*amounts: int) -> None:
    if min(amounts) < 0:
        raise ValueError(f"an amount is negative: {amounts}")
