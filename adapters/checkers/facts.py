"""What every finding's `seen` starts with, so that a stored finding can be judged again without asking anybody."""

from __future__ import annotations

from pydantic import JsonValue

from domain.checks import Item
from domain.ports import CheckContext


def seen(item: Item, context: CheckContext, **more: JsonValue) -> dict[str, JsonValue]:
    """The criterion with all it expects, the tree's digest and the image's id, then `more`: what was observed."""
    return {
        "criterion": item.criterion.model_dump(mode="json"),
        "tree": context.tree,
        "image": context.image,
        **more,
    }
