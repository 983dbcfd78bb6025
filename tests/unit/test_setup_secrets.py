"""How secrets are masked and found: every spelling, whatever the pieces that a text comes in."""

from __future__ import annotations

import base64
import io
import tarfile
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.sandbox.secrets import Secrets

VALUE = b"pass/word+with 'all'\\ of its"
SECRETS = Secrets({"TOKEN": VALUE, "KEY": b"-----BEGIN-----\nMIIabcdefgh\nxyz\n-----END KEY-----\n", "EMPTY": b""})


def masked(data: bytes, cuts: list[int], secrets: Secrets = SECRETS) -> bytes:
    masker = secrets.masker()
    places = sorted({min(cut, len(data)) for cut in cuts})
    pieces = [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]
    return b"".join([masker.feed(piece) for piece in pieces] + [masker.rest()])


@pytest.mark.parametrize(
    "spelling",
    [
        VALUE,
        base64.b64encode(VALUE),
        base64.urlsafe_b64encode(VALUE),
        quote(VALUE).encode(),
        quote(VALUE, safe="").encode(),
        quote(VALUE, safe="").lower().encode(),
        b"pass/word+with 'all'\\\\ of its",
    ],
)
def test_every_spelling_is_masked(spelling: bytes) -> None:
    assert SECRETS.mask(f"it is {spelling.decode()}.") == "it is [secret TOKEN]."


@pytest.mark.parametrize("user", ["", "a", "ab", "abc"])
def test_base64_of_more_than_the_secret(user: str) -> None:
    encoded = base64.b64encode(user.encode() + VALUE + b"!").decode()
    assert "[secret TOKEN]" in SECRETS.mask(encoded)
    assert len(SECRETS.mask(encoded)) <= len("[secret TOKEN]") + 2 * len(user) + 4


def test_the_lines_of_a_key_are_masked_alone() -> None:
    assert SECRETS.mask("MIIabcdefgh") == "[secret KEY]"
    assert SECRETS.mask("-----BEGIN-----\nMIIabcdefgh\nxyz\n-----END KEY-----") == "[secret KEY]"


def test_an_empty_secret_hides_nothing() -> None:
    assert not Secrets({"EMPTY": b""})
    assert Secrets({"EMPTY": b""}).mask("text") == "text"
    assert masked(b"text", [2], Secrets({})) == b"text"


@given(
    st.lists(st.sampled_from([VALUE, VALUE[:9], VALUE[5:], b"-----BEGIN", b"x", b"\n"])), st.lists(st.integers(0, 90))
)
def test_pieces_change_nothing(parts: list[bytes], cuts: list[int]) -> None:
    data = b"".join(parts)
    assert masked(data, cuts) == SECRETS.mask(data.decode()).encode()


def test_of_two_secrets_the_longer_counts() -> None:
    secrets = Secrets({"SHORT": b"hunter2", "LONG": b"hunter2hunter3"})
    assert masked(b"a hunter2hunter3 b hunter2", [9, 12], secrets) == b"a [secret LONG] b [secret SHORT]"


def test_what_cannot_be_a_secret_is_shown_at_once() -> None:
    masker = SECRETS.masker()
    assert masker.feed(b"line\npass/wo") == b"line\n"
    assert masker.feed(b"rk\n") == b"pass/work\n"


def tar(*members: tuple[str, bytes, str]) -> bytes:
    """Files by name and content; the third part is what a hard link leads to."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", errors="surrogateescape") as archive:
        for name, data, target in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            if target:
                info.type, info.linkname = tarfile.LNKTYPE, target
            archive.addfile(info, io.BytesIO(data))
    return file.getvalue()


def found(archive: bytes, changed: set[str]) -> tuple[str, str] | None:
    return SECRETS.find(lambda: (archive[at : at + 700] for at in range(0, len(archive), 700)), changed)


def test_only_what_changed_is_looked_at() -> None:
    archive = tar(("a/b", b"x" + VALUE, ""), ("c", b"nothing", ""))
    assert found(archive, {"/c"}) is None
    assert found(archive, {"/a/b", "/c"}) == ("TOKEN", "/a/b")


def test_a_secret_across_two_pieces() -> None:
    before = b"." * (1024 * 1024 - 5)
    assert found(tar(("a", before + VALUE, "")), {"/a"}) == ("TOKEN", "/a")


def test_a_hard_link_to_what_did_not_change() -> None:
    archive = tar(("old", VALUE, ""), ("new", b"", "old"))
    assert found(archive, {"/new"}) == ("TOKEN", "/old")


def test_a_name_that_is_no_utf_8() -> None:
    assert found(tar(("a\udcff", VALUE, "")), {"/a\N{REPLACEMENT CHARACTER}"}) == (
        "TOKEN",
        "/a\N{REPLACEMENT CHARACTER}",
    )


def test_a_secret_in_a_name() -> None:
    assert found(tar(("MIIabcdefgh", b"", ""), (quote(VALUE), b"", "")), {f"/{quote(VALUE)}"}) == (
        "TOKEN",
        "/[secret TOKEN]",
    )
