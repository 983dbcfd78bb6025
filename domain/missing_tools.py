"""Recognises, in what a command printed, a tool or module that its image lacks, and says how an order gets it."""

from __future__ import annotations

import re

from domain.failing_tests.failed_test import lines_of

_NAME = r"['\u2018\u2019`\"]?([\w@][\w.+@/-]{0,80})['\u2018\u2019`\"]?"
_COMMAND = re.compile(
    rf"(?:^|[\s:]){_NAME}: (?:command )?not found$"
    rf"|(?:^|[\s/])(?:env|make(?:\[\d+\])?): {_NAME}: No such file or directory"
)
_PYTHON = re.compile(rf"No module named {_NAME}")
_NODE = re.compile(rf"Cannot find (?:module|package) {_NAME}")
MOST_LINES = 5_000
"""Lines with an error of this kind that are looked at."""


def missing_tool(output: str) -> str:
    """How to give the image what `output` says that it lacks; empty where it says nothing of the kind."""
    for line in lines_of(output)[-MOST_LINES:]:
        if "not found" not in line and "No such file" not in line and "No module" not in line and "Cannot" not in line:
            continue
        if found := _COMMAND.search(line):
            name = (found[1] or found[2]).rpartition("/")[2]
            return _hint(name, f"apt-get update && apt-get install -y {name}")
        if found := _PYTHON.search(line):
            name = found[1].partition(".")[0]
            return _hint(f"the Python module {name}", f"pip install {name}")
        if found := _NODE.search(line):
            return _hint(f"the module {found[1]}", "npm ci", inputs="package.json, package-lock.json")
    return ""


def _hint(name: str, command: str, inputs: str = "") -> str:
    needs = f", inputs: [{inputs}]" if inputs else ""
    return (
        f"{name} is not in the image. Install it (environment: {{setup: [{command}]{needs}}}, if that is how the image"
        " installs), or name an image that has it (environment.image)"
    )
