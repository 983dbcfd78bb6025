"""What a signal says is read whatever it is; what makes no sense is a refusal, never an error."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.events import Actor
from domain.requests import MAX_TEXT, OverrideSignal, Pause, Refusal, Said
from domain.signals import LONGEST_NAME, override_of, said_of, speaker_of
from domain.signatures import MOST_SIGNED, Signed

SIGNED = {"statement": "{}", "signature": "-----BEGIN SSH SIGNATURE-----"}


@pytest.mark.parametrize("inputs", [(), (None,), ({},), ({"by": None, "reason": None},)])
def test_nothing_said_is_enough(inputs: tuple[Any, ...]) -> None:
    assert said_of(*inputs) == Said()


def test_who_and_why() -> None:
    assert said_of({"by": "ann", "reason": "lunch"}) == Said(by="ann", reason="lunch")
    assert said_of({"reason": "x" * MAX_TEXT}) == Said(reason="x" * MAX_TEXT)


BAD = [
    (("nonsense",), "the input is text, expected an object"),
    ((["ann"],), "the input is a list, expected an object"),
    ((True,), "the input is a boolean, expected an object"),
    ((7,), "the input is a number, expected an object"),
    ((b"{}",), "the input is no JSON, expected an object"),
    (({}, {}), "2 inputs, expected one"),
    (({"by": 7},), "by: Input should be a valid string"),
    (({"reason": ["lunch"]},), "reason: Input should be a valid string"),
    (({"by": "ann", "reson": "lunch"},), "unknown field 'reson'"),
    (({"by": "ann\nbob"},), "by: expected one line of text, with no control characters"),
    (({"by": "a" * (LONGEST_NAME + 1)},), f"by: {LONGEST_NAME + 1} characters, expected at most {LONGEST_NAME}"),
    (({"reason": "x" * (MAX_TEXT + 1)},), f"reason: {MAX_TEXT + 1} characters, expected at most {MAX_TEXT}"),
]


@pytest.mark.parametrize(("inputs", "reason"), BAD)
def test_what_makes_no_sense_is_said(inputs: tuple[Any, ...], reason: str) -> None:
    refused = said_of(*inputs)
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.reason) == ("malformed", reason)
    assert "as JSON" in refused.next_step


def test_an_override_with_and_without_a_signature() -> None:
    said = {"kind": "CHECK_OVERRIDE", "by": "ann", "reason": "known flake", "acknowledged": ["slow"]}
    plain = OverrideSignal(kind="check", by="ann", reason="known flake", acknowledged=("slow",))
    assert override_of(said) == (plain, None)
    assert override_of({**said, "signature": ""}) == (plain, None)
    for signature in (SIGNED, json.dumps(SIGNED)):
        read = override_of({**said, "signature": signature})
        assert not isinstance(read, Refusal)
        assert read[1] == Signed(**SIGNED)


@pytest.mark.parametrize(
    ("inputs", "reason"),
    [
        ((), "kind: Field required"),
        ((None,), "kind: Field required"),
        (("check",), "the input is text, expected an object"),
        (({"kind": "check"}, {"kind": "check"}), "2 inputs, expected one"),
        (({"kind": "all"},), "kind: Input should be 'check', 'verifier' or 'direct'"),
        (({"kind": ["check"]},), "kind: Input should be 'check', 'verifier' or 'direct'"),
        (({"kind": "check", "acknowledged": "slow"},), "acknowledged: Input should be a valid tuple"),
        (({"kind": "check", "acknowledged": [1]},), "acknowledged.0: Input should be a valid string"),
        (({"kind": "check", "acknowleged": ["slow"]},), "unknown field 'acknowleged'"),
        (({"kind": "check", "signature": 1},), "signature: Input should be a valid string"),
        (({"kind": "check", "signature": {"statement": "{}"}},), "signature: signature: Field required"),
        (
            ({"kind": "check", "signature": {**SIGNED, "statement": "x" * (MOST_SIGNED + 1)}},),
            f"signature: a statement of more than {MOST_SIGNED} characters",
        ),
    ],
)
def test_an_override_that_makes_no_sense_is_said(inputs: tuple[Any, ...], reason: str) -> None:
    refused = override_of(*inputs)
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.reason) == ("malformed", reason)


def test_a_signature_that_is_no_envelope_is_said() -> None:
    refused = override_of({"kind": "check", "signature": "-----BEGIN SSH SIGNATURE-----"})
    assert isinstance(refused, Refusal)
    assert refused.reason.startswith("signature: Invalid JSON")


def test_who_speaks_is_known_where_it_can_be_read() -> None:
    assert speaker_of({"by": "ann", "kind": "nonsense"}) == "ann"
    unreadable: list[tuple[Any, ...]] = [(), ("ann",), ({"by": 7},), ({"by": "a\nb"},), ({"by": "ann"}, {})]
    for inputs in unreadable:
        assert speaker_of(*inputs) == ""


FIELDS = st.sampled_from(["by", "reason", "kind", "acknowledged", "signature"])
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | FIELDS, inner),
    max_leaves=8,
)


@given(st.lists(JSON | st.dictionaries(FIELDS, JSON), max_size=2))
def test_whatever_comes_is_read_or_refused(inputs: list[Any]) -> None:
    said = said_of(*inputs)
    if isinstance(said, Said):
        Pause(actor=Actor(role="unattributed", identity=said.by), reason=said.reason)
    assert isinstance(said, Said) or said.code == "malformed"
    override = override_of(*inputs)
    assert isinstance(override, tuple) or override.code == "malformed"
    assert len(speaker_of(*inputs)) <= LONGEST_NAME
