"""Payloads as AES-256-GCM ciphertext, each with the id of its key; what is not encrypted is read as it is.

It hides, and notices what was changed; it does not refuse payloads in clear, which are those of before it was used.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from temporalio.api.common.v1 import Payload
from temporalio.converter import PayloadCodec

from adapters.encryption import ENCODING, unreadable
from adapters.encryption.keys import Keys

NONCE_BYTES = 12
KEY_ID = "encryption-key-id"


class EncryptedPayloads(PayloadCodec):
    """Encrypts with the first of `keys`, decrypts with any of them."""

    def __init__(self, keys: Keys) -> None:
        self._ciphers = {name: AESGCM(key) for name, key in keys.items()}
        self._first = next(iter(keys))

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """See the base class."""
        return [self._encrypted(payload) for payload in payloads]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """See the base class. Raises `Unavailable` (system_error) for a key that is not here, and changed bytes."""
        return [self._clear(payload) for payload in payloads]

    def _encrypted(self, payload: Payload) -> Payload:
        nonce, name = os.urandom(NONCE_BYTES), self._first.encode()
        data = self._ciphers[self._first].encrypt(nonce, payload.SerializeToString(), name)
        return Payload(metadata={"encoding": ENCODING, KEY_ID: name}, data=nonce + data)

    def _clear(self, payload: Payload) -> Payload:
        if payload.metadata.get("encoding") != ENCODING:
            return payload
        name = payload.metadata.get(KEY_ID, b"")
        cipher = self._ciphers.get(name.decode("utf-8", "replace"))
        if cipher is None:
            raise unreadable(f"with the key {name.decode('utf-8', 'replace')!r}, which payload_key_file does not have")
        try:
            clear = cipher.decrypt(payload.data[:NONCE_BYTES], payload.data[NONCE_BYTES:], name)
        except (InvalidTag, ValueError) as error:
            raise unreadable("and was changed since") from error
        return Payload.FromString(clear)
