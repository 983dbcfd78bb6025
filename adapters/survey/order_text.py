"""Writes an order down as YAML with comments for somebody who sees one for the first time. It reads nothing."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import yaml

from adapters.survey.plan import Plan, PlannedCheck
from domain.fields import ref_of_rule

CONTENT = "Describe here what the agent was asked to do"
ROLES = ("  # adversarial: auto  # always, never: with models, what stays in doubt is argued before a judge",)
DRAFTED = (
    "  # draft: auto  # never: with models, an order without a check gets some drafted; verify --save-tests keeps them"
)
_PLAIN = re.compile(r"[A-Za-z/][\w ./=+,@%-]*")
_HARMLESS = re.compile(r"[^\x20-\x7e\xa1-\ud7ff\uf900-\ufffd]")


@dataclass(frozen=True)
class Paths:
    """The trees as the order names them. Without a `revision`, `base` is a directory.

    `branch`: the remote's default one, with which a rule could be written.
    """

    workspace: str
    base: str
    revision: str = ""
    because: str = ""
    branch: str = ""


def order_id(folder: str) -> str:
    """An order's id from a folder's name."""
    return "wo-" + (re.sub(r"[^a-z0-9]+", "-", folder.lower()).strip("-")[:60].strip("-") or "work")


def scalar(text: str) -> str:
    """`text` as YAML, in quotes unless it reads the same without them."""
    if _PLAIN.fullmatch(text) and not text.endswith(" ") and _read(text) == text:
        return text
    return _HARMLESS.sub(_escape, json.dumps(text, ensure_ascii=False))


def _read(text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return None


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def write_order(name: str, plan: Plan, paths: Paths) -> str:
    """The order's text for the repository in the folder `name`."""
    parts = [
        "# Written by `countersign init`. Read it once: what it says is what decides.",
        *(f"# Note: {_one_line(note)}" for note in plan.notes),
        "",
        f"id: {order_id(name)}",
        f"content: {CONTENT}",
        "",
        f"workspace: {scalar(paths.workspace)}  # the tree that the agent changes, relative to this file",
        *_base(paths),
        "",
        *_environment(plan),
        "resources: {memory: 1g}",
        "",
        "scope:",
        '  allow: ["**"]  # what the agent may change; narrow it, for example to ["src/**", "tests/**"]',
        *_list("protect", plan.protect, "  ", "the base's, whatever the agent did; tests and configuration are anyway"),
        "",
        "verification:",
        *_checks(plan),
    ]
    return "\n".join(parts) + "\n"


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)


def _base(paths: Paths) -> list[str]:
    if not paths.revision:
        return [
            f"# {_one_line(paths.because)}: a copy of the tree as it was when init ran is what you trust.",
            "# When you trust a newer one, run: countersign init --force",
            f"base: {scalar(paths.base)}",
        ]
    return [
        f"# The commit that you trust ({_one_line(paths.because)}); a branch name would be refused, since it can move.",
        "base:",
        f"  repository: {scalar(paths.base)}",
        f'  revision: "{paths.revision}"',
        *_rule(paths.branch),
    ]


def _rule(branch: str) -> list[str]:
    """What could stand in the place of the revision, unless the branch has a name that no rule can have."""
    rule = f"merge-base with {branch}"
    if not branch or ref_of_rule(rule) is None:
        return []
    return [
        "  # or, in an order that you trust, where the work left that branch, whatever it is at then (docs/bases.md):",
        f"  # rule: {scalar(_one_line(rule))}",
    ]


def _environment(plan: Plan) -> list[str]:
    return [
        "environment:",
        f"  image: {scalar(plan.image)}  # {plan.image_comment}",
        *_list("setup", plan.setup, "  ", "run once, with network, as root; kept as an image"),
        *_list("inputs", plan.inputs, "  ", "the only files of the base that setup sees"),
        *_list("build", plan.build, "  ", "run before each check, offline, in the tree"),
    ]


def _list(name: str, items: list[str], indent: str, comment: str) -> list[str]:
    if not items:
        return []
    return [f"{indent}{name}:  # {comment}", *(f"{indent}  - {scalar(item)}" for item in items)]


def _checks(plan: Plan) -> list[str]:
    if plan.checks:
        return ["  checks:  # commands that have to end with exit code 0, offline", *_each(plan.checks), *ROLES]
    example = _each([PlannedCheck("tests", plan.example)])
    commented = (f"  # {line.removeprefix('  ')}" for line in example)
    return ["  checks: []", "  # checks:", *commented, DRAFTED, *ROLES]


def _each(checks: list[PlannedCheck]) -> list[str]:
    lines = []
    for check in checks:
        lines += [f"    - name: {check.name}", f"      command: {scalar(check.command)}"]
        if check.env:
            lines += ["      env:", *(f"        {name}: {scalar(value)}" for name, value in check.env.items())]
        lines.append(f"      timeout: {check.timeout}  # seconds")
    return lines
