"""What a pass is shown, read from the evidence store: whole outputs, the claim under its ids, earlier verdicts."""

from __future__ import annotations

import pytest
from temporalio.testing import ActivityEnvironment

from activities.claims import ClaimActivities
from adapters.roles.earlier import Said
from adapters.roles.packets import answer_pieces, load_packet, ran_pieces
from domain.claims.claim import ClaimedEvidence
from domain.claims.minted import MintedEvidence
from domain.errors import Unavailable
from domain.life import AdmitInput, FollowUpAnswer
from domain.roles.opinion import FirstLook
from domain.roles.passes import PassInput, RanTest
from domain.tree import Manifest
from tests.fakes.evidence import MemoryStore
from tests.fakes.pass_inputs import ATTEMPT, CLAIM, asked, seen


def by_kind(store: MemoryStore, request: PassInput) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for piece in load_packet(store, request).pieces:
        found.setdefault(piece.what, []).append(piece.text)
    return found


def test_a_blind_pass_sees_what_was_observed_in_whole() -> None:
    store = MemoryStore()
    request = asked(store, stage="blind")
    diff = store.put(b"+x = 1\n\xff")
    found = by_kind(store, request.model_copy(update={"scope": request.scope.model_copy(update={"diff": diff})}))
    assert found.keys() == {"diff", "changes", "result", "stdout", "stderr"}
    assert found["diff"] == ["+x = 1\n\N{REPLACEMENT CHARACTER}"]
    assert (found["stdout"], found["stderr"]) == (["the whole output"], ["warned"])
    assert found["changes"] == ["added: a.py"]


def test_a_blind_pass_is_the_same_whatever_was_said() -> None:
    store = MemoryStore()
    earlier = (Said(ATTEMPT - 1, "f" * 64),)
    loud = asked(store, stage="blind", answers=(FollowUpAnswer(round=1, answer="yes"),), first_look="f" * 64)
    assert load_packet(store, loud, earlier) == load_packet(store, asked(store, claim=None, stage="blind"))


async def test_claimed_evidence_has_the_ids_that_the_worker_was_told() -> None:
    store = MemoryStore()
    head = store.put(Manifest().encode())
    admit = AdmitInput(session="local", todo="wo-1", attempt=ATTEMPT, head=head, claim=CLAIM)
    taken = await ActivityEnvironment().run(ClaimActivities(store).admit, admit)
    request = asked(store)
    request = request.model_copy(update={"frozen": request.frozen.model_copy(update={"head": head})})
    assert load_packet(store, request).fields["evidence"] == [piece.id for piece in taken.evidence]


def test_an_informed_pass_sees_the_claim() -> None:
    store = MemoryStore()
    found = by_kind(store, asked(store))
    assert found["explanation"] == ["I wrote a.py, see [run]."]
    assert found["claimed_evidence"] == ["it ran"]
    assert found["claimed_command"] == ["$ pytest\nexit code 0\nstdout:\n1 passed"]


def test_what_was_brought_before_the_claim_is_evidence_for_it() -> None:
    store = MemoryStore()
    before = ClaimedEvidence(label="log", type="output", data="it ran twice")
    minted = MintedEvidence(
        id="ev-" + "5" * 16, label="log", type="output", digest=store.put(before.model_dump_json().encode()), news=""
    )
    given = asked(store)
    request = given.model_copy(update={"round": given.round.model_copy(update={"brought": (minted,)})})
    packet = load_packet(store, request)
    assert packet.fields["evidence"] == [minted.id]
    assert packet.by_id[minted.id].text == "it ran twice"
    blind = request.model_copy(update={"stage": "blind"})
    assert minted.id not in load_packet(store, blind).by_id


def test_without_a_claim_there_is_none_to_see() -> None:
    store = MemoryStore()
    packet = load_packet(store, asked(store, claim=None))
    assert (packet.fields["explanation"], packet.fields["evidence"], packet.fields["commands_run"]) == (None, [], [])


def test_an_informed_pass_sees_its_first_look_and_what_was_answered() -> None:
    store = MemoryStore()
    look = FirstLook(assessments=[], suspicions=["is it tested?"])
    brought = ClaimedEvidence(label="log", type="output", data={"ran": 3})
    minted = MintedEvidence(
        id="ev-" + "4" * 16, label="log", type="output", digest=store.put(brought.model_dump_json().encode()), news=""
    )
    answers = (FollowUpAnswer(round=1, answer="It is.", evidence=(minted,)), FollowUpAnswer(round=2))
    request = asked(store, first_look=store.put(look.model_dump_json().encode()), answers=answers)
    packet = load_packet(store, request)
    assert packet.fields["first_look"] == {"assessments": [], "suspicions": ["is it tested?"]}
    said = [piece.text for piece in packet.pieces if piece.what == "answer"]
    assert said == ["It is.", "nobody answered in time"]
    assert packet.by_id["ev-" + "4" * 16].text == '{\n "ran": 3\n}'
    assert [piece.id for piece in answer_pieces(store, request, answers[0])] == packet.fields["follow_ups"][:2]  # type: ignore[index] # a list


def test_what_came_of_a_test_that_was_asked_for() -> None:
    store = MemoryStore()
    request = asked(store)
    again = request.results[0].model_copy(update={"evidence": seen(store, "run again")})
    found = ran_pieces(store, request.model_copy(update={"ran": (RanTest(call="call-1", result=again),)}))
    assert [piece.text for piece in found["call-1"]][1:] == ["run again", "warned"]
    assert {piece.id for piece in found["call-1"]}.isdisjoint(load_packet(store, request).by_id)


def test_a_blob_that_is_gone_is_our_own_trouble() -> None:
    store = MemoryStore()
    request = asked(store)
    store.blobs.pop(request.results[0].evidence)
    with pytest.raises(Unavailable):
        load_packet(store, request)
