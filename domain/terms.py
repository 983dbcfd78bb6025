"""The part of an order that its gate is made of, as one digest: what no agent may set. It judges nothing.

Source: DESIGN 1.4 and 3, CONTRACT "An order": an agent sets content, descriptions, further criteria, dependencies and
subtasks. Whether two orders have to have the same terms is `new_todos`' to say.
"""

from __future__ import annotations

from domain.base import canonical_json, sha256_hex
from domain.order import Order
from domain.policy_floor import NO_FLOOR, PolicyFloor

SET_BY_AGENTS = {"id", "content", "depends_on", "subtasks", "worker"}
"""`worker` is none in what an agent creates, whatever its parent has: no agent says what is run on the host."""

TERMS_DIGITS = 32


def terms_of(order: Order, authored: frozenset[str], order_file: str = "", floor: PolicyFloor = NO_FLOOR) -> str:
    """The first half of the SHA-256 of `order` without what an agent may set; `authored`: ids of its own criteria.

    `order_file` counts where the order names files beside it, `floor` always.
    """
    values = order.model_dump(mode="json", exclude=SET_BY_AGENTS)
    criteria = [one for one in values["acceptance_criteria"] if one["id"] not in authored]
    beside = order_file if order.files_beside else ""
    terms = [{**values, "acceptance_criteria": criteria}, beside, floor.model_dump(mode="json")]
    return sha256_hex(canonical_json(terms))[:TERMS_DIGITS]
