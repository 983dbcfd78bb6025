"""What every `domain.ports.Ledger` does: held against the ledger in either database and against the fake."""

from __future__ import annotations

import itertools
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any, Protocol

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.ledger import SqlLedger
from domain.errors import Cause, Unavailable
from domain.ports import Ledger
from domain.roles.spending import CapRefusal, CapsInMicros, Reservation, Settled, Spent
from tests.fakes.ledger import Book, MemoryLedger
from tests.postgres import Cluster

FREE = CapsInMicros()
SESSIONS = (f"session-{number}" for number in itertools.count(1))
"""Each test has one of its own, so that they share a database."""
DATABASES = itertools.count(1)


class Place(Protocol):
    """Somewhere a ledger can be opened, again and again."""

    def open(self) -> Ledger: ...

    def spoil(self) -> None: ...


class SqlPlace:
    def __init__(self, url: str, closing_later: ExitStack, execute: Callable[[str], object]) -> None:
        self.url, self.closing, self.execute = url, closing_later, execute

    def open(self) -> SqlLedger:
        ledger = SqlLedger(self.url, busy_timeout=120)
        self.closing.callback(ledger.close)
        return ledger

    def spoil(self) -> None:
        self.execute("DROP TABLE ledger")


class MemoryPlace:
    def __init__(self) -> None:
        self.book = Book()

    def open(self) -> MemoryLedger:
        return MemoryLedger(self.book)

    def spoil(self) -> None:
        self.book.trouble = Unavailable(Cause.STORE_UNAVAILABLE, "the memory is gone", "remember it")


def shared(kind: str, request: pytest.FixtureRequest, closing_later: ExitStack) -> SqlPlace:
    """A database that other processes can open, too."""
    if kind == "postgresql":
        cluster: Cluster = request.getfixturevalue("postgres_cluster")
        name = f"ledger_{next(DATABASES)}"
        url = cluster.create_database(name)
        closing_later.callback(cluster.drop_database, name)
        return SqlPlace(url, closing_later, lambda statement: cluster.execute(statement, name))
    path = request.getfixturevalue("tmp_path_factory").mktemp("ledger") / "trail.db"

    def execute(statement: str) -> None:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(statement)

    return SqlPlace(f"sqlite:///{path}", closing_later, execute)


@pytest.fixture(scope="module", params=["sqlite", "postgresql", "memory"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    with ExitStack() as closing_later:
        yield MemoryPlace() if request.param == "memory" else shared(request.param, request, closing_later)


@pytest.fixture(scope="module")
def ledger(place: Place) -> Ledger:
    return place.open()


@pytest.fixture
def session() -> str:
    return next(SESSIONS)


def wanted(session: str, key: str = "k", micros: int = 100, **fields: Any) -> Reservation:
    usual: dict[str, Any] = {"todo": "t", "attempt": 1, "role": "auditor", "model": "m", **fields}
    return Reservation(key=f"{session}/{key}", session=session, micros=micros, **usual)


def settled(session: str, key: str = "k", micros: int = 60, tokens: tuple[int, int] = (7, 5)) -> Settled:
    return Settled(key=f"{session}/{key}", micros=micros, input_tokens=tokens[0], output_tokens=tokens[1])


def used(spent: Spent) -> int:
    return spent.micros + spent.lost


def test_an_estimate_counts_until_it_is_settled(ledger: Ledger, session: str) -> None:
    assert ledger.spent(session) == Spent()
    assert ledger.reserve(wanted(session), FREE) is None
    assert ledger.spent(session) == Spent(requests=1, lost=100)
    ledger.settle(settled(session))
    assert ledger.spent(session) == Spent(requests=1, input_tokens=7, output_tokens=5, micros=60)


def test_settled_twice_is_settled_once_by_what_was_said_first(ledger: Ledger, session: str) -> None:
    ledger.reserve(wanted(session), FREE)
    for micros in (60, 60, 90):
        ledger.settle(settled(session, micros=micros))
    assert ledger.spent(session).micros == 60


def test_what_is_settled_is_not_charged_again(ledger: Ledger, session: str) -> None:
    ledger.reserve(wanted(session), FREE)
    ledger.settle(settled(session))
    before = ledger.spent(session)
    assert ledger.reserve(wanted(session), CapsInMicros(request=1, session=1)) is None, "no cap is passed by nothing"
    ledger.settle(settled(session, micros=70))
    assert ledger.spent(session) == before


def test_a_request_that_nobody_heard_of_again_stays_counted(ledger: Ledger, session: str) -> None:
    for _ in range(3):
        assert ledger.reserve(wanted(session), FREE) is None
    assert ledger.spent(session) == Spent(requests=3, lost=300)
    ledger.settle(settled(session))
    assert ledger.spent(session) == Spent(requests=3, input_tokens=7, output_tokens=5, micros=60, lost=200)
    ledger.settle(settled(session))
    assert ledger.spent(session).lost == 200, "what is lost is not settled by the second word of another"


def test_a_lost_request_that_may_not_be_sent_again_can_still_be_settled(ledger: Ledger, session: str) -> None:
    ledger.reserve(wanted(session), FREE)
    caps = CapsInMicros(todo=150)
    assert ledger.reserve(wanted(session), caps) == CapRefusal(cap="todo", limit=150, used=100, wanted=100)
    assert ledger.spent(session) == Spent(requests=1, lost=100)
    ledger.settle(settled(session))
    assert used(ledger.spent(session)) == 60


def test_what_its_provider_refused_is_reserved_anew(ledger: Ledger, session: str) -> None:
    """It cost nothing, and the next try of it will: under its key that has to count."""
    ledger.reserve(wanted(session), FREE)
    ledger.settle(settled(session, micros=0, tokens=(0, 0)))
    assert used(ledger.spent(session)) == 0
    assert ledger.reserve(wanted(session), CapsInMicros(todo=99)) is not None
    assert ledger.reserve(wanted(session), FREE) is None
    ledger.settle(settled(session))
    assert ledger.spent(session) == Spent(requests=2, input_tokens=7, output_tokens=5, micros=60)


@pytest.mark.parametrize(
    ("caps", "before"),
    [
        (CapsInMicros(request=40), 0),
        (CapsInMicros(role=140), 110),
        (CapsInMicros(todo=440), 410),
        (CapsInMicros(session=840), 810),
    ],
    ids=["request", "role", "todo", "session"],
)
def test_every_cap_counts_what_is_its_own(ledger: Ledger, session: str, caps: CapsInMicros, before: int) -> None:
    others: tuple[dict[str, Any], ...] = (
        {"role": "critic"},
        {"attempt": 2},
        {"todo": "u"},
        {"todo": "u", "attempt": 2, "role": "critic"},
    )
    ledger.reserve(wanted(session, "own"), FREE)
    ledger.settle(settled(session, "own", 110))
    for place, fields in enumerate(others):
        for number in range(2 if fields.get("todo") else 1):
            ledger.reserve(wanted(session, f"{place}/{number}", 100 if fields.get("todo") else 150, **fields), FREE)
    ledger.reserve(wanted(f"{session}-other", micros=1_000), FREE)
    (cap, limit) = next(iter(caps.model_dump(exclude_none=True).items()))
    refused = ledger.reserve(wanted(session, "too-much", 41), caps)
    assert refused == CapRefusal(cap=cap, limit=limit, used=before, wanted=41)
    assert ledger.reserve(wanted(session, "just-right", limit - before), caps) is None
    assert ledger.reserve(wanted(session, "one-more", 41), caps) is not None


def test_what_is_refused_leaves_no_trace(ledger: Ledger, session: str) -> None:
    assert ledger.reserve(wanted(session), CapsInMicros(request=99)) is not None
    assert ledger.spent(session) == Spent()
    ledger.settle(settled(session))
    assert ledger.spent(session) == Spent(), "nothing was reserved that this could settle"


def test_a_provider_that_takes_more_passes_a_cap_once(ledger: Ledger, session: str) -> None:
    caps = CapsInMicros(session=150)
    assert ledger.reserve(wanted(session), caps) is None
    ledger.settle(settled(session, micros=500))
    assert ledger.spent(session).micros == 500
    assert ledger.reserve(wanted(session, "next", 1), caps) == CapRefusal(cap="session", limit=150, used=500, wanted=1)


def test_sums_are_of_all_that_is_named(ledger: Ledger, session: str) -> None:
    rounds = [("t", 1, "auditor"), ("t", 2, "auditor"), ("t", 2, "critic"), ("u", 1, "auditor")]
    for place, (todo, attempt, role) in enumerate(rounds):
        ledger.reserve(wanted(session, str(place), 10**place, todo=todo, attempt=attempt, role=role), FREE)
    assert ledger.spent(session).lost == 1111
    assert ledger.spent(session, "t").lost == 111
    assert ledger.spent(session, "t", 2).lost == 110
    assert ledger.spent(session, "t", 2, "critic").lost == 100
    assert ledger.spent(session, role="auditor").lost == 1011
    assert ledger.spent(session, "nobody") == Spent()


def test_large_amounts_are_exact(ledger: Ledger, session: str) -> None:
    for number in range(2):
        ledger.reserve(wanted(session, str(number), 2**52 + 1), FREE)
    assert ledger.spent(session).lost == 2**53 + 2


def test_amounts_are_never_negative(ledger: Ledger, session: str) -> None:
    """A negative one would make room under every cap."""
    with pytest.raises(ValueError, match="negative"):
        ledger.reserve(wanted(session, micros=-1), FREE)
    ledger.reserve(wanted(session), FREE)
    for wrong in (settled(session, micros=-1), settled(session, tokens=(-1, 0)), settled(session, tokens=(0, -1))):
        with pytest.raises(ValueError, match="negative"):
            ledger.settle(wrong)
    assert ledger.spent(session) == Spent(requests=1, lost=100)


def test_a_restart_forgets_nothing(place: Place, session: str) -> None:
    place.open().reserve(wanted(session), FREE)
    place.open().settle(settled(session))
    assert place.open().spent(session).micros == 60


TIMES = 20
"""How often two meet at a cap that has room for one of them."""
ROOM_FOR_ONE = CapsInMicros(todo=10)


def test_threads_together_pass_no_cap(place: Place, session: str) -> None:
    both, granted = threading.Barrier(2), list[str]()

    def reserve(name: str) -> None:
        opened = place.open()
        for time in range(TIMES):
            both.wait(120)
            if opened.reserve(wanted(session, f"{name}/{time}", 10, todo=str(time)), ROOM_FOR_ONE) is None:
                granted.append(str(time))

    threads = [threading.Thread(target=reserve, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(granted) == sorted(str(time) for time in range(TIMES))


RESERVING = """
import sys
from adapters.ledger import SqlLedger
from domain.roles.spending import CapsInMicros, Reservation
url, session, name = sys.argv[1:]
ledger = SqlLedger(url, busy_timeout=120)
print("ready", flush=True)
for line in sys.stdin:
    todo = line.strip()
    common = {"session": session, "attempt": 1, "role": "auditor", "model": "m", "micros": 10}
    wanted = Reservation(key=f"{session}/{name}/{todo}", todo=todo, **common)
    print(ledger.reserve(wanted, CapsInMicros(todo=10)) is None, flush=True)
"""


class Reserving:
    """A process of its own that reserves for a todo when told to."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-c", RESERVING, *arguments]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def says(self, todo: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{todo}\n")
        self.process.stdin.flush()

    def hears(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_two_processes_together_pass_no_cap(kind: str, request: pytest.FixtureRequest, session: str) -> None:
    with ExitStack() as closing_later:
        place = shared(kind, request, closing_later)
        processes = [Reserving(place.url, session, name) for name in "ab"]
        for process in processes:
            closing_later.callback(process.process.communicate)  # its input ends, and so does it
        assert [process.hears() for process in processes] == ["ready", "ready"]
        for time in range(TIMES):
            for process in processes:
                process.says(str(time))
            assert sorted(process.hears() for process in processes) == ["False", "True"]
        assert used(place.open().spent(session)) == 10 * TIMES


CAPS = CapsInMicros(request=50, role=80, todo=120, session=200)
KEYS = st.tuples(st.sampled_from("tu"), st.integers(1, 2), st.sampled_from(["auditor", "critic"]), st.integers(0, 1))
STEPS = st.lists(st.tuples(KEYS, st.integers(0, 60) | st.none()), max_size=16)
"""A key with an estimate to reserve, or to settle. One that is never settled was killed."""


@settings(max_examples=40, deadline=None)
@given(steps=STEPS, share=st.sampled_from([0.0, 0.5, 1.0]))
def test_no_order_of_reserving_settling_and_dying_passes_a_cap(
    ledger: Ledger, steps: list[tuple[tuple[str, int, str, int], int | None]], share: float
) -> None:
    session, model = next(SESSIONS), MemoryLedger()
    estimates: dict[str, int] = {}
    for (todo, attempt, role, number), micros in steps:
        key = f"{todo}/{attempt}/{role}/{number}"
        if micros is not None:
            asked = wanted(session, key, micros, todo=todo, attempt=attempt, role=role)
            answer = ledger.reserve(asked, CAPS)
            assert answer == model.reserve(asked, CAPS)
            if answer is None:
                estimates[key] = micros
        elif key in estimates:
            said = settled(session, key, int(estimates[key] * share))
            ledger.settle(said)
            model.settle(said)
        assert used(ledger.spent(session, todo, attempt, role)) <= 80
        assert used(ledger.spent(session, todo)) <= 120
        assert used(ledger.spent(session)) <= 200
        assert ledger.spent(session) == model.spent(session)


def test_what_cannot_be_told_is_said_with_a_next_step(place: Place, ledger: Ledger, session: str) -> None:
    """The last one: it breaks the place that all of them share."""
    ledger.reserve(wanted(session), FREE)
    place.spoil()
    acts: tuple[Callable[[], object], ...] = (
        lambda: ledger.reserve(wanted(session), FREE),
        lambda: ledger.settle(settled(session)),
        lambda: ledger.spent(session),
    )
    for act in acts:
        with pytest.raises(Unavailable) as raised:
            act()
        assert raised.value.cause is Cause.STORE_UNAVAILABLE
        assert raised.value.next_step
