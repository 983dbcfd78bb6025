"""What a fix loop is told of its costs, and what is filed of it: into the folder of the round that it began with."""

from __future__ import annotations

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.fixes import FixActivities
from adapters.snapshot.snapshots import FileSnapshots
from domain.confidence import Confidence
from domain.errors import Cause, Unavailable
from domain.feedback import RetryContext
from domain.fix_messages import FiledFixLoop, FileFixLoopInput, FixLoopResult, Iteration, SpentInput, SpentResult
from domain.fix_summary import summary
from domain.fixing import Budget, Tally
from domain.patches import parse
from domain.roles.names import STAGES
from domain.roles.spending import CapsInMicros, Reservation, Settled
from tests.fakes.evidence import MemoryStore
from tests.fakes.ledger import Book, MemoryLedger
from tests.frozen_trees import stored

WRONG, RIGHT = b"def is_prime(n):\n    return True\n", b"def is_prime(n):\n    return n == 2\n"


def reserve(ledger: MemoryLedger, role: str, micros: int, attempt: int = 1, todo: str = "t", session: str = "s") -> str:
    key = f"{session}/{todo}/{attempt}/{role}/{len(ledger.book.lines)}"
    wanted = Reservation(key=key, session=session, todo=todo, attempt=attempt, role=role, model="m", micros=micros)
    assert ledger.reserve(wanted, CapsInMicros()) is None
    return key


def settle(ledger: MemoryLedger, key: str, micros: int) -> None:
    ledger.settle(Settled(key=key, input_tokens=1, output_tokens=1, micros=micros))


async def spent(ledger: MemoryLedger, attempt: int = 1) -> SpentResult:
    store = MemoryStore()
    activities = FixActivities(store, ledger, FileSnapshots(store))
    asked = SpentInput(session="s", todo="t", attempt=attempt)
    result: SpentResult = await ActivityEnvironment().run(activities.spent, asked)
    return result


async def test_what_a_round_cost_is_told_apart_from_what_its_repair_did() -> None:
    ledger = MemoryLedger()
    for place, role in enumerate(STAGES):
        settle(ledger, reserve(ledger, role, 10**place), 2 * 10**place)
    place = list(STAGES).index("fix_builder")
    everything = sum(2 * 10**each for each in range(len(STAGES)))
    assert await spent(ledger) == SpentResult(verifying=everything - 2 * 10**place, fixing=2 * 10**place)


async def test_what_was_never_heard_of_again_counts_by_its_estimate() -> None:
    ledger = MemoryLedger()
    settle(ledger, reserve(ledger, "auditor", 5), 3)
    reserve(ledger, "auditor", 40)
    reserve(ledger, "fix_builder", 700)
    assert await spent(ledger) == SpentResult(verifying=43, fixing=700)


async def test_other_rounds_todos_and_sessions_do_not_count() -> None:
    ledger = MemoryLedger()
    for more in ({"attempt": 2}, {"todo": "u"}, {"session": "r"}):
        for role in ("auditor", "fix_builder"):
            settle(ledger, reserve(ledger, role, 5, **more), 5)
    assert await spent(ledger) == SpentResult()
    assert await spent(ledger, attempt=2) == SpentResult(verifying=5, fixing=5)


async def test_a_ledger_that_is_away_is_said_so() -> None:
    ledger = MemoryLedger(Book(trouble=Unavailable(Cause.STORE_UNAVAILABLE, "away", "later")))
    with pytest.raises(ApplicationError) as raised:
        await spent(ledger)
    assert raised.value.details[0] == Cause.STORE_UNAVAILABLE.value


def loop_of(store: MemoryStore) -> FileFixLoopInput:
    """A loop that repaired one file of three in one iteration."""
    same: dict[str, bytes | str] = {"a.md": b"a\n", "z.py": b"z = 1\n"}
    before = stored(store, {**same, "src/solution.py": WRONG})
    after = stored(store, {**same, "src/solution.py": RIGHT})
    retry = RetryContext(attempt_number=2, max_attempts=3, specific_failures=("AC-1: is_prime(4): returned True",))
    iteration = Iteration(
        loop=1,
        answer="APPLIED:1",
        edits=1,
        paths=("src/solution.py",),
        feedback=store.put(retry.model_dump_json().encode()),
        patch=store.put(b"one diff\n"),
        attempt=4,
        outcome="verified",
        confidence=Confidence.VERIFIED,
    )
    result = FixLoopResult(
        ending="success", loops=1, of=3, tally=Tally(loops=1), iterations=(iteration,), placed="applied"
    )
    return FileFixLoopInput(
        session="s",
        todo="t",
        attempt=3,
        title="Implement is_prime",
        domain="refactor",
        result=result,
        budget=Budget(loops=3, micros=5_000_000),
        from_head=before.digest,
        to_head=after.digest,
    )


async def filed(store: MemoryStore, request: FileFixLoopInput) -> FiledFixLoop:
    activities = FixActivities(store, MemoryLedger(), FileSnapshots(store))
    result: FiledFixLoop = await ActivityEnvironment().run(activities.file, request)
    return result


async def test_the_folder_of_the_round_that_it_began_with_has_everything() -> None:
    store = MemoryStore()
    request = loop_of(store)
    result = await filed(store, request)
    names = ("SUMMARY.md", "verifier-loop1.md", "feedback-loop1.md", "patch-loop1.diff", "repair.patch")
    assert set(store.files) == {f"s/t/3/fix_loop/{name}" for name in names}
    (change,) = parse(store.get(result.patch))
    assert (change.path, change.apply(WRONG)) == ("src/solution.py", RIGHT)
    assert store.files["s/t/3/fix_loop/repair.patch"] == store.get(result.patch)
    page = store.files["s/t/3/fix_loop/SUMMARY.md"]
    assert page == store.get(result.summary)
    assert b"Applied: the workspace has it." in page
    assert store.files["s/t/3/fix_loop/patch-loop1.diff"] == b"one diff\n"


async def test_filed_again_it_is_the_same() -> None:
    store = MemoryStore()
    request = loop_of(store)
    first = await filed(store, request)
    blobs, files = dict(store.blobs), dict(store.files)
    assert await filed(store, request) == first
    assert (store.blobs, store.files) == (blobs, files)


@pytest.mark.parametrize("heads", [{"from_head": "", "to_head": ""}, {"to_head": ""}, {"same": True}])
async def test_where_nothing_was_repaired_there_is_no_patch(heads: dict[str, str]) -> None:
    store = MemoryStore()
    request = loop_of(store)
    update = {"to_head": request.from_head} if "same" in heads else heads
    request = request.model_copy(update=update)
    result = await filed(store, request)
    assert result.patch == ""
    assert "s/t/3/fix_loop/repair.patch" not in store.files
    assert store.get(result.summary).decode() == summary(request)
    assert b"there is no patch" in store.get(result.summary)


async def test_what_is_missing_in_the_store_is_said_so() -> None:
    store = MemoryStore()
    request = loop_of(store)
    del store.blobs[request.result.iterations[0].feedback]
    with pytest.raises(ApplicationError) as raised:
        await filed(store, request)
    assert raised.value.details[0] == Cause.STORE_UNAVAILABLE.value
    assert store.files == {}
