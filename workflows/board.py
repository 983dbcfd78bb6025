"""How a round stands, for people: the answer to the `progress` query, and the details that the Web UI shows."""

from __future__ import annotations

from collections.abc import Iterable

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from domain.checks import Item
    from domain.messages import NodeStatus, Progress, Step
    from workflows.dag import Node

SHOWN_CHARACTERS = 300


class Board:
    """One line a node, and one an item under the node that runs it."""

    def __init__(self, nodes: Iterable[Node], items: Iterable[Item]) -> None:
        self._steps = {node.name: Step(id=node.name, label=node.title) for node in nodes}
        for item in items:
            step = Step(
                id=item.id, parent=_parent(item), label=item.label[:SHOWN_CHARACTERS], required=item.criterion.required
            )
            self._steps[_key(item)] = step

    def progress(self) -> Progress:
        """All of it, as it stands."""
        return Progress(steps=tuple(self._steps.values()))

    def node(self, node: Node, status: NodeStatus, detail: str = "") -> None:
        """A node has come to `status`."""
        self._set(node.name, status, detail)

    def item(self, item: Item, status: NodeStatus, detail: str = "") -> None:
        """An item has come to `status`."""
        self._set(_key(item), status, detail)

    def _set(self, key: str, status: NodeStatus, detail: str) -> None:
        now = workflow.now()
        times = {"started_at": now} if status == "running" else {"ended_at": now}
        update = {"status": status, "detail": detail[:SHOWN_CHARACTERS], **times}
        self._steps[key] = self._steps[key].model_copy(update=update)
        lines = [f"- **{name}** {step.status} {step.detail}" for name, step in self._steps.items()]
        workflow.set_current_details("\n".join(lines))


def _parent(item: Item) -> str:
    return "criteria" if item.spelling == "criterion" else "checks"


def _key(item: Item) -> str:
    return f"{_parent(item)}/{item.id}"
