"""Signatures of every kind of SSH key, by files and by an agent; and an ssh-keygen that is not there, or lies."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapters.signatures import SshSignatures, keygen
from adapters.signatures.allowed import lines_of
from adapters.signatures.signing import sign_text
from adapters.signatures.ssh import check_by
from domain.errors import Cause, Malformed, Problem, Unavailable
from domain.signatures import Signed, Signers
from tests import signing
from tests.signing import Key, make_key, signers_of

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)
ANN = "ann@example.org"
TEXT = '{"reason":"größer, as agreed"}'
ENDLESS = "exec cat /dev/zero >/dev/null"


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What ends by itself has its time, however slow it is."""
    monkeypatch.setattr(keygen, "PATIENCE_SECONDS", 240.0)


@pytest.fixture
def key(tmp_path: Path) -> Key:
    return make_key(tmp_path, "key")


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Path]:
    """The socket of an agent of the test's own."""
    socket = tmp_path / "agent"
    said = subprocess.run(["ssh-agent", "-s", "-a", str(socket)], check=True, capture_output=True, text=True).stdout
    found = re.search(r"SSH_AGENT_PID=(\d+)", said)
    assert found
    yield socket
    os.kill(int(found[1]), signal.SIGTERM)


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa", "rsa"])
def test_every_kind_of_key(tmp_path: Path, kind: str) -> None:
    key = make_key(tmp_path, "k", kind)
    found = check_by(sign_text(TEXT, key.file), signers_of(key.line(ANN), ann="owner"), NOON)
    assert (found.code, found.signer, found.role, found.fingerprint[:7]) == ("", ANN, "owner", "SHA256:")


def test_a_key_that_only_the_agent_has(tmp_path: Path, agent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = make_key(tmp_path, "k")
    monkeypatch.setenv("SSH_AUTH_SOCK", str(agent))
    subprocess.run(["ssh-add", "-q", str(key.file)], check=True, capture_output=True)
    key.file.unlink()
    signed = sign_text(TEXT, tmp_path / "k.pub")
    assert check_by(signed, signers_of(key.line(ANN)), NOON).signer == ANN


def test_a_key_that_signs_nothing_is_named(tmp_path: Path) -> None:
    (tmp_path / "letter").write_text("Dear Ann")
    for file, what in ((tmp_path / "letter", "signs nothing"), (tmp_path / "none", "does not exist")):
        with pytest.raises(Malformed) as caught:
            sign_text(TEXT, file)
        (problem,) = caught.value.problems
        assert (problem.file, problem.what[: len(what)]) == (str(file), what)


def test_a_certificate_is_its_principals_that_the_authority_may_name(tmp_path: Path) -> None:
    authority, key = make_key(tmp_path, "authority"), make_key(tmp_path, "k")
    names = "carl@other.org,carl@example.org"
    signing.keygen(
        "-q", "-s", str(authority.file), "-I", "carl", "-n", names, "-V", "20260101:20260201", f"{key.file}.pub"
    )
    signed = signing.signed_with(tmp_path / "k-cert.pub", TEXT)
    signers = signers_of(authority.line("*@example.org", "cert-authority"), carl="owner")
    assert check_by(signed, signers, NOON).signer == "carl@example.org"
    assert check_by(signed, signers, NOON).role == "owner"
    assert check_by(signed, signers, NOON.replace(month=3)).code == "unknown_signer", "the certificate has ended"
    assert check_by(signed, signers_of(key.line(ANN)), NOON).code == "unknown_signer", "it is not the key itself"
    assert check_by(key.signs(TEXT), signers, NOON).code == "unknown_signer", "nor the key its certificate"


def test_a_line_is_good_for_its_time_and_its_namespaces(key: Key) -> None:
    signed = key.signs(TEXT)

    def code(options: str, at: datetime = NOON) -> str:
        return check_by(signed, signers_of(key.line(ANN, options)), at).code

    assert code('valid-before="20260115110000"') == "unknown_signer"
    assert code('valid-before="20260115130000"') == ""
    assert code('valid-after="20260116"') == "unknown_signer"
    assert code('valid-after="20260116"', NOON.replace(day=17)) == ""
    assert code('namespaces="git"') == "unknown_signer"
    assert code('namespaces="git,countersign"') == ""
    both = signers_of(key.line(ANN, 'namespaces="git"'), key.line("bob@example.org"))
    assert check_by(signed, both, NOON).signer == "bob@example.org"


def test_line_ends_of_windows_in_a_signature_are_none_of_its_faults_and_in_a_statement_are(key: Key) -> None:
    signed, signers = key.signs(TEXT), signers_of(key.line(ANN))
    carried = signed.model_copy(update={"signature": signed.signature.replace("\n", "\r\n")})
    assert check_by(carried, signers, NOON).code == ""
    assert check_by(signed.model_copy(update={"statement": f"{TEXT}\r\n"}), signers, NOON).code == "bad_signature"


@pytest.mark.parametrize(
    "signature",
    [
        "-----BEGIN SSH SIGNATURE-----\n\n-----END SSH SIGNATURE-----",
        "-----BEGIN SSH SIGNATURE-----\nU1NIU0lHAAAAAQ==\n-----END SSH SIGNATURE-----",
        "-----BEGIN SSH SIGNATURE-----\nU1NIU0lHAAAAAf////8=\n-----END SSH SIGNATURE-----",
        "-----BEGIN SSH SIGNATURE-----\nno base64\n-----END SSH SIGNATURE-----",
        "-----BEGIN SSH SIGNATURE-----\nü\n-----END SSH SIGNATURE-----",
        "x" * 1_000_000,
        "-----BEGIN PGP SIGNATURE-----\n\n-----END PGP SIGNATURE-----",
    ],
)
def test_garbage_is_a_bad_signature(key: Key, signature: str) -> None:
    found = check_by(Signed(statement=TEXT, signature=signature), signers_of(key.line(ANN)), NOON)
    assert (found.code, found.signer) == ("bad_signature", "")


def test_half_a_character_is_signed_by_nobody(key: Key) -> None:
    signed = Signed(statement="\ud800", signature=key.signs(TEXT).signature)
    assert check_by(signed, signers_of(key.line(ANN)), NOON).code == "bad_signature"


def test_without_ssh_keygen_nothing_can_be_told(key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    signed, signers = key.signs(TEXT), signers_of(key.line(ANN))
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(Unavailable, match="openssh-client") as caught:
        SshSignatures(lambda: signers).check(signed, signers, NOON)
    assert caught.value.cause is Cause.SYSTEM_ERROR


@pytest.mark.parametrize(
    ("program", "cause"),
    [
        ("exit 0", Cause.SYSTEM_ERROR),
        ("exit 1", Cause.SYSTEM_ERROR),
        ("echo 'unknown option -- Y' >&2; exit 255", Cause.SYSTEM_ERROR),
        ("kill -9 $$", Cause.SERVICE_UNAVAILABLE),
        (ENDLESS, Cause.SERVICE_UNAVAILABLE),
    ],
)
def test_one_that_does_not_say_is_neither_a_pass_nor_a_refusal(
    key: Key, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, cause: Cause
) -> None:
    signed, signers = key.signs(TEXT), signers_of(key.line(ANN))
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "ssh-keygen").write_text(f"#!/bin/sh\n{program}\n")
    (folder / "ssh-keygen").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    if program == ENDLESS:
        monkeypatch.setattr(keygen, "PATIENCE_SECONDS", 0.5)
    with pytest.raises(Unavailable) as caught:
        check_by(signed, signers, NOON)
    assert caught.value.cause is cause


def test_signers_of_now_that_cannot_be_read_let_nobody_sign_and_refuse_nobody(key: Key) -> None:
    signed, signers = key.signs(TEXT), signers_of(key.line(ANN))

    def spoilt() -> Signers:
        raise Malformed([Problem(file="allowed", line=1, field="line", what="is none", expected="expected one")])

    with pytest.raises(Unavailable, match="is none"):
        SshSignatures(spoilt).check(signed, signers, NOON)
    assert SshSignatures(spoilt).check(signed, signers_of(), NOON).code == "unknown_signer"


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("ann@example.org", "is no line of an allowed signers file"),
        ("ann@example.org ssh-ed25519", "is no line of an allowed signers file"),
        ("ann@example.org ssh-dss AAAA", "is no line of an allowed signers file"),
        ("ann@example.org ssh-ed25519 !!!!", "has no ssh-ed25519 key"),
        ("ann@example.org ssh-rsa {key}", "has no ssh-rsa key"),
        ("*@example.org ssh-ed25519 {key}", "'*@example.org' names nobody"),
        ("ann@example.org,!bob ssh-ed25519 {key}", "'!bob' names nobody"),
        ("ann@example.org, ssh-ed25519 {key}", "has an empty principal"),
        ('ann@example.org valid-before="soon" ssh-ed25519 {key}', "has the time 'soon'"),
        ("ann@example.org no-touch ssh-ed25519 {key}", "has the option 'no-touch'"),
        ('ann@example.org cert-authority="x" ssh-ed25519 {key}', "has the option 'cert-authority=\"x\"'"),
        ('ann@example.org namespaces="a"namespaces="b" ssh-ed25519 {key}', "has options that cannot be read"),
    ],
)
def test_a_line_that_is_none_is_told(key: Key, line: str, what: str) -> None:
    good = key.line("bob@example.org")
    found, wrong = lines_of(f"# people\n\n{good}{line.format(key=key.public.split()[1])}\n")
    assert [one.principals for one in found] == [("bob@example.org",)]
    assert [(one.line, one.what[: len(what)]) for one in wrong] == [(4, what)]


def test_what_a_line_may_have(key: Key) -> None:
    text = "\r\n".join(
        (
            f"ann@example.org,ann {key.public} Ann's laptop",
            f'"bob@example.org" namespaces="git,countersign",valid-before="20300101Z" {key.public}',
            f"*@example.org CERT-AUTHORITY {key.public}",
        )
    )
    found, wrong = lines_of(text)
    assert wrong == []
    assert [(one.principals, one.authority) for one in found] == [
        (("ann@example.org", "ann"), False),
        (("bob@example.org",), False),
        (("*@example.org",), True),
    ]
    assert [one.names("ann") for one in found] == [True, False, False]
    assert [one.names("carl@example.org") for one in found] == [False, False, True]
