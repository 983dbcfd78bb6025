"""What the designer and the strategist are given: the order, what the base is made of, and the specification.

Nothing of the worker's is in it: who writes checks does not know the work. Source: DESIGN 4, seed `pipeline`
"Designer", "Strategist".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import JsonValue

from domain.drafts.record import Rejected
from domain.order import Order
from domain.roles.designed import Specification
from domain.roles.packet import Packet, criteria_shown, paths_shown


def design_packet(order: Order, base: str, paths: Iterable[str]) -> Packet:
    """The designer's. `base`: the base's manifest, by digest; `paths`: its files."""
    return Packet(fields={**_of_order(order, base, paths), "acceptance_criteria": criteria_shown(order)}, pieces=())


def strategy_packet(
    order: Order, base: str, paths: Iterable[str], specification: Specification, rejected: Sequence[Rejected]
) -> Packet:
    """The strategist's. `rejected`: checks of an earlier plan that may not count; those alone are asked for again."""
    fields: dict[str, JsonValue] = {
        **_of_order(order, base, paths),
        "image": order.environment.image,
        "specification": specification.model_dump(mode="json"),
        "rejected": [one.model_dump(mode="json") for one in rejected],
    }
    return Packet(fields=fields, pieces=())


def _of_order(order: Order, base: str, paths: Iterable[str]) -> dict[str, JsonValue]:
    return {
        "todo_content": order.content,
        "domain": order.domain,
        "repo_path": f"base:{base}",
        "base_paths": paths_shown(paths),
    }
