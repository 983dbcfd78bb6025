"""Plans how a Node project is set up and tested in the `node` image. It reads files and runs nothing."""

from __future__ import annotations

import json
import posixpath
import re
from typing import Any

from adapters.survey.files import Files
from adapters.survey.plan import Plan, PlannedCheck

_NO_TEST = re.compile(r"no test specified|^\s*(?:exit\b|true\b|:)")
_TEST_FOLDERS = ("test", "tests", "__tests__", "spec", "e2e", "cypress")
_CONFIGURATION = re.compile(
    r"(?:jest|vitest|vite|ava|babel|karma|playwright|cypress|tsconfig|\.mocharc|\.nycrc|\.c8rc|\.taprc|\.babelrc)[\w.-]*"
)
_OTHER_LOCKS = {"yarn.lock": "yarn", "pnpm-lock.yaml": "pnpm", "bun.lockb": "bun", "bun.lock": "bun"}


def plan_node(files: Files) -> Plan:
    """The plan for the project whose package.json is in the root of `files`."""
    plan = Plan(language="node", image="node", example="npm test")
    package = _package(files, plan)
    scripts = package.get("scripts")
    test = scripts.get("test") if isinstance(scripts, dict) else None
    if _has_dependencies(package):
        _set_up(files, package, plan)
    if isinstance(test, str) and test.strip() and not _NO_TEST.search(test):
        plan.checks.append(PlannedCheck("tests", "npm test"))
        plan.notes.append(f"npm test runs: {test}")
    else:
        plan.notes.append("package.json has no test script: name a check, or criteria, before you verify")
    if isinstance(scripts, dict) and "pretest" in scripts:
        plan.notes.append("npm test runs the script pretest first, offline")
    plan.protect = ["package.json", *_protected(files)]
    return plan


def _package(files: Files, plan: Plan) -> dict[str, Any]:
    try:
        package = json.loads(files.text("package.json"))
    except (ValueError, RecursionError) as error:
        plan.notes.append(f"package.json cannot be read: {error}")
        return {}
    return package if isinstance(package, dict) else {}


def _has_dependencies(package: dict[str, Any]) -> bool:
    kinds = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies", "workspaces")
    return any(package.get(kind) for kind in kinds)


def _set_up(files: Files, package: dict[str, Any], plan: Plan) -> None:
    """From the lock that npm reads; other tools' locks are for a person to choose."""
    lock = files.first("package-lock.json", "npm-shrinkwrap.json")
    options = "--ignore-scripts --no-audit --no-fund"
    plan.setup = [f"npm ci {options}" if lock else f"npm install {options}"]
    plan.inputs = ["package.json", *([lock] if lock else []), *([".npmrc"] if ".npmrc" in files else [])]
    if package.get("workspaces"):
        plan.inputs += [p for p in files.paths if p.endswith("/package.json") and "node_modules/" not in p]
    plan.notes.append(
        "packages are installed without their install scripts; add `npm rebuild NAME` for one that needs it"
    )
    for name, tool in _OTHER_LOCKS.items():
        if name in files and not lock:
            plan.notes.append(f"{name} is {tool}'s and npm does not read it: versions may differ from those it pins")


def _protected(files: Files) -> list[str]:
    """Folders of tests, single tests beside the code, and what configures the runner."""
    folders = {
        "/".join(parts[: place + 1])
        for parts in (path.split("/") for path in files.paths)
        for place, part in enumerate(parts[:-1])
        if part in _TEST_FOLDERS and not set(parts[:place]) & {*_TEST_FOLDERS, "node_modules"}
    }
    found = [f"{folder}/**" for folder in sorted(folders) if folder != "tests"]
    for pattern in ("test", "spec"):
        if any(re.search(rf"\.{pattern}\.[cm]?[jt]sx?$", path) for path in files.paths):
            found.append(f"*.{pattern}.*")
    root = [path for path in files.paths if not posixpath.dirname(path)]
    return [*found, *(path for path in root if _CONFIGURATION.fullmatch(path))]
