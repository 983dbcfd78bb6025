"""The nodes of a round, as a table: what waits for what. What each does is `verification`'s. Source: DESIGN 4."""

from __future__ import annotations

from domain.order import Order
from workflows.dag import Node

NODES = (
    Node("snapshot", (), "freeze the work and its base"),
    Node("environment", (), "make the image ready"),
    Node("scope", ("snapshot",), "sort the changes: taken, restored, refused"),
    Node("setup", ("snapshot", "environment"), "install what the base asks for"),
    Node("designer", ("scope", "setup"), "a specification, where nothing says what to check"),
    Node("strategist", ("designer",), "checks for it, linted on the base"),
    Node("criteria", ("strategist",), "acceptance criteria"),
    Node("checks", ("scope", "setup"), "checks in containers"),
    Node("base", ("criteria", "checks"), "what failed, once more on the base"),
    Node("probe", ("base",), "do the checks test the change?"),
    Node("auditor", ("probe",), "the auditor's word, where one is asked"),
    Node("advocate", ("auditor",), "the case for PASS, where a criterion is disputed"),
    Node("critic", ("auditor",), "the case for FAIL"),
    Node("judge", ("advocate", "critic"), "a ruling after both"),
    Node("decide", ("judge",), "the verdict"),
)
"""A round, as a table."""


def nodes_of(order: Order) -> tuple[Node, ...]:
    """The table for one order: in sequence the checks also wait for the criteria."""
    if order.verification.mode == "parallel":
        return NODES
    return tuple(
        Node(node.name, (*node.needs, "criteria"), node.title) if node.name == "checks" else node for node in NODES
    )
