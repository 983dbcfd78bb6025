"""Signs a text by `ssh-keygen -Y sign`: with a key's file, or by an agent or token that has it. It refuses nothing."""

from __future__ import annotations

from pathlib import Path

from adapters.signatures.keygen import folder, keygen
from domain.errors import Malformed, Problem
from domain.signatures import NAMESPACE, Signed


def sign_text(text: str, key: Path) -> Signed:
    """`text` signed with `key`: a private key, or the public key of one that ssh-agent or a hardware token has.

    It waits as long as the key asks (for a passphrase on the terminal, for a touch). Raises `Malformed` where it cannot
    be used, `Unavailable`.
    """
    if not key.is_file():
        raise _unfit(key, "does not exist")
    with folder() as place:
        file = place / "statement"
        file.write_bytes(text.encode())
        said = keygen("-Y", "sign", "-n", NAMESPACE, "-f", str(key.absolute()), str(file), agent=True)
        made = place / "statement.sig"
        if not said.ok or not made.is_file():
            raise _unfit(key, f"signs nothing: {said.last or 'ssh-keygen says no more'}")
        return Signed(statement=text, signature=made.read_text())


def _unfit(key: Path, what: str) -> Malformed:
    expected = "expected a private SSH key, or the public key of one that ssh-agent has"
    return Malformed([Problem(file=str(key), line=1, field="key", what=what, expected=expected)])
