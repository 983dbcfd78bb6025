"""The runner of graphs, and the table of a round that it runs."""

from __future__ import annotations

import asyncio
from graphlib import CycleError

import pytest

from domain.base import canonical_json
from domain.order import Order
from workflows import dag
from workflows.dag import Node, in_order
from workflows.nodes import NODES, nodes_of

DIAMOND = (
    Node("end", ("left", "right"), ""),
    Node("left", ("start",), ""),
    Node("right", ("start",), ""),
    Node("start", (), ""),
)


async def test_a_node_starts_when_all_it_needs_has_ended() -> None:
    log: list[str] = []

    async def work(node: Node) -> None:
        log.append(f"+{node.name}")
        await asyncio.sleep(0.01 if node.name == "left" else 0.02)
        log.append(f"-{node.name}")

    await dag.run(DIAMOND, work)
    assert log[:2] == ["+start", "-start"]
    assert set(log[2:4]) == {"+left", "+right"}, "both halves run at once"
    assert log[-2:] == ["+end", "-end"]


async def test_an_exception_ends_the_rest() -> None:
    ran: list[str] = []

    async def work(node: Node) -> None:
        if node.name == "left":
            raise RuntimeError("left broke")
        if node.name == "right":
            try:
                await asyncio.sleep(3600)
            finally:
                ran.append("right was ended")
        ran.append(node.name)

    with pytest.raises(RuntimeError, match="left broke"):
        async with asyncio.timeout(60):
            await dag.run(DIAMOND, work)
    assert ran == ["start", "right was ended"]
    await asyncio.sleep(0.03)
    assert ran == ["start", "right was ended"]


def test_a_cycle_and_an_unknown_need_are_refused() -> None:
    with pytest.raises(CycleError):
        in_order([Node("a", ("b",), ""), Node("b", ("a",), "")])
    with pytest.raises(KeyError):
        in_order([Node("a", ("nowhere",), "")])


def test_the_rounds_table_is_a_graph_that_ends_in_the_decision() -> None:
    assert in_order(NODES)[-1].name == "decide"


def test_in_sequence_the_checks_wait_for_the_criteria() -> None:
    def needs_of_checks(mode: str) -> tuple[str, ...]:
        order = Order.model_validate_json(canonical_json({"content": "x", "verification": {"mode": mode}}))
        return next(node.needs for node in nodes_of(order) if node.name == "checks")

    assert "criteria" not in needs_of_checks("parallel")
    assert "criteria" in needs_of_checks("sequence")
