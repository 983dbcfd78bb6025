"""Decides what kind of project a tree holds and plans its order. It reads files and runs nothing."""

from __future__ import annotations

from adapters.survey.files import Files
from adapters.survey.node import plan_node
from adapters.survey.other import plan_make, plan_shell, plan_tool, plan_unknown
from adapters.survey.plan import Plan
from adapters.survey.python import is_python, plan_python

_PYTHON_PROJECT = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "tox.ini", "pytest.ini")


def survey(files: Files, version: str = "") -> Plan:
    """The plan for the tree in `files`: the first kind that is there and has tests, else the first that is there.

    `version` is what git's tags say, for projects that have theirs from git.
    """
    candidates: list[Plan] = []
    if files.first(*_PYTHON_PROJECT):
        candidates.append(plan_python(files, version))
    if "package.json" in files:
        candidates.append(plan_node(files))
    more = (plan_tool(files), plan_make(files), plan_shell(files))
    candidates += [plan for plan in more if plan is not None]
    if not candidates and is_python(files):
        candidates.append(plan_python(files, version))
    chosen = next((plan for plan in candidates if plan.checks), candidates[0] if candidates else plan_unknown())
    others = [plan for plan in candidates if plan is not chosen and plan.checks]
    for plan in others:
        commands = ", ".join(check.command for check in plan.checks)
        chosen.notes.append(f"there is {plan.language}, too ({commands}); this order does not run it")
    return chosen
