"""How a round stands, for people: the answer to the `progress` query, and the details that the Web UI shows."""

from __future__ import annotations

import re
from collections.abc import Iterable

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from domain.checks import Item
    from domain.messages import NodeStatus, Progress, Step
    from workflows.dag import Node

SHOWN_CHARACTERS = 300
MARKS: dict[NodeStatus, str] = {
    "waiting": "·",
    "running": "▸",
    "done": "✓",
    "passed": "✓",
    "failed": "✗",
    "could_not_run": "?",
    "skipped": "-",
}
SUMMARY_BYTES = 400
"""What the server takes as a summary, at most."""

_MARKDOWN = re.compile(r"([\\`*_\[\]<>#|~&]|:(?=//))")


def as_text(text: str) -> str:
    """One line of Markdown that shows `text` as it is: whoever wrote it makes no link, picture or mark of ours."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def summary_of(title: str) -> str:
    """The summary of a workflow, which the Web UI reads as Markdown, as long as the server takes it."""
    cut = as_text(title).encode()[:SUMMARY_BYTES].decode(errors="ignore")
    return cut[:-1] if (len(cut) - len(cut.rstrip("\\"))) % 2 else cut


class Board:
    """One line a node, and one an item under the node that runs it."""

    def __init__(self, nodes: Iterable[Node], items: Iterable[Item]) -> None:
        self._steps = {node.name: Step(id=node.name, label=node.title) for node in nodes}
        self._lines: dict[str, str] = {}
        self._headline = "**RUNNING**"
        self.add(items)

    def add(self, items: Iterable[Item]) -> None:
        """Items that were not known at first."""
        for item in items:
            self._steps[_key(item)] = _step(item)
        self._lines = {key: _line(self._steps[key]) for key in self._shown()}

    def _shown(self) -> list[str]:
        """The keys in the order in which they are read: each node, then what runs in it."""
        below: dict[str, list[str]] = {}
        for key, step in self._steps.items():
            below.setdefault(step.parent, []).append(key)
        return [key for node in below[""] for key in (node, *below.get(node, ()))]

    def progress(self) -> Progress:
        """All of it, as it stands."""
        return Progress(steps=tuple(self._steps.values()))

    def node(self, node: Node, status: NodeStatus, detail: str = "") -> None:
        """A node has come to `status`."""
        self._set(node.name, status, detail)

    def item(self, item: Item, status: NodeStatus, detail: str = "") -> None:
        """An item has come to `status`."""
        self._set(_key(item), status, detail)

    def decided(self, outcome: str, why: str) -> None:
        """What the round has come to."""
        self._headline = f"**{as_text(outcome.replace('_', ' ').upper())}** {as_text(why[:SHOWN_CHARACTERS])}"
        self._show()

    def _set(self, key: str, status: NodeStatus, detail: str) -> None:
        now = workflow.now()
        times = {"started_at": now} if status == "running" else {"ended_at": now}
        update = {"status": status, "detail": detail[:SHOWN_CHARACTERS], **times}
        self._steps[key] = self._steps[key].model_copy(update=update)
        self._lines[key] = _line(self._steps[key])
        self._show()

    def _show(self) -> None:
        workflow.set_current_details("\n".join((self._headline, "", *self._lines.values())))


def _line(step: Step) -> str:
    """A bullet of Markdown, bold for a node."""
    said = [part for part in (step.label if step.parent else "", step.detail) if part]
    text = as_text(": ".join(said))
    advisory = "" if step.required else " (advisory)"
    name = as_text(step.id)
    return f"- {MARKS[step.status]} {name if step.parent else f'**{name}**'}{advisory} {text}".rstrip()


def _step(item: Item) -> Step:
    label = item.label[:SHOWN_CHARACTERS]
    return Step(id=item.id, parent=_parent(item), label=label, required=item.criterion.required)


def _parent(item: Item) -> str:
    return "criteria" if item.spelling == "criterion" else "checks"


def _key(item: Item) -> str:
    return f"{_parent(item)}/{item.id}"
