"""Every `countersign` command that the documentation shows exists, and so does every option that it gives it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from entrypoints.cli.app import COMMANDS, loaded

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```[^\n]*\n(.*?)^```", re.S | re.M)
INLINE = re.compile(r"`([^`\n]+)`")
CALL = re.compile(r"(?:^|[\s/])countersign +(?=[a-z])(.*)")
END_OF_A_CALL = {"|", "||", ">", ">>", "<", "2>", "&&", ";", "&", ")"}
STARTS = ("countersign ", "$ countersign ")


def calls(text: str) -> Iterator[str]:
    """What follows `countersign` wherever it is run: lines of blocks, and code within a sentence."""
    lines = [line for block in BLOCK.findall(text) for line in block.splitlines()]
    inline = INLINE.findall(BLOCK.sub("", text))
    for code in (*lines, *(code for code in inline if code.startswith(STARTS))):
        found = CALL.search(code.partition(" #")[0])
        if found:
            yield found[1]


def words(call: str) -> list[str]:
    """The words of one call, up to where a shell would begin another."""
    lexer = shlex.shlex(call, posix=True, punctuation_chars=";&|<>()")
    lexer.whitespace_split = True
    found = []
    for word in lexer:
        if word in END_OF_A_CALL:
            break
        found.append(word.strip(","))
    return found


@cache
def command(name: str) -> Any:
    return loaded(name)


def faults(call: str) -> list[str]:
    """What of this call does not exist."""
    name, *rest = words(call)
    if name not in COMMANDS:
        return [f"no command {name}"]
    found = command(name)
    below = getattr(found, "commands", None)
    if below is not None:
        named = [word for word in rest if not word.startswith("-")]
        if not named:
            return []
        if named[0] not in below:
            return [f"no command {name} {named[0]}"]
        found = below[named[0]]
    options = {"--help", *(option for param in found.params for option in (*param.opts, *param.secondary_opts))}
    given = [word.partition("=")[0] for word in rest if word.startswith("--")]
    return [f"{found.name} has no {option}" for option in given if option not in options]


def test_what_the_pages_show_exists() -> None:
    shown = [(page.relative_to(ROOT).as_posix(), call) for page in PAGES for call in calls(page.read_text())]
    assert [(*place, what) for place in shown if (what := faults(place[1]))] == []


def test_calls_are_found() -> None:
    """Else the test above would say nothing."""
    found = [call for page in PAGES for call in calls(page.read_text())]
    assert {words(call)[0] for call in found} >= {"verify", "doctor", "up", "log", "evidence", "backup", "restore"}
    assert len(found) > 60


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("```\n$ countersign verifi order.yaml\n```", "no command verifi"),
        ("```\nX=1 .venv/bin/countersign log shwo\n```", "no command log shwo"),
        ("`countersign log verify --haeds FILE`", "verify has no --haeds"),
        ("```\ncountersign down && countersign up --quick\n```", None),
        ("`countersign log verify --heads=FILE EXPORT`, then", None),
    ],
)
def test_what_does_not_exist_is_seen(text: str, what: str | None) -> None:
    told = [fault for call in calls(text) for fault in faults(call)]
    assert told == ([what] if what else [])
