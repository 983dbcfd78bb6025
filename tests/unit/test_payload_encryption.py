"""Payload encryption: which key files are taken, what is hidden from the server, and what no key here can read."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.api.failure.v1 import Failure
from temporalio.exceptions import ApplicationError

from adapters.encryption.codec import NONCE_BYTES, EncryptedPayloads
from adapters.encryption.keys import Keys, read_keys
from adapters.masking.masker import Masker
from adapters.masking.temporal import masked_converter
from domain.errors import Malformed, Unavailable

OLD, NEW = base64.b64encode(b"o" * 32).decode(), base64.b64encode(b"n" * 32).decode()


def key_file(folder: Path, text: str, mode: int = 0o600) -> Path:
    path = folder / "payload.key"
    path.write_text(text)
    path.chmod(mode)
    return path


def keys(folder: Path, *lines: str) -> Keys:
    return read_keys(key_file(folder, "\n".join(lines)))


class TestKeyFiles:
    def test_the_first_key_is_first_and_ids_follow_from_keys(self, tmp_path: Path) -> None:
        both = keys(tmp_path, "# since November", NEW, "", f"  {OLD} ")
        assert list(both.values()) == [b"n" * 32, b"o" * 32]
        assert keys(tmp_path, OLD).keys() == {list(both)[1]}

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("", ":1: payload_key_file: has no key"),
            ("# none\n", ":1: payload_key_file: has no key"),
            (f"{NEW}\nSECRET!!\n", ":2: payload_key_file: is not base64"),
            ("U0VDUkVU\n", ":1: payload_key_file: is a key of 6 bytes, expected 32"),
        ],
    )
    def test_what_is_no_key_is_told_with_its_line_and_without_it(self, tmp_path: Path, text: str, said: str) -> None:
        with pytest.raises(Malformed) as caught:
            read_keys(key_file(tmp_path, text))
        assert said in str(caught.value)
        assert "SECRET" not in str(caught.value)
        assert "U0VDUkVU" not in str(caught.value)

    @pytest.mark.parametrize("mode", [0o604, 0o602, 0o620, 0o610, 0o644])
    def test_a_file_that_others_can_use_is_none(self, tmp_path: Path, mode: int) -> None:
        with pytest.raises(Malformed, match=rf"by others \(mode {mode:04o}\), expected mode 0600"):
            read_keys(key_file(tmp_path, NEW, mode))

    def test_only_root_s_may_be_a_group_s_as_a_mounted_secret_is(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = key_file(tmp_path, NEW, 0o440)
        real = os.fstat

        def owned_by(user: int) -> None:
            def fstat(descriptor: int) -> os.stat_result:
                return os.stat_result([*real(descriptor)[:4], user, *real(descriptor)[5:10]])

            monkeypatch.setattr("adapters.encryption.keys.os.fstat", fstat)

        owned_by(0)
        assert read_keys(path)
        owned_by(1000)
        with pytest.raises(Malformed, match="mode 0440"):
            read_keys(path)

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(Malformed, match="cannot be read: No such file"):
            read_keys(tmp_path / "nothing")


class TestCodec:
    async def test_hides_everything_of_a_payload_and_gives_it_back(self, tmp_path: Path) -> None:
        codec = EncryptedPayloads(keys(tmp_path, NEW))
        clear = [Payload(metadata={"encoding": b"json/plain"}, data=b'"hidden"'), Payload()]
        hidden = await codec.encode(clear)
        assert b"hidden" not in hidden[0].SerializeToString()
        assert b"json/plain" not in hidden[0].SerializeToString()
        assert await codec.decode(hidden) == clear
        again = await codec.encode(clear)
        assert again[0].data[:NONCE_BYTES] != hidden[0].data[:NONCE_BYTES]

    async def test_costs_a_hundred_bytes(self, tmp_path: Path) -> None:
        """The server takes payloads of two megabytes: what fitted before still does, but for this."""
        clear = Payload(metadata={"encoding": b"json/plain"}, data=b"x" * 10_000)
        (hidden,) = await EncryptedPayloads(keys(tmp_path, NEW)).encode([clear])
        assert hidden.ByteSize() - clear.ByteSize() < 128

    async def test_a_new_key_reads_with_the_old_one_below_it(self, tmp_path: Path) -> None:
        payload = Payload(data=b"x")
        old = EncryptedPayloads(keys(tmp_path, OLD))
        both = EncryptedPayloads(keys(tmp_path, NEW, OLD))
        new = EncryptedPayloads(keys(tmp_path, NEW))
        assert await both.decode(await old.encode([payload])) == [payload]
        assert await new.decode(await both.encode([payload])) == [payload]
        with pytest.raises(Unavailable, match="which payload_key_file does not have"):
            await new.decode(await old.encode([payload]))

    async def test_what_was_changed_is_not_read(self, tmp_path: Path) -> None:
        codec = EncryptedPayloads(keys(tmp_path, NEW))
        (hidden,) = await codec.encode([Payload(data=b"x")])
        for data in (hidden.data[:-1] + bytes([hidden.data[-1] ^ 1]), hidden.data[:5], b""):
            with pytest.raises(Unavailable, match="was changed"):
                await codec.decode([Payload(metadata=hidden.metadata, data=data)])

    async def test_what_was_written_before_is_read(self, tmp_path: Path) -> None:
        before = await masked_converter(Masker()).encode(["x"])
        assert await masked_converter(Masker(), EncryptedPayloads(keys(tmp_path, NEW))).decode(before) == ["x"]


class TestConverter:
    async def test_masks_then_encrypts(self, tmp_path: Path) -> None:
        codec = EncryptedPayloads(keys(tmp_path, NEW))
        converter = masked_converter(Masker({"TOKEN": b"hunter2hunter3"}), codec)
        hidden = await converter.encode(["it is hunter2hunter3"])
        assert (await codec.decode(hidden))[0].data == b'"it is [secret TOKEN]"'

    async def test_messages_and_traces_of_failures_are_encrypted_too(self, tmp_path: Path) -> None:
        converter = masked_converter(Masker({"TOKEN": b"hunter2hunter3"}), EncryptedPayloads(keys(tmp_path, NEW)))
        failure = Failure()
        try:
            try:
                raise ValueError("inner merger, hunter2hunter3")
            except ValueError as error:
                raise ApplicationError("about the merger", "merger detail", type="unavailable") from error
        except ApplicationError as error:
            await converter.encode_failure(error, failure)
        assert b"merger" not in failure.SerializeToString()
        assert failure.application_failure_info.type == "unavailable"
        seen = await converter.decode_failure(failure)
        assert isinstance(seen, ApplicationError)
        assert (seen.message, *seen.details) == ("about the merger", "merger detail")
        assert str(seen.__cause__) == "ValueError: inner merger, [secret TOKEN]"

    async def test_without_a_key_nothing_changes_and_ciphertext_is_named(self, tmp_path: Path) -> None:
        converter = masked_converter(Masker())
        failure = Failure()
        await converter.encode_failure(ApplicationError("plain"), failure)
        assert failure.message == "plain"
        hidden = await masked_converter(Masker(), EncryptedPayloads(keys(tmp_path, NEW))).encode(["x"])
        with pytest.raises(Unavailable, match="no payload_key_file is set here"):
            await converter.decode(hidden)
