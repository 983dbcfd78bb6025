"""Frozen trees of a test's own, and a role's tools that read them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from adapters.roles.snapshot_tools import Limits, snapshot_tools
from adapters.roles.tool import Tool, ToolRefused
from domain.messages import Frozen, ScopeResult
from domain.tree import Entry, Manifest
from tests.fakes.evidence import MemoryStore

PYTHON = b"import os\n\n\ndef first():\n    return 1\n"
TREE: dict[str, bytes | str] = {
    "README.md": b"# A project\nwithout an end of line",
    "src/one.py": PYTHON,
    "src/two.py": "".join(f"line {number}\n" for number in range(1, 1001)).encode(),
    "src/data.bin": b"\0first\n",
    "src/huge.txt": b"x" * 5_000,
    "src/empty.py": b"",
    "src/lien.py": "one.py",
    "src/up.py": "../README.md",
    "src/deep/er/x.py": b"first = 2\r\nFirst = 3\n",
    "folder": "src/deep",
    "gone": "nothing/there",
    "loop": "loop",
    "out": "../../etc/passwd",
    "root": "/etc/passwd",
    "out-by-two": "folder/../../../etc/passwd",
    "through": "out",
}


class Watched(MemoryStore):
    """Remembers what it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: set[str] = set()

    def get(self, digest: str) -> bytes:
        self.asked.add(digest)
        return super().get(digest)


def stored(store: MemoryStore, contents: Mapping[str, bytes | str]) -> Manifest:
    """A stored manifest of `contents` by path: bytes are a file, a string is a link's target."""
    tree = Manifest.of(
        Entry(path=path, kind="link", target=what)
        if isinstance(what, str)
        else Entry(path=path, size=len(what), digest=store.put(what))
        for path, what in contents.items()
    )
    store.put(tree.encode())
    return tree


PATIENT_SECONDS = 120.0
"""For a search that ends by itself: its process may be held up."""


def tools_of(
    store: MemoryStore, tree: Manifest, base: Manifest, diff: str = "", commits: str = "", limits: Limits | None = None
) -> dict[str, Tool]:
    frozen = Frozen(
        head=tree.digest, base=base.digest, head_files=1, head_bytes=1, base_files=1, dropped="", commits=commits
    )
    scope = ScopeResult(tree=tree.digest, tree_bytes=1, report="", diff=store.put(diff.encode()), base=base.digest)
    return {tool.name: tool for tool in snapshot_tools(store, frozen, scope, limits or Limits(seconds=PATIENT_SECONDS))}


LIMITS = Limits(seconds=PATIENT_SECONDS, file_bytes=4_000, search_bytes=30_000)


def usual_tools() -> dict[str, Tool]:
    """On `TREE`, which nobody changed."""
    store = MemoryStore()
    tree = stored(store, TREE)
    return tools_of(store, tree, tree, limits=LIMITS)


def call(tools: Mapping[str, Tool], name: str, **arguments: Any) -> str:
    tool = tools[name]
    return asyncio.run(tool.call(tool.arguments.model_validate(arguments)))


def refused(tools: Mapping[str, Tool], name: str, **arguments: Any) -> str:
    with pytest.raises(ToolRefused) as caught:
        call(tools, name, **arguments)
    assert caught.value.reason
    return caught.value.code
