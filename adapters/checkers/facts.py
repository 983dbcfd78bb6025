"""What checkers are told of a round, and what every finding's `seen` starts with: it can be judged again from that."""

from __future__ import annotations

import json

from pydantic import JsonValue

from domain.checks import Item
from domain.ports import CheckContext, EvidenceStore


def seen(item: Item, context: CheckContext, **more: JsonValue) -> dict[str, JsonValue]:
    """The criterion with all it expects, the tree's digest and the image's id, then `more`: what was observed."""
    return {
        "criterion": item.criterion.model_dump(mode="json"),
        "tree": context.tree,
        "image": context.image,
        **more,
    }


def lost_examples(store: EvidenceStore, context: CheckContext) -> dict[str, tuple[str, ...]]:
    """The base's examples for doctest that the tree has no more, by file; none where the tree is the base."""
    if not (context.doctests and context.base):
        return {}
    return {path: tuple(lines) for path, lines in json.loads(store.get(context.doctests)).items()}
