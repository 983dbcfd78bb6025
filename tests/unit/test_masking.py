"""Masking: no spelling of a secret is left, nothing else is changed, and the edges mask what goes through them."""

from __future__ import annotations

import base64
import io
import json
import logging
import traceback
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue
from temporalio.api.failure.v1 import Failure
from temporalio.exceptions import ApplicationError

from adapters.evidence.folder import FolderStore
from adapters.masking.known import named_by, secrets_of, values_of, variables_with_secrets
from adapters.masking.masker import Masker
from adapters.masking.spelled import placeholder
from adapters.masking.stores import MaskedChecker, MaskedEvidence, MaskedTrail
from adapters.masking.streams import MaskedStream
from adapters.masking.strength import why_unfit
from adapters.masking.temporal import masked_converter
from adapters.trail import SqlTrail
from domain.base import sha256_hex
from domain.checks import Item, Outcome
from domain.criteria import FileExists
from domain.events import SYSTEM, Actor, TrailEntry
from domain.messages import SetupInput
from domain.ports import CheckContext, Finding
from tests.service import CONTEXT

HARD = 'p"ä\\ss/wörd <&> 12'
KEY = "-----BEGIN KEY-----\nMIIabcdefghijkl\nxyz\n-----END KEY-----\n"
MASKER = Masker({"HARD": HARD.encode(), "PLAIN": b"hunter2hunter3", "KEY": KEY.encode(), "SHORTER": b"hunter2"})

values = st.text(min_size=6, max_size=40).filter(
    lambda text: len(text.strip()) >= 6 and not why_unfit("NAME", text) and "[" not in text and "]" not in text
)
surroundings = st.text(max_size=30)


def spelled(value: str) -> list[str]:
    """The usual spellings, made here by other means than those of the module."""
    raw = value.encode("utf-8", "surrogatepass")
    ascii_json, utf8_json = json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]
    return [
        value,
        ascii_json,
        utf8_json,
        json.dumps(ascii_json)[1:-1],
        json.dumps(utf8_json, ensure_ascii=False)[1:-1],
        repr(value)[1:-1],
        quote(raw, safe=""),
        base64.b64encode(raw).decode(),
        base64.urlsafe_b64encode(raw).decode(),
    ]


@given(values, surroundings, surroundings, st.integers(0, 8))
def test_no_spelling_is_left_and_masking_again_changes_nothing(value: str, before: str, after: str, which: int) -> None:
    masker = Masker({"NAME": value.encode("utf-8", "surrogatepass")})
    spelling = spelled(value)[which]
    masked = masker.text(f"{before}{spelling}{after}")
    assert placeholder("NAME") in masked
    assert all(text not in masked.replace(placeholder("NAME"), "\0") for text in spelled(value))
    assert masker.text(masked) == masked
    data = f"{before}{spelling}{after}".encode("utf-8", "surrogatepass")
    assert masker.data(masker.data(data)) == masker.data(data)


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_bytes_are_masked_as_they_are(before: bytes, after: bytes) -> None:
    value = b"\xff\x00binary\xfe"
    masker = Masker({"NAME": value})
    assert value not in masker.data(before + value + after)
    if value not in before + after:
        assert masker.data(before + after) == before + after


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(json_values, st.booleans())
def test_json_stays_json_and_nothing_else_of_it_changes(value: JsonValue, pretty: bool) -> None:
    document = {"rest": value, "said": [f"it is {HARD}!", {HARD: 1}]}
    data = json.dumps(document, indent=2 if pretty else None, ensure_ascii=pretty).encode("utf-8", "surrogatepass")
    masked = json.loads(MASKER.data(data))
    assert masked == {"rest": value, "said": ["it is [secret HARD]!", {"[secret HARD]": 1}]}
    assert MASKER.data(MASKER.data(data)) == MASKER.data(data)


@given(st.text(max_size=100), st.binary(max_size=100))
def test_what_has_no_secret_is_the_same_object(text: str, data: bytes) -> None:
    masker = Masker({"NAME": b"q0w9e8r7t6y5"})
    assert masker.text(text) is text
    assert masker.data(data) is data


def test_the_layout_of_json_is_kept() -> None:
    writes: list[dict[str, Any]] = [{"indent": 2}, {"separators": (",", ":")}]
    for write in writes:
        for end in ("", "\n"):
            plain: dict[str, Any] = {"é": [1, 2.5, None, {}, []], "x": "[secret PLAIN]"}
            text = json.dumps(plain, ensure_ascii=False, **write) + end
            assert MASKER.data(text.replace("[secret PLAIN]", "hunter2hunter3").encode()) == text.encode()


def test_of_two_values_the_longer_counts() -> None:
    assert MASKER.text("a hunter2hunter3 b hunter2") == "a [secret PLAIN] b [secret SHORTER]"


def test_lines_of_a_value_are_masked_alone() -> None:
    assert MASKER.text("MIIabcdefghijkl") == "[secret KEY]"
    assert MASKER.text(KEY) == "[secret KEY]"


def test_numbers_and_documents_that_are_a_secret() -> None:
    account: JsonValue = {"type": "account", "private_key": "0123456789abcdefgh"}
    masker = Masker({"NUMBER": b"123456789012", "ACCOUNT": json.dumps(account, indent=1).encode()})
    value: JsonValue = {"a": 123456789012, "b": 12345678901234, "c": account, "d": {"key": "is 0123456789abcdefgh"}}
    expected = {
        "a": "[secret NUMBER]",
        "b": 12345678901234,
        "c": "[secret ACCOUNT]",
        "d": {"key": "is [secret ACCOUNT]"},
    }
    assert masker.value(value) == expected


def test_a_placeholder_with_its_surroundings_is_masked_too() -> None:
    masker = Masker({"A": b"abcdefgh", "B": b"before["})
    masked = masker.text("before" + "abcdefgh")
    assert "before[" not in masked
    assert masker.text(masked) == masked


def test_a_placeholder_is_never_masked_itself() -> None:
    masker = Masker({"LONG_NAME": b"abcdefgh", "OTHER": b"LONG_NAME"})
    assert masker.text("abcdefgh LONG_NAME") == "[secret LONG_NAME] [secret OTHER]"
    assert masker.text("[secret LONG_NAME]") == "[secret LONG_NAME]"


def test_a_number_in_json_leaves_it_json() -> None:
    masker = Masker({"NUMBER": b"123456789012"})
    assert json.loads(masker.data(b'{"n": 123456789012}')) == {"n": "[secret NUMBER]"}


def test_half_a_character_stays_valid_json() -> None:
    masked = MASKER.data(b'{"a": "\\ud800", "b": "hunter2hunter3"}')
    assert json.loads(masked.decode()) == {"a": "\ud800", "b": "[secret PLAIN]"}


@pytest.mark.parametrize("value", ["abcde", "  abcde ", "12345678901", "secret", "secret NAME"])
def test_values_that_cannot_be_masked(value: str) -> None:
    why = why_unfit("NAME", value)
    assert why
    assert value.strip() not in why


@pytest.mark.parametrize("value", ["", "  ", "abcdef", "123456789012", "a1b2c3"])
def test_values_that_can_be(value: str) -> None:
    assert why_unfit("NAME", value) == ""


class TestWhatIsKnown:
    def test_settings_name_variables_tokens_and_passwords(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        from adapters.config.settings import load_settings  # noqa: PLC0415 - with the variables of this test

        for name, value in {
            "COUNTERSIGN_SECRETS": '["API_KEY", "UNSET"]',
            "API_KEY": "value-of-it",
            "GITHUB_TOKEN": "ghp_123456",
            "COUNTERSIGN_DATABASE_URL": "postgresql://user:pa%2Fss-1@db/trail",
            "COUNTERSIGN_DOCKER_HOST": "tcp://user:word@engine:2375",
        }.items():
            monkeypatch.setenv(name, value)
        found = load_settings(tmp_path)
        assert secrets_of(found) == {
            "API_KEY": b"value-of-it",
            "GITHUB_TOKEN": b"ghp_123456",
            "DATABASE_PASSWORD": b"pa/ss-1",
            "DATABASE_PASSWORD_AND_USER": b"user:pa%2Fss-1@",
            "DOCKER_HOST_PASSWORD_AND_USER": b"user:word@",
        }
        assert variables_with_secrets(found) == (
            *("API_KEY", "UNSET"),
            *("COUNTERSIGN_DATABASE_URL", "COUNTERSIGN_DOCKER_HOST"),
        )

    def test_the_keys_of_a_bucket_are_secrets(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from adapters.config.settings import load_settings  # noqa: PLC0415 - with the variables of this test

        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI-1")
        assert secrets_of(load_settings(tmp_path)) == {}
        monkeypatch.setenv("COUNTERSIGN_EVIDENCE_URL", "s3://bucket")
        found = load_settings(tmp_path)
        assert secrets_of(found) == {"AWS_SECRET_ACCESS_KEY": b"wJalrXUtnFEMI-1"}
        assert variables_with_secrets(found) == ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")

    def test_messages_name_variables(self, monkeypatch: pytest.MonkeyPatch) -> None:
        image: Any = {"reference": "r", "id": "i"}
        request = SetupInput.model_validate(
            {"image": image, "base": "", "setup": ["x"], "secrets": ["TOKEN"]}, strict=False
        )
        monkeypatch.setenv("TOKEN", "value-of-it")
        assert values_of(named_by(request)) == {"TOKEN": b"value-of-it"}
        assert named_by("text") == named_by(None) == ()


class TestStreams:
    @given(st.lists(st.sampled_from(["hunter2", "hunter3", "x", "\n", KEY, HARD[:5], HARD[5:]])), st.booleans())
    def test_however_it_is_cut(self, pieces: list[str], flushed: bool) -> None:
        below = io.StringIO()
        stream = MaskedStream(below, MASKER)
        for piece in pieces:
            stream.write(piece)
        stream.flush()
        text = "".join(pieces)
        assert "hunter2" not in below.getvalue()
        assert HARD not in below.getvalue()
        if not any(secret in text for secret in ("hunter2", HARD, "MII", "KEY")):
            assert below.getvalue() == text

    def test_a_line_waits_for_its_end_only_where_there_is_a_secret(self) -> None:
        for masker, shown in ((Masker(), "hun"), (MASKER, "")):
            below = io.StringIO()
            stream = MaskedStream(below, masker)
            stream.write("hun")
            assert below.getvalue() == shown
            stream.flush()
            assert below.getvalue() == "hun"

    def test_logs_and_tracebacks(self) -> None:
        below = io.StringIO()
        handler = logging.StreamHandler(MaskedStream(below, MASKER))
        logger = logging.Logger("test")
        logger.addHandler(handler)
        try:
            raise RuntimeError(HARD)
        except RuntimeError:
            logger.exception("it was %r", {"a": HARD, "b": "hunter2hunter3"})
            traceback.print_exc(file=MaskedStream(below, MASKER))
        assert below.getvalue().count("[secret HARD]") >= 3
        assert "hunter" not in below.getvalue()
        assert "wörd" not in below.getvalue()


def entry(ordinal: int, **payload: JsonValue) -> TrailEntry:
    return TrailEntry(
        workflow_id="round/s/t/1",
        ordinal=ordinal,
        session="s",
        todo_id="t",
        actor=SYSTEM,
        action="snapshot_frozen",
        payload=payload,
        timestamp=datetime(2026, 1, 1, tzinfo=UTC),
    )


@pytest.fixture
def trail(tmp_path: Path) -> Iterable[SqlTrail]:
    made = SqlTrail(f"sqlite:///{tmp_path}/trail.db", tmp_path / "heads.jsonl")
    yield made
    made.close()


class TestTrail:
    def test_rows_are_masked_wherever_a_text_may_be(self, trail: SqlTrail) -> None:
        masked = MaskedTrail(trail, MASKER)
        said = entry(1, error=HARD, paths=[HARD, 1]).model_copy(
            update={"before": {"a": HARD}, "after": {HARD: "b"}, "actor": Actor(role="human", identity="hunter2")}
        )
        masked.append(said)
        (row,) = masked.rows()
        assert (row.payload, row.before, row.after) == (
            {"error": "[secret HARD]", "paths": ["[secret HARD]", 1]},
            {"a": "[secret HARD]"},
            {"[secret HARD]": "b"},
        )
        assert row.actor.identity == "[secret SHORTER]"
        assert masked.verify().faults == ()

    def test_the_same_entry_is_the_same_row_whoever_knows_the_secret(self, trail: SqlTrail) -> None:
        """It comes masked to whoever appends it; what was stored before the secret had a name stays as it is."""
        knows, knows_not = MaskedTrail(trail, MASKER), MaskedTrail(trail, Masker())
        arrived = entry(1, error="[secret HARD]")
        assert knows_not.append(arrived) == knows.append(arrived)
        early = entry(2, error=HARD)
        assert knows_not.append(early) == knows.append(early)
        with pytest.raises(ValueError, match="another body"):
            knows.append(entry(2, error=f"other {HARD}"))
        assert len(list(trail.rows())) == 2


class TestEvidence:
    def test_what_is_put_placed_and_remembered_is_masked_and_trees_are_not(self, tmp_path: Path) -> None:
        store = MaskedEvidence(FolderStore(tmp_path), MASKER)
        data = json.dumps({"stdout": HARD}).encode()
        digest = store.put(data)
        assert store.get(digest) == b'{"stdout":"[secret HARD]"}'
        assert digest == sha256_hex(store.get(digest))
        store.remember("a" * 64, data)
        assert store.recall("a" * 64) == store.get(digest)
        store.place("s", "t", 1, "name", HARD.encode())
        assert (tmp_path / "s/t/1/name").read_text() == "[secret HARD]"
        with store.bulk() as bulk:
            tree = bulk.add((HARD.encode(),))
        assert store.get(tree) == HARD.encode()
        assert store.has(tree)

    async def test_a_finding_is_masked_before_it_is_cut(self) -> None:
        class Prints:
            type = "command_exit_zero"

            async def check(self, item: Item, context: CheckContext) -> Finding:
                return Finding(outcome=Outcome.FAILED, code="c", text=HARD, stdout="x" + HARD, seen={"a": [HARD]})

        criterion = FileExists.model_validate({"id": "x", "type": "file_exists", "params": {"path": "a"}})
        item = Item(spelling="criterion", criterion=criterion)
        finding = await MaskedChecker(Prints(), MASKER).check(item, CONTEXT)
        assert (finding.text, finding.stdout, finding.seen) == (
            "[secret HARD]",
            "x[secret HARD]",
            {"a": ["[secret HARD]"]},
        )
        assert finding.outcome is Outcome.FAILED


class TestTemporal:
    CONVERTER = masked_converter(MASKER)

    async def test_payloads(self) -> None:
        sent = await self.CONVERTER.encode([{"a": HARD}, f"x {HARD}", HARD.encode(), None])
        assert not any(b"rd <&>" in payload.SerializeToString() for payload in sent)
        assert await self.CONVERTER.decode(sent) == [
            {"a": "[secret HARD]"},
            "x [secret HARD]",
            b"[secret HARD]",
            None,
        ]

    async def test_failures_with_their_causes_and_details(self) -> None:
        failure = Failure()
        try:
            try:
                raise RuntimeError(HARD)
            except RuntimeError as error:
                raise ApplicationError(f"outer {HARD}", {"detail": HARD}) from error
        except ApplicationError as error:
            await self.CONVERTER.encode_failure(error, failure)
        assert failure.message == "outer [secret HARD]"
        assert failure.cause.message == "[secret HARD]"
        assert failure.stack_trace
        assert b"rd <&>" not in failure.SerializeToString()

    async def test_a_message_s_secrets_are_known_from_then_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        masker = Masker()
        converter = masked_converter(masker)
        request = SetupInput.model_validate(
            {"image": {"reference": "r", "id": "i"}, "base": "", "setup": ["x"], "secrets": ["TOKEN"]}, strict=False
        )
        sent = await converter.encode([request])
        monkeypatch.setenv("TOKEN", "value-of-it")
        await converter.decode(sent, [SetupInput])
        assert masker.text("value-of-it") == "[secret TOKEN]"
