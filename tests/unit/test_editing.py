"""`Edit` and what it works on: which edits there are, what of each is refused by which word, and who sees them."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from adapters.masking.masker import Masker
from adapters.masking.stores import MaskedEvidence
from adapters.roles import workbench
from adapters.roles.editing import Edit, EditArguments
from adapters.roles.snapshot_tools import Glob, GlobArguments, Grep, GrepArguments, Limits, Read, ReadArguments
from adapters.roles.tool import ToolRefused
from adapters.roles.workbench import Workbench
from domain.tree import Manifest, changes
from tests.fakes.evidence import MemoryStore
from tests.fakes.repairs import BASE, FIX, HEAD, RIGHT, Contents, pass_on
from tests.fakes.role_desk import Desk
from tests.frozen_trees import PATIENT_SECONDS

LIMITS = Limits(seconds=PATIENT_SECONDS)


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(monkeypatch)


def bench_of(desk: Desk, head: Contents = HEAD, base: Contents = BASE, **more: Any) -> Workbench:
    request = pass_on(desk, head, base, **more)
    return Workbench(desk.store, request.frozen, request.scope, request.round.order)


async def edit(bench: Workbench, path: str, old: str = "return", new: str = "yield", **more: Any) -> str:
    return await Edit(bench).call(EditArguments(path=path, old=old, new=new, **more))


async def refused(bench: Workbench, path: str, old: str = "return", new: str = "yield", **more: Any) -> str:
    before = bench.tree.digest
    with pytest.raises(ToolRefused) as caught:
        await edit(bench, path, old, new, **more)
    assert repr(path)[:100] in caught.value.reason or caught.value.code == "is_directory"
    assert (bench.tree.digest, bench.edits, bench.changed) == (before, 0, ())
    return caught.value.code


async def test_an_edit_is_seen_by_whoever_reads(desk: Desk) -> None:
    bench = bench_of(desk)
    assert await edit(bench, **FIX) == "src/prime.py: replaced in 1 place; 2 lines now\n"
    assert "range(2, n)" in await Read(bench, LIMITS).call(ReadArguments(path="src/prime.py"))
    assert await Grep(bench, LIMITS).call(GrepArguments(pattern="n % d")) == (
        "src/prime.py:2:    return n > 1 and all(n % d for d in range(2, n))\n"
    )
    assert "src/prime.py" in await Glob(bench, LIMITS).call(GlobArguments(pattern="*.py"))
    assert bench.changed == ("src/prime.py",)
    await edit(bench, "src/prime.py", "range(2, n)", "range(2, n // 2 + 1)")
    assert "n // 2" in await Read(bench, LIMITS).call(ReadArguments(path="src/prime.py"))


async def test_what_is_kept_is_the_worker_s_tree_with_the_edits(desk: Desk) -> None:
    request = pass_on(desk, executable=("src/prime.py",))
    bench = Workbench(desk.store, request.frozen, request.scope, request.round.order)
    await edit(bench, **FIX)
    kept = bench.keep()
    head, old = Manifest.decode(desk.store.get(kept.head)), Manifest.decode(desk.store.get(request.frozen.head))
    assert [(one.path, one.kind) for one in changes(old, head)] == [("src/prime.py", "modified")]
    assert head.digest == kept.head
    assert (kept.files, kept.size, kept.paths) == (len(HEAD), head.size, ("src/prime.py",))
    entry = head.by_path["src/prime.py"]
    assert (entry.executable, desk.store.get(entry.digest), entry.size) == (True, RIGHT, len(RIGHT))
    patch = desk.store.get(kept.patch).decode()
    assert "--- a/src/prime.py\n+++ b/src/prime.py\n" in patch
    assert "-    return n > 1\n+    return n > 1 and all(n % d for d in range(2, n))\n" in patch


async def test_an_edit_that_is_taken_back_is_none(desk: Desk) -> None:
    bench = bench_of(desk)
    await edit(bench, "src/other.py", "prime", "primes", all=True)
    await edit(bench, "src/other.py", "primes", "prime", all=True)
    assert (bench.edits, bench.changed) == (2, ())


async def test_a_file_may_become_empty_or_what_the_base_has(desk: Desk) -> None:
    bench = bench_of(desk)
    await edit(bench, "src/other.py", "from prime import is_prime\n", "")
    assert bench.blob(bench.tree.by_path["src/other.py"].digest) == b""
    await edit(bench, "src/prime.py", "return n > 1", "raise NotImplementedError")
    assert bench.changed == ("src/other.py", "src/prime.py")


async def test_text_that_stands_more_than_once_needs_all(desk: Desk) -> None:
    bench = bench_of(desk, {**HEAD, "src/new.py": b"aaa\nb\nb\n"})
    assert await refused(bench, "src/new.py", "b", "c") == "ambiguous"
    assert await refused(bench, "src/new.py", "aa", "c") == "ambiguous", "they overlap"
    assert await edit(bench, "src/new.py", "b", "c", all=True) == "src/new.py: replaced in 2 places; 3 lines now\n"
    assert bench.blob(bench.tree.by_path["src/new.py"].digest) == b"aaa\nc\nc\n"


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [("return n > 2", "x", "no_match"), ("RETURN", "x", "no_match"), ("n > 1", "n > 1", "same")],
)
async def test_an_edit_changes_exactly_what_it_names(desk: Desk, old: str, new: str, code: str) -> None:
    assert await refused(bench_of(desk), "src/prime.py", old, new) == code
    assert await refused(bench_of(desk), "src/prime.py", old, new, all=True) == code


async def test_line_ends_are_told_of(desk: Desk) -> None:
    bench = bench_of(desk, {**HEAD, "src/dos.py": b"a\r\nb\r\n"})
    with pytest.raises(ToolRefused, match="CR LF"):
        await edit(bench, "src/dos.py", "a\nb", "c")
    await edit(bench, "src/dos.py", "a\r\nb", "c")
    assert bench.blob(bench.tree.by_path["src/dos.py"].digest) == b"c\r\n"


@pytest.mark.parametrize(
    "path", ["/src/prime.py", "../prime.py", "src/../../x", "out", "out-by-two/x", "src/prime.py\0"]
)
async def test_nothing_outside_of_the_tree(desk: Desk, path: str) -> None:
    links = {"out": "/etc/passwd", "out-by-two": "../../elsewhere"}
    assert await refused(bench_of(desk, {**HEAD, **links}, {**BASE, **links}), path) == "outside_tree"


@pytest.mark.parametrize("path", ["src/new.py", "prime.py", "src/prime.py/x", "gone"])
async def test_no_file_is_created(desk: Desk, path: str) -> None:
    bench = bench_of(desk, {**HEAD, "gone": "nothing/there"})
    with pytest.raises(ToolRefused, match="none is created"):
        await edit(bench, path)
    assert await refused(bench, path) == "not_found"


async def test_no_folder_and_nothing_through_a_link(desk: Desk) -> None:
    links = {"lien.py": "src/prime.py", "folder": "src"}
    bench = bench_of(desk, {**HEAD, **links}, {**BASE, **links})
    assert await refused(bench, "src") == "is_directory"
    assert await refused(bench, "folder") == "is_directory"
    for path in ("lien.py", "folder/prime.py"):
        assert await refused(bench, path) == "is_link"
        with pytest.raises(ToolRefused, match=r"the file is 'src/prime\.py'"):
            await edit(bench, path)


PYTEST = [{"name": "tests", "command": "pytest tests"}, {"name": "runs", "command": "sh scripts/verify.sh"}]
OWN = {"verification": {"checks": PYTEST, "tests": ["own/check_it.py"]}}


@pytest.mark.parametrize(
    ("path", "order", "code"),
    [
        ("tests/test_prime.py", {}, "protected"),
        ("tests/test_new.py", {}, ""),
        ("pyproject.toml", {}, "protected"),
        ("src/data.txt", {"scope": {"protect": ["*.txt"]}}, "protected"),
        ("scripts/verify.sh", OWN, "protected"),
        ("scripts/verify.sh", {}, ""),
        ("own/check_it.py", OWN, "protected"),
        ("sitecustomize.py", {}, "protected"),
        ("tests/test_prime.py", {"scope": {"unprotect": ["tests/**"]}}, ""),
        ("src/data.txt", {"scope": {"allow": ["*.py"]}}, "out_of_scope"),
        ("src/data.txt", {"scope": {"deny": ["*.txt"]}}, "out_of_scope"),
        ("tests/test_prime.py", {"scope": {"deny": ["tests/**"]}}, "protected"),
        ("src/data.txt", {"environment": {"inputs": ["src/data.txt"], "setup": ["true"]}}, "input"),
        ("src/data.txt", {"environment": {"inputs": ["src"], "setup": ["true"]}}, "input"),
        ("left/data.txt", {}, "not_the_workers"),
        ("src/data.txt", {}, ""),
    ],
)
async def test_only_what_the_next_round_would_take(desk: Desk, path: str, order: dict[str, Any], code: str) -> None:
    """The same words that a worker's change of the file would come to, whatever the edit itself is."""
    text = b"return 1\n"
    names = ("tests/test_prime.py", "pyproject.toml", "src/data.txt", "scripts/verify.sh", "sitecustomize.py")
    base = {**BASE, **dict.fromkeys((*names, "left/data.txt"), text)}
    head: Contents = {
        **{name: what for name, what in base.items() if name != "left/data.txt"},
        "tests/test_new.py": text,
    }
    own = {"own/check_it.py": text} if order is OWN else None
    bench = bench_of(desk, head, base, own=own, dropped=("left/data.txt",), order=dict(order))
    assert path in bench.tree.by_path
    if not code:
        await edit(bench, path)
        assert bench.changed == (path,)
        return
    assert await refused(bench, path) == code
    assert await refused(bench, path, "what is not there") == code, "before its text is looked at"


async def test_a_protected_file_that_the_worker_changed_is_the_base_s_and_stays_it(desk: Desk) -> None:
    bench = bench_of(desk, {**HEAD, "tests/test_prime.py": b"def test_two():\n    return 1\n"})
    assert "assert" in bench.blob(bench.tree.by_path["tests/test_prime.py"].digest).decode()
    assert await refused(bench, "tests/test_prime.py", "assert", "return") == "protected"


async def test_a_link_of_the_base_s_protects_what_it_leads_to(desk: Desk) -> None:
    links = {"Makefile": "build/rules"}
    base = {**BASE, **links, "build/rules": b"test:\n\treturn\n"}
    assert await refused(bench_of(desk, base, base), "build/rules") == "protected"


async def test_no_new_test_becomes_one_that_decides_what_those_beside_it_mean(desk: Desk) -> None:
    bench = bench_of(desk, {**HEAD, "tests/__init__.py": b"'Tests.'\n"})
    assert await refused(bench, "tests/__init__.py", "'Tests.'", "import sys") == "protected"
    await edit(bench, "tests/__init__.py", "Tests.", "All tests.")
    assert bench.changed == ("tests/__init__.py",)


@pytest.mark.parametrize("data", [b"return \0", b"return \xff\xfe", b"\xff\xfer\x00e\x00"])
async def test_no_binary_file(desk: Desk, data: bytes) -> None:
    assert await refused(bench_of(desk, {**HEAD, "src/data": data}), "src/data") == "binary"


async def test_no_file_becomes_binary(desk: Desk) -> None:
    assert await refused(bench_of(desk), "src/prime.py", new="\0") == "binary"


async def test_nothing_large(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbench, "FILE_BYTES", 100)
    monkeypatch.setattr(workbench, "ALL_BYTES", 160)
    bench = bench_of(desk, {**HEAD, "src/big.py": b"return" + b"x" * 100, "src/a.py": b"return 1" + b"x" * 70})
    assert await refused(bench, "src/big.py") == "too_large"
    assert await refused(bench, "src/prime.py", new="x" * 100) == "too_large"
    await edit(bench, "src/prime.py", "n > 1", "n > 2")
    with pytest.raises(ToolRefused) as caught:
        await edit(bench, "src/a.py", "return", "yield")
    assert caught.value.code == "too_large"
    assert bench.changed == ("src/prime.py",)


SECRET = "hunter2-is-no-word"


async def test_no_file_with_a_secret_in_it_is_written_back_masked(desk: Desk) -> None:
    plain = MemoryStore()
    base = {**BASE, "src/keys.py": f"KEY = '{SECRET}'\nreturn\n".encode()}
    desk.store = plain
    request = pass_on(desk, {**base, "src/prime.py": HEAD["src/prime.py"]}, base)
    masked = MaskedEvidence(plain, Masker({"KEY": SECRET.encode()}))
    bench = Workbench(masked, request.frozen, request.scope, request.round.order)
    for old in ("return", SECRET, "[secret KEY]"):
        assert await refused(bench, "src/keys.py", old) == "has_secret"
    assert await refused(bench, "src/prime.py", "n > 1", SECRET) == "has_secret"
    assert SECRET.encode() not in plain.blobs[masked.put(f"{SECRET}\n".encode())]
    await edit(bench, **FIX)
    assert plain.blobs[Manifest.decode(plain.get(bench.keep().head)).by_path["src/prime.py"].digest] == RIGHT


async def test_names_that_a_secret_is_in_stay_as_they_are(desk: Desk) -> None:
    """Other paths would be another tree."""
    plain = MemoryStore()
    desk.store = plain
    head = {**HEAD, f"src/{SECRET}.py": b"x = 1\n"}
    request = pass_on(desk, head, head)
    masked = MaskedEvidence(plain, Masker({"KEY": SECRET.encode()}))
    bench = Workbench(masked, request.frozen, request.scope, request.round.order)
    await edit(bench, **FIX)
    assert f"src/{SECRET}.py" in Manifest.decode(plain.get(bench.keep().head)).by_path


async def test_the_same_edits_come_to_the_same_tree(desk: Desk) -> None:
    came = []
    for _ in range(2):
        bench = bench_of(desk)
        await edit(bench, **FIX)
        await edit(bench, "src/other.py", "prime import", "prime import ")
        came.append(bench.keep())
    assert came[0] == came[1]
    assert came[0].paths == ("src/other.py", "src/prime.py")


async def test_a_call_that_is_given_up_has_made_no_edit(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its thread goes on, and nobody is told what comes of it."""
    bench = bench_of(desk)
    begun, go_on, ended = (threading.Event() for _ in range(3))
    plan = Edit._plan

    def held_up(self: Edit, asked: EditArguments) -> object:
        begun.set()
        go_on.wait()
        try:
            return plan(self, asked)
        finally:
            ended.set()

    monkeypatch.setattr(Edit, "_plan", held_up)
    given_up = asyncio.create_task(edit(bench, **FIX))
    await asyncio.to_thread(begun.wait)
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    go_on.set()
    await asyncio.to_thread(ended.wait)
    assert (bench.edits, bench.changed) == (0, ())
    await edit(bench, **FIX)
    assert (bench.edits, bench.changed) == (1, ("src/prime.py",))
