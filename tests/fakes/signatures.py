"""Signatures in memory: a key is its name, and whoever knows that can sign. Lines are as OpenSSH's, without a type."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime

from domain.base import sha256_hex
from domain.signatures import MOST_SIGNED, NAMESPACE, SignatureCheck, Signed, Signers


def faked(key: str, text: str, namespace: str = NAMESPACE) -> Signed:
    """`text` as signed by that key."""
    return Signed(
        statement=text,
        signature=json.dumps({"key": key, "namespace": namespace, "text": sha256_hex(text.encode())}),
    )


class MemorySignatures:
    """`domain.ports.Signatures` that believes what is written."""

    def __init__(self, current: Callable[[], Signers | None]) -> None:
        self._current = current

    def check(self, signed: Signed, signers: Signers, at: datetime, claimed: str = "") -> SignatureCheck:
        """See `domain.ports.Signatures`."""
        key = _key(signed)
        if key is None:
            return SignatureCheck(code="bad_signature", reason="no signature of this")
        fingerprint = f"FAKE:{key}"
        names = sorted(_names(signers, key), key=lambda name: name != claimed)
        if not names:
            return SignatureCheck(code="unknown_signer", reason="not a key of anybody", fingerprint=fingerprint)
        now = self._current()
        if now is None or names[0] not in _names(now, key):
            return SignatureCheck(code="signer_removed", reason="no more", signer=names[0], fingerprint=fingerprint)
        role = signers.roles.get(names[0], "reviewer")
        return SignatureCheck(signer=names[0], fingerprint=fingerprint, role=role, acts=signers.acts)


def _key(signed: Signed) -> str | None:
    try:
        said = json.loads(signed.signature)
    except ValueError:
        return None
    if not isinstance(said, dict) or len(signed.statement) > MOST_SIGNED:
        return None
    good = said["namespace"] == NAMESPACE and said["text"] == sha256_hex(signed.statement.encode())
    return str(said["key"]) if good else None


def _names(signers: Signers, key: str) -> list[str]:
    lines = (line.split() for line in signers.allowed.splitlines())
    return [name for fields in lines if fields[-1] == key for name in fields[0].split(",")]
