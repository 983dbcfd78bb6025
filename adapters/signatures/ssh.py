"""Says whose an SSH signature is, by a session's signers and by those of now; `ssh-keygen` does the cryptography.

It knows no act: what a signature is good for is `domain.signing`'s to say.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from adapters.signatures.allowed import Line, first_string, lines_of, text_of
from adapters.signatures.keygen import INSTALL, Said, folder, keygen
from domain.errors import Cause, Malformed, Unavailable
from domain.signatures import MOST_SIGNED, NAMESPACE, SignatureCheck, Signed, Signers

MOST_SIGNATURE = 100_000
"""Characters: a certificate with thousands of principals has less."""

_ARMOR = re.compile(r"-----BEGIN SSH SIGNATURE-----\s+([A-Za-z0-9+/=\s]+?)\s*-----END SSH SIGNATURE-----\s*")
_FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")
_MAGIC = b"SSHSIG\0\0\0\1"


class SshSignatures:
    """`domain.ports.Signatures`. `current`: the signers of the configuration now, None where there are none.

    `current` may raise `Malformed`: what cannot be read lets nobody sign, and refuses nobody either.
    """

    def __init__(self, current: Callable[[], Signers | None]) -> None:
        self._current = current

    def check(self, signed: Signed, signers: Signers, at: datetime, claimed: str = "") -> SignatureCheck:
        """See `domain.ports.Signatures`."""
        found = check_by(signed, signers, at, claimed)
        if found.code:
            return found
        try:
            now = self._current()
        except Malformed as error:
            raise Unavailable(
                Cause.SYSTEM_ERROR, f"the signers of now cannot be read: {error}", "mend [signers], then ask again"
            ) from error
        still = check_by(signed, now, at, found.signer) if now is not None else None
        if still is not None and still.signer == found.signer and not still.code:
            return found
        return SignatureCheck(
            code="signer_removed",
            reason=f"{found.signer} may sign no more with this key: the configuration of now does not have it",
            signer=found.signer,
            fingerprint=found.fingerprint,
        )


def check_by(signed: Signed, signers: Signers, at: datetime, claimed: str = "") -> SignatureCheck:
    """Whose it is by `signers` alone, at that time. Raises `Unavailable` where ssh-keygen cannot say."""
    key = _key_of(signed)
    if key is None:
        return _bad("there is no SSH signature: -----BEGIN SSH SIGNATURE----- begins one")
    if len(signed.statement) > MOST_SIGNED:
        return _bad(f"what is signed has more than {MOST_SIGNED} characters")
    try:
        text = signed.statement.encode()
    except UnicodeEncodeError:
        return _bad("what is signed is no UTF-8")
    with folder() as place:
        signature = place / "signature"
        signature.write_text("\n".join(signed.signature.split("\r\n")))
        good = keygen("-Y", "check-novalidate", "-n", NAMESPACE, "-s", str(signature), text=text)
        if not _is_good(good):
            return _bad(f"it is no signature of this text for {NAMESPACE}: {good.last}")
        found = _FINGERPRINT.search(good.out)
        fingerprint = found[0] if found else ""
        lines, wrong = lines_of(signers.allowed)
        if wrong:
            raise Unavailable(
                Cause.SYSTEM_ERROR, f"the session's signers cannot be read: {wrong[0].what}", "create the session anew"
            )
        when = f"-Overify-time={at.astimezone(UTC):%Y%m%d%H%M%S}"
        for principal in _candidates(place, lines, key, when, claimed):
            (place / "allowed").write_text(text_of(lines))
            asked = ("-Y", "verify", "-n", NAMESPACE, "-s", str(signature), "-f", str(place / "allowed"), when)
            if _is_good(keygen(*asked, "-I", principal, text=text)):
                role = signers.roles.get(principal, "reviewer")
                return SignatureCheck(signer=principal, fingerprint=fingerprint, role=role, acts=signers.acts)
    reason = f"the key {fingerprint} is of nobody who may sign in this session, for {NAMESPACE} and at this time"
    return SignatureCheck(code="unknown_signer", reason=reason, fingerprint=fingerprint)


def _candidates(place: Path, lines: list[Line], key: bytes, when: str, claimed: str) -> list[str]:
    """Whom the key may belong to, in the order of the lines, `claimed` before the others if it is among them."""
    found = [name for line in lines if not line.authority and line.key == key for name in line.principals]
    if authorities := [line for line in lines if line.authority]:
        file = place / "authorities"
        file.write_text(text_of(authorities))
        said = keygen("-Y", "find-principals", "-s", str(place / "signature"), "-f", str(file), when)
        if not said.ok and "No principal matched" not in said.err:
            raise _broken(said)
        found += [name for listed in said.out.splitlines() if said.ok for name in listed.strip().split(",") if name]
    return sorted(dict.fromkeys(found), key=lambda name: name != claimed)


def _is_good(said: Said) -> bool:
    """What ssh-keygen says of a signature, in its own words: an exit code alone has too many causes.

    Raises `Unavailable` (system_error) where it says neither.
    """
    if said.ok and said.out.startswith(f'Good "{NAMESPACE}" signature'):
        return True
    if not said.ok and said.out.startswith("Could not verify signature"):
        return False
    raise _broken(said)


def _broken(said: Said) -> Unavailable:
    what = f"ssh-keygen does not say whether a signature is good: {said.last or 'it prints nothing'}"
    return Unavailable(Cause.SYSTEM_ERROR, what, INSTALL)


def _key_of(signed: Signed) -> bytes | None:
    """The public key, or the certificate, that stands in the signature; None where that is none."""
    if len(signed.signature) > MOST_SIGNATURE or not signed.signature.isascii():
        return None
    armor = _ARMOR.fullmatch(signed.signature.strip())
    if armor is None:
        return None
    try:
        data = base64.b64decode("".join(armor[1].split()), validate=True)
    except (binascii.Error, ValueError):
        return None
    return first_string(data.removeprefix(_MAGIC)) if data.startswith(_MAGIC) else None


def _bad(reason: str) -> SignatureCheck:
    return SignatureCheck(code="bad_signature", reason=reason)
