"""A manifest: its digest, its encoding, where a path leads in it, and how two of them differ."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.base import sha256_hex
from domain.tree import Change, Entry, Manifest, changes

NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/"), min_size=1, max_size=5)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
DIGESTS = st.binary(max_size=3).map(sha256_hex)
FILES = st.builds(Entry, path=PATHS, executable=st.booleans(), size=st.integers(0, 2**40), digest=DIGESTS)
LINKS = st.builds(Entry, path=PATHS, kind=st.just("link"), target=PATHS)
MANIFESTS = st.lists(FILES | LINKS, max_size=8, unique_by=lambda entry: entry.path).map(Manifest.of)


def file(path: str, content: bytes = b"", executable: bool = False) -> Entry:
    return Entry(path=path, size=len(content), digest=sha256_hex(content), executable=executable)


def link(path: str, target: str) -> Entry:
    return Entry(path=path, kind="link", target=target)


@given(MANIFESTS)
def test_decodes_to_what_was_encoded(manifest: Manifest) -> None:
    decoded = Manifest.decode(manifest.encode())
    assert decoded == manifest
    assert decoded.digest == manifest.digest == sha256_hex(manifest.encode())
    assert decoded.size == manifest.size


@given(st.permutations([file("a"), file("b/c", b"1"), link("d", "a"), file("b.d")]))
def test_the_order_of_reading_does_not_change_the_digest(entries: list[Entry]) -> None:
    assert (
        Manifest.of(entries).digest == Manifest.of([file("a"), file("b.d"), file("b/c", b"1"), link("d", "a")]).digest
    )


@pytest.mark.parametrize(
    "other",
    [
        [file("a", b"y")],
        [file("b", b"x")],
        [file("a", b"x", executable=True)],
        [link("a", "x")],
        [file("a", b"x"), file("b")],
        [],
    ],
)
def test_another_tree_has_another_digest(other: list[Entry]) -> None:
    assert Manifest.of(other).digest != Manifest.of([file("a", b"x")]).digest


TREE = Manifest.of(
    [
        *(file("README"), file("src/app.py", b"app"), file("src/pkg/mod.py")),
        *(link("latest", "src/app.py"), link("code", "src"), link("up", "src/pkg/../app.py"), link("src/out", "../..")),
        *(link("src/pkg/root", "../.."), link("one", "two"), link("two", "one"), link("absolute", "/etc/passwd")),
        *(link("self", "self/x"), link("dangling", "nowhere"), link("chain", "code/pkg/root/latest")),
    ]
)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("README", "README"),
        ("./README", "README"),
        ("src//app.py", "src/app.py"),
        ("src/../README", "README"),
        ("latest", "src/app.py"),
        ("code/app.py", "src/app.py"),
        ("up", "src/app.py"),
        ("chain", "src/app.py"),
        ("code/pkg/root/README", "README"),
        ("src", "directory"),
        ("code", "directory"),
        ("", "directory"),
        (".", "directory"),
        ("..", None),
        ("src/../..", None),
        ("src/out", None),
        ("code/out/README", None),
        ("one", None),
        ("self", None),
        ("absolute", None),
        ("dangling", None),
        ("nowhere", None),
        ("nowhere/..", None),
        ("README/x", None),
        ("README/..", None),
        ("/etc/passwd", None),
    ],
)
def test_resolves_inside_the_tree_only(path: str, found: str | None) -> None:
    resolved = TREE.resolve(path)
    assert (resolved.path if isinstance(resolved, Entry) else resolved) == found


def test_says_what_turns_one_tree_into_another() -> None:
    base = Manifest.of([file("same"), file("mode"), file("gone"), file("text", b"1"), file("kind", b"x")])
    head = Manifest.of(
        [file("same"), file("mode", executable=True), file("new"), file("text", b"2"), link("kind", "x")]
    )
    assert changes(base, head) == (
        Change(path="gone", kind="deleted"),
        Change(path="kind", kind="modified"),
        Change(path="mode", kind="modified"),
        Change(path="new", kind="added"),
        Change(path="text", kind="modified"),
    )


@given(MANIFESTS, MANIFESTS)
def test_changes_are_none_exactly_between_equal_trees(one: Manifest, other: Manifest) -> None:
    identities = [{path: entry.identity for path, entry in m.by_path.items()} for m in (one, other)]
    assert (changes(one, other) == ()) == (identities[0] == identities[1])
    assert changes(one, one) == ()
