"""Claims and evidence as they are taken in: stored, under ids of the harness's own, with what of them could be news."""

from __future__ import annotations

import re

import pytest
from temporalio.testing import ActivityEnvironment

from activities import claims
from activities.claims import ClaimActivities
from domain.base import canonical_json, sha256_hex
from domain.claims.claim import Claim, ClaimedEvidence
from domain.claims.minted import MintedEvidence
from domain.claims.novelty import news_of_evidence
from domain.life import AdmitInput, AdmitResult
from domain.tree import Entry, Manifest
from tests.fakes.evidence import MemoryStore

TESTS = ClaimedEvidence(label="tests", type="command_output", data="5 passed in 0.12s", timestamp="10:00")
CLAIM = Claim(explanation="Rewrote the parser, see [tests]", evidence=[TESTS])


class Counting(MemoryStore):
    """Counts what is read and remembered."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[str] = []

    def get(self, digest: str) -> bytes:
        self.read.append(digest)
        return super().get(digest)


@pytest.fixture
def store() -> Counting:
    return Counting()


def tree(store: MemoryStore, **files: str) -> str:
    named = {name.replace("_", "."): text.encode() for name, text in files.items()}
    entries = [Entry(path=path, digest=store.put(data), size=len(data)) for path, data in named.items()]
    return store.put(Manifest.of(entries).encode())


async def admit(
    store: MemoryStore,
    head: str = "",
    base: str = "",
    *,
    claim: Claim | None = CLAIM,
    evidence: tuple[ClaimedEvidence, ...] = (),
    attempt: int = 1,
    session: str = "s",
    todo: str = "t",
) -> AdmitResult:
    request = AdmitInput(
        session=session, todo=todo, attempt=attempt, head=head, base=base, claim=claim, evidence=evidence
    )
    return await ActivityEnvironment().run(ClaimActivities(store).admit, request)


async def test_a_claim_and_its_evidence_are_stored(store: Counting) -> None:
    head = tree(store, a_py="x = 1\n")
    taken = await admit(store, head)
    assert Claim.model_validate_json(store.get(taken.claim)) == CLAIM
    (one,) = taken.evidence
    assert ClaimedEvidence.model_validate_json(store.get(one.digest)) == TESTS
    assert (one.label, one.type) == ("tests", "command_output")
    assert one.news == news_of_evidence("command_output", "5 passed in 9s")
    bound = ["s", "t", 1, head, "tests", one.digest]
    assert one.id == f"ev-{sha256_hex(canonical_json(bound))[:16]}"
    assert re.fullmatch(r"[0-9a-f]{64}", taken.news)
    assert await admit(store, head) == taken, "done twice, it is the same"


async def test_evidence_alone_has_no_claim_and_no_tree(store: Counting) -> None:
    taken = await admit(store, claim=None, evidence=(TESTS, TESTS))
    assert (taken.claim, taken.news) == ("", "")
    assert [one.label for one in taken.evidence] == ["tests"]


async def test_what_comes_beside_a_claim_follows_it(store: Counting) -> None:
    more = TESTS.model_copy(update={"label": "more"})
    taken = await admit(store, evidence=(more, TESTS))
    assert [one.label for one in taken.evidence] == ["tests", "more"]


async def test_ids_are_bound_to_all_that_evidence_is_for(store: Counting) -> None:
    first, second = tree(store, a_py="x = 1\n"), tree(store, a_py="x = 2\n")

    async def minted(**what: object) -> MintedEvidence:
        return (await admit(store, **{"head": first, **what})).evidence[0]  # type: ignore[arg-type]  # by name

    other = Claim(explanation="x", evidence=[TESTS.model_copy(update={"data": "6 passed"})])
    renamed = Claim(explanation="x", evidence=[TESTS.model_copy(update={"label": "unit"})])
    found = [
        await minted(),
        await minted(head=second),
        await minted(attempt=2),
        await minted(session="s2"),
        await minted(todo="t2"),
        await minted(claim=other),
        await minted(claim=renamed),
    ]
    assert len({one.id for one in found}) == len(found)
    assert len({one.news for one in found}) == 2, "only another result is news"


async def test_the_same_work_is_the_same_news(store: Counting) -> None:
    base = tree(store, a_py="x = 1\n", b_md="one\n")
    news = [
        (await admit(store, tree(store, **files), base)).news
        for files in (
            {"a_py": "x = 2\n", "b_md": "one\n"},
            {"a_py": "# better\nx  =  2\n", "b_md": "one\n\n"},
            {"a_py": "x = 3\n", "b_md": "one\n"},
        )
    ]
    assert news[0] == news[1] != news[2]


async def test_each_file_is_looked_into_once(store: Counting) -> None:
    base = tree(store, a_py="x = 1\n", b_py="y = 1\n")
    head = tree(store, a_py="x = 2\n", b_py="y = 1\n")
    news = (await admit(store, head, base)).news
    unchanged = sha256_hex(b"y = 1\n")
    assert unchanged not in store.read
    assert {sha256_hex(b"x = 1\n"), sha256_hex(b"x = 2\n")} <= set(store.read)
    store.read.clear()
    assert (await admit(store, head, base, attempt=2)).news == news
    assert set(store.read) == {base, head}, "from the last claim"
    assert (await admit(store, head, base, todo="other")).news == news


async def test_without_a_base_everything_is_new(store: Counting) -> None:
    head, quiet = tree(store, a_py="x = 2\n"), tree(store, a_py="x = 2 # c\n")
    assert (await admit(store, head)).news == (await admit(store, quiet)).news
    assert (await admit(store, head)).news != (await admit(store, head, head)).news


async def test_beyond_what_is_looked_into_bytes_count(store: Counting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "LOOKED_INTO", 20)
    small = [tree(store, a_py="x = 1\n", b_py=f"y = 1  # {comment}\n") for comment in ("one", "two")]
    assert (await admit(store, small[0])).news == (await admit(store, small[1])).news
    large = [tree(store, a_py="x = 1234567890\n", b_py=f"y = 1  # {comment}\n") for comment in ("one", "two")]
    news = [(await admit(store, head)).news for head in large]
    assert news[0] != news[1]
    assert (await admit(store, large[0])).news == news[0], "whatever was looked into before"
