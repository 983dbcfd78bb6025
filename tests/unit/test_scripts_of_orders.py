"""Scripts that an order's commands run as tests are the base's, whatever the worker did with them."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.snapshot.matching import exactly, matcher
from adapters.snapshot.trusted import trusted
from domain.base import sha256_hex
from domain.messages import Frozen
from domain.order import Order
from domain.suite.scripts import scripts_of
from domain.tree import Entry, Manifest

BLOBS: dict[str, bytes] = {}


def kept(data: bytes) -> str:
    BLOBS[sha256_hex(data)] = data
    return sha256_hex(data)


def tree(**files: str) -> str:
    """The digest of a tree with these files; `__` stands for a dot."""
    entries = []
    for name, text in files.items():
        data = text.encode()
        entries.append(Entry(path=name.replace("__", "."), executable=False, size=len(data), digest=kept(data)))
    return kept(Manifest.of(entries).encode())


def order(command: str, **fields: Any) -> Order:
    return Order.model_validate(
        {"content": "do it", "verification": {"checks": [{"name": "a", "command": command}]}, **fields}
    )


def restored(made: Order, base: str, head: str) -> tuple[str, ...]:
    frozen = Frozen(
        head=head, base=base, head_files=1, head_bytes=1, base_files=1, dropped=kept(b"[]"), dropped_count=0
    )
    found = trusted(BLOBS.__getitem__, frozen, made.scope, (), scripts_of(made))
    assert ("verify.sh" in found.tests) == ("verify.sh" in found.report.restored)
    return found.report.restored


def test_a_script_of_the_base_is_restored_and_counts_as_a_test() -> None:
    base, head = tree(verify__sh="exit 1", app__py="1"), tree(verify__sh="exit 0", app__py="2")
    assert restored(order("sh verify.sh"), base, head) == ("verify.sh",)
    assert restored(order("sh verify.sh"), base, tree(app__py="2")) == ("verify.sh",), "taken away"
    assert restored(order("python app.py"), base, head) == ()
    assert restored(order("sh verify.sh", scope={"unprotect": ["verify.sh"]}), base, head) == ()


def test_a_script_that_the_base_does_not_have_is_the_work() -> None:
    assert restored(order("sh verify.sh"), tree(app__py="1"), tree(app__py="1", verify__sh="exit 0")) == ()


def test_scripts_of_checks_and_of_criteria_by_their_folders() -> None:
    criteria = [
        {"type": "command_exit_zero", "params": {"command": "cd a && ./check.sh", "cwd": "sub"}},
        {"type": "command_output", "params": {"command": "sh ../verify.sh", "stdout": "ok"}},
        {"type": "command_output", "params": {"command": "sh /opt/verify.sh", "stdout": "ok"}},
    ]
    assert scripts_of(order("sh smoke.sh", acceptance_criteria=criteria)) == ("sub/a/check.sh", "smoke.sh")


@pytest.mark.parametrize("path", ["verify.sh", "a/[b] *?/c!d", "#a", "!a", " a ", "a\\b"])
def test_a_pattern_for_one_path(path: str) -> None:
    matches = matcher([exactly(path)])
    assert matches(path)
    assert not matches(f"x/{path}")
    assert not matches(path.replace("a", "z").replace("v", "z"))
