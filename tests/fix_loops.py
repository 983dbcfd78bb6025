"""A fix builder for tests, played at the server, and small wrong work for it: the file `a.txt` has to say `right`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

from tests.integration.conftest import Project
from tests.provider import Provider, Received, Turn, calls, output

KEY_VARIABLE = "FIX_KEY"
PATTERN = "^right"
GAVE_UP = output({"result": "COULD_NOT_APPLY: it would need a new file", "notes": ""})


class Playing(Protocol):
    """Answers a request as one of a conversation with so many answers, its own by default."""

    def __call__(self, received: Received, answered: int | None = None, /) -> Turn:
        """The next turn."""
        ...


def configured(project: Project, provider: Provider, prices: Sequence[float] = (1.0, 10.0)) -> None:
    """The fix builder's model is `provider`'s; `prices` are dollars a million tokens in and out."""
    project.environment[KEY_VARIABLE] = "sk-key-of-the-tests"
    (project.root / "countersign.toml").write_text(
        '[agents.fix_builder]\nmodel = "played"\nmax_tokens = 2048\n'
        f'[agents.models.played]\nprovider = "openai"\nmodel = "m"\nbase_url = "{provider.openai_url}"\n'
        f'api_key_env = "{KEY_VARIABLE}"\nprice = {{input = {prices[0]}, output = {prices[1]}}}\n'
    )


def repairing(*words: str, usage: tuple[int, int] = (100, 20)) -> Playing:
    """A fix builder that makes of each of `words` the next, one a pass.

    It tries the last step first, so that the same answers do for every pass: only one finds its word there.
    """
    steps = [("Edit", {"path": "a.txt", "old": old, "new": new}) for old, new in pairwise(words)]
    edits = calls(*reversed(steps), usage=usage)
    done = output({"result": "APPLIED:1", "notes": ""}, usage=usage)

    def play(received: Received, answered: int | None = None, /) -> Turn:
        return done if (received.answered if answered is None else answered) else edits

    return play


def wrong_work(project: Project, name: str, **fields: Any) -> str:
    """An order with the fix loop, and a workspace of its own in which the work is wrong; the order's path."""
    project.write(**{f"{name}-base__a_dot_txt": "before\n", f"{name}-work__a_dot_txt": "after\n"})
    says = {"id": "AC-1", "type": "file_contains", "params": {"path": "a.txt", "pattern": PATTERN}}
    return project.order(
        **{
            "id": name,
            "workspace": f"{name}-work",
            "base": f"{name}-base",
            "domain": "refactor",
            "acceptance_criteria": [says],
            "verification": {"auditor": {"enabled": False}},
            "fix_loop": {"enabled": True},
            **fields,
        }
    )


def workspace(project: Project, name: str) -> Path:
    """Where the wrong work of that name is."""
    return project.root / f"{name}-work"


def claimed_wrong() -> str:
    """A worker command whose work is wrong."""
    return "echo after > a.txt"


def verified(project: Project, order: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the report."""
    result = project.run("verify", order, "--json")
    assert result.stdout, result.stderr
    report: dict[str, Any] = json.loads(result.stdout)
    return result.returncode, report


def rows(project: Project, todo: str, *actions: str) -> list[dict[str, Any]]:
    """Those rows of a todo."""
    return [row for row in project.rows(todo) if row["action"] in actions]
