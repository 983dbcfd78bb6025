"""What every `domain.ports.Signatures` does: held against ssh-keygen, and against the fake."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import pytest

from adapters.masking.masker import Masker
from adapters.masking.stores import MaskedSignatures
from adapters.signatures import SshSignatures
from domain.ports import Signatures
from domain.signatures import MOST_SIGNED, NAMESPACE, Signed, Signers
from tests.fakes.signatures import MemorySignatures, faked
from tests.signing import Key, make_key

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)
TEXT = '{"action":"approve"}'


class Place(Protocol):
    """Keys by name, and whoever looks at what they signed. `current`: who may sign now."""

    current: Signers | None

    def signatures(self) -> Signatures: ...

    def signs(self, key: str, text: str, namespace: str = NAMESPACE) -> Signed: ...

    def line(self, principals: str, key: str) -> str: ...


class SshPlace:
    def __init__(self, folder: Path) -> None:
        self.current: Signers | None = None
        self._folder = folder
        self._keys: dict[str, Key] = {}

    def signatures(self) -> Signatures:
        return SshSignatures(lambda: self.current)

    def signs(self, key: str, text: str, namespace: str = NAMESPACE) -> Signed:
        return self._key(key).signs(text, namespace)

    def line(self, principals: str, key: str) -> str:
        return self._key(key).line(principals)

    def _key(self, name: str) -> Key:
        if name not in self._keys:
            self._keys[name] = make_key(self._folder, name)
        return self._keys[name]


class MemoryPlace:
    def __init__(self) -> None:
        self.current: Signers | None = None

    def signatures(self) -> Signatures:
        return MemorySignatures(lambda: self.current)

    def signs(self, key: str, text: str, namespace: str = NAMESPACE) -> Signed:
        return faked(key, text, namespace)

    def line(self, principals: str, key: str) -> str:
        return f"{principals} {key}\n"


@pytest.fixture(params=["ssh-keygen", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return SshPlace(tmp_path) if request.param == "ssh-keygen" else MemoryPlace()


def test_whose_it_is_with_the_role_and_the_acts_of_the_session(place: Place) -> None:
    signers = Signers(
        allowed=place.line("ann@example.org", "a") + place.line("bob@example.org", "b"),
        roles={"ann@example.org": "owner"},
        acts={"override": "reviewer"},
    )
    place.current = Signers(allowed=signers.allowed)
    found = place.signatures().check(place.signs("a", TEXT), signers, NOON)
    assert (found.code, found.signer, found.role, found.acts) == (
        "",
        "ann@example.org",
        "owner",
        {"override": "reviewer"},
    )
    other = place.signatures().check(place.signs("b", TEXT), signers, NOON)
    assert (other.code, other.signer, other.role) == ("", "bob@example.org", "reviewer")
    assert found.fingerprint
    assert found.fingerprint != other.fingerprint


def test_what_is_no_signature_of_this(place: Place) -> None:
    signers = place.current = Signers(allowed=place.line("ann@example.org", "a"))
    good = place.signs("a", TEXT)
    wrong = {
        "another text": good.model_copy(update={"statement": TEXT + " "}),
        "another namespace": place.signs("a", TEXT, "git"),
        "no signature": good.model_copy(update={"signature": "I say so"}),
        "nothing": good.model_copy(update={"signature": ""}),
        "a very long text": place.signs("a", "x" * (MOST_SIGNED + 1)),
    }
    codes = {name: place.signatures().check(signed, signers, NOON).code for name, signed in wrong.items()}
    assert codes == dict.fromkeys(wrong, "bad_signature")
    assert place.signatures().check(good, signers, NOON).code == ""


def test_a_key_that_the_session_does_not_have_is_of_nobody_whatever_is_configured_now(place: Place) -> None:
    signers = Signers(allowed=place.line("ann@example.org", "a"))
    place.current = Signers(allowed=signers.allowed + place.line("eve@example.org", "e"))
    found = place.signatures().check(place.signs("e", TEXT), signers, NOON)
    assert (found.code, found.signer) == ("unknown_signer", "")
    assert found.fingerprint, "of the key, whoever's it is"


def test_who_was_removed_signs_no_more(place: Place) -> None:
    signers = Signers(allowed=place.line("ann@example.org", "a") + place.line("bob@example.org", "b"))
    signed = place.signs("a", TEXT)
    now = (
        None,
        Signers(allowed=place.line("bob@example.org", "b")),
        Signers(allowed=place.line("ann@example.org", "new")),
        Signers(allowed=place.line("ann.smith@example.org", "a")),
    )
    for place.current in now:
        found = place.signatures().check(signed, signers, NOON)
        assert (found.code, found.signer) == ("signer_removed", "ann@example.org"), place.current
    place.current = signers
    assert place.signatures().check(signed, signers, NOON).code == ""


def test_of_several_principals_of_a_key_the_one_that_is_claimed_is_meant(place: Place) -> None:
    signers = place.current = Signers(allowed=place.line("ann@example.org,ops", "a") + place.line("root", "a"))
    signed = place.signs("a", TEXT)
    said = {claimed: place.signatures().check(signed, signers, NOON, claimed).signer for claimed in ("", "ops", "root")}
    assert said == {"": "ann@example.org", "ops": "ops", "root": "root"}
    assert place.signatures().check(signed, signers, NOON, "somebody").signer == "ann@example.org"


def test_what_the_trail_would_mask_is_not_taken(place: Place) -> None:
    signers = place.current = Signers(allowed=place.line("ann@example.org", "a"))
    masked = MaskedSignatures(place.signatures(), Masker({"TOKEN": b"q8Zr2LkV0wXs7TnB"}))
    assert masked.check(place.signs("a", TEXT), signers, NOON).code == ""
    found = masked.check(place.signs("a", '{"reason":"it is q8Zr2LkV0wXs7TnB"}'), signers, NOON)
    assert (found.code, found.signer) == ("signature_mismatch", "ann@example.org")
    assert masked.check(place.signs("e", "q8Zr2LkV0wXs7TnB"), signers, NOON).code == "unknown_signer"
