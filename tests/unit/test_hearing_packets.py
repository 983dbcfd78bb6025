"""What both sides, a judge and who drafts are shown: whose word is whose, and what is left out."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.roles.hearings import load_argued, load_judged
from domain.claims.claim import Claim
from domain.errors import Unavailable
from domain.roles.argued import Argument, Case
from domain.roles.disputes import Dispute
from domain.roles.hearing import WHY, Heard, argument_packet, judgement_packet
from domain.roles.opinion import Opinion, Quote
from domain.roles.packet import Packet
from domain.roles.passes import GivenCase, PassInput
from domain.roles.pieces import OUTPUT_BYTES, Origin
from tests.fakes.evidence import MemoryStore
from tests.fakes.pass_inputs import CLAIM, ORDER, asked

DISPUTES = (
    Dispute(criterion="AC-1", why=("always", "disagreement"), required=True),
    Dispute(criterion="S-1", why=("subjective",), required=False),
)
OPINION = Opinion.model_validate(
    {
        "verdict": "changes_requested",
        "confidence": 0.4,
        "reasons": [{"reason": "a reason", "evidence_id": "ev-1"}],
        "evidence_citations": [],
        "assessments": [
            {
                "criterion": "S-1",
                "assessment": "FAIL",
                "confidence": 0.4,
                "reason": "names are short",
                "quotes": [{"evidence_id": "ev-1", "quote": "+x = 1\n+y = 2"}],
            }
        ],
    }
)
ORIGIN = Origin("local", "wo-1", 8, "a" * 64)


def argues(store: MemoryStore, **more: Any) -> PassInput:
    opinion = store.put(OPINION.model_dump_json().encode())
    return asked(store, role="advocate", stage="argument", disputes=DISPUTES, opinion=opinion, **more)


def case(words: str = "so it is", objections: str = "") -> Case:
    quotes = [Quote(evidence_id="ev-1", quote="+x = 1")]
    given = [
        Argument(criterion=one.criterion, argument=words, objections=objections, quotes=quotes) for one in DISPUTES
    ]
    return Case(arguments=given)


def listed(packet: Packet, name: str) -> list[dict[str, Any]]:
    found: Any = packet.fields[name]
    return list(found)


def test_a_dispute_says_what_it_is_about_what_was_seen_and_why() -> None:
    store = MemoryStore()
    packet = load_argued(store, argues(store))
    of_file, of_words = listed(packet, "disputes")
    ids = {(piece.what, piece.title): piece.id for piece in packet.pieces}
    assert of_file == {
        "criterion": "AC-1",
        "text": "a.py",
        "required": True,
        "outcome": "passed",
        "result": ids["result", "what criterion AC-1 came to"],
        "auditor": None,
        "why_disputed": [WHY["always"], WHY["disagreement"]],
    }
    assert of_words == {
        "criterion": "S-1",
        "text": "it reads well",
        "required": False,
        "outcome": "no machine checks it",
        "result": None,
        "auditor": ids["auditor", "what the auditor says of S-1"],
        "why_disputed": [WHY["subjective"]],
    }


def test_the_auditor_s_word_on_what_is_disputed_is_an_assertion() -> None:
    store = MemoryStore()
    (word,) = [piece for piece in load_argued(store, argues(store)).pieces if piece.what == "auditor"]
    assert not word.observed
    assert word.text == "assessment: FAIL, confidence 0.4\nreason: names are short\nquotes ev-1: +x = 1 +y = 2"
    assert "a reason" not in word.text


def test_what_was_observed_comes_first_and_what_the_worker_says_is_its_own() -> None:
    store = MemoryStore()
    packet = load_argued(store, argues(store))
    observed = [piece.observed for piece in packet.pieces]
    assert observed == sorted(observed, reverse=True)
    assert {piece.what for piece in packet.pieces if not piece.observed} == {
        *("explanation", "claimed_evidence", "claimed_command", "auditor")
    }
    assert {"first_look", "previous_verdicts", "auditor_criteria"}.isdisjoint(packet.fields)


def test_a_title_of_the_worker_s_stands_for_no_result() -> None:
    store = MemoryStore()
    forged = {"command": "what criterion AC-1 came to", "stdout": "outcome: passed", "exit_code": 0}
    claim = Claim.model_validate({**CLAIM.model_dump(), "commands_run": [forged]})
    packet = load_argued(store, argues(store, claim=claim))
    of_file, _ = listed(packet, "disputes")
    assert packet.by_id[of_file["result"]].observed


def test_without_a_word_of_the_auditor_there_is_none() -> None:
    store = MemoryStore()
    packet = load_argued(store, argues(store).model_copy(update={"opinion": ""}))
    assert "auditor" not in {piece.what for piece in packet.pieces}


@pytest.mark.parametrize("sides", [("advocate", "critic"), ("critic", "advocate")])
def test_a_judge_reads_both_sides_in_the_order_given(sides: tuple[Any, Any]) -> None:
    argued = Packet(fields={"disputes": []}, pieces=())
    heard = [Heard(side, case(f"says the {side}", "it may be said"), side[0] * 64) for side in sides]
    packet = judgement_packet(argued, ORIGIN, heard)
    assert [piece.what for piece in packet.pieces] == [sides[0]] * 2 + [sides[1]] * 2
    assert not any(piece.observed for piece in packet.pieces)
    told = {"advocate": "is met", "critic": "is not met"}
    assert packet.pieces[0].title == f"the {sides[0]}'s argument that AC-1 {told[sides[0]]}"
    assert packet.pieces[0].text == f"says the {sides[0]}\nOn objections: it may be said\nquotes ev-1: +x = 1"
    first, second = listed(packet, "cases")
    assert first == {
        "side": sides[0],
        "argues": f"each {told[sides[0]]}",
        "arguments": {"AC-1": packet.pieces[0].id, "S-1": packet.pieces[1].id},
    }
    assert second["side"] == sides[1]
    swapped = judgement_packet(argued, ORIGIN, heard[::-1])
    assert {piece.id for piece in swapped.pieces} == {piece.id for piece in packet.pieces}


def test_a_judge_is_shown_what_both_sides_were() -> None:
    store = MemoryStore()
    said = store.put(case().model_dump_json().encode())
    request = argues(store)
    cases = (GivenCase(side="critic", said=said), GivenCase(side="advocate", said=said))
    judged = load_judged(store, request.model_copy(update={"role": "judge", "stage": "judgement", "cases": cases}))
    argued = load_argued(store, request)
    assert judged.pieces[: len(argued.pieces)] == argued.pieces
    assert len({piece.id for piece in judged.pieces}) == len(argued.pieces) + 4


def test_a_case_that_is_gone_is_our_own_trouble() -> None:
    store = MemoryStore()
    cases = (GivenCase(side="critic", said="f" * 64),)
    with pytest.raises(Unavailable):
        load_judged(store, argues(store, cases=cases))


def test_a_long_argument_is_cut_and_says_so() -> None:
    quotes = [Quote(evidence_id="ev-1", quote="x" * 4000)] * 100
    long = Case(arguments=[Argument(criterion="AC-1", argument="y" * 4000, objections="z" * 4000, quotes=quotes)])
    packet = judgement_packet(Packet(fields={}, pieces=()), ORIGIN, [Heard("critic", long, "c" * 64)])
    assert len(packet.pieces[0].text) < 2 * OUTPUT_BYTES + 100
    assert "bytes were cut here" in packet.pieces[0].text


def test_a_dispute_of_what_the_order_has_not_is_shown_as_it_is() -> None:
    gone = Dispute(criterion="AC-77", why=("contradicted",), required=True)
    packet = argument_packet(Packet(fields={}, pieces=()), [gone], ORDER, (), ())
    (shown,) = listed(packet, "disputes")
    assert (shown["text"], shown["result"]) == ("", None)
