"""An edit as people type it, and the order that comes of it, stored for those who read it by its digest.

Whether it is taken is the todo's to say (`domain.acts.editing`).
"""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import JsonValue, ValidationError

from adapters.config.explain import explain
from adapters.config.settings import Settings
from adapters.config.todo_file import parts_in
from adapters.config.yaml_document import parse
from domain.acts.editing import edited_fields, edited_order
from domain.base import canonical_json
from domain.errors import Malformed
from domain.order import Order
from entrypoints import pinning
from entrypoints.cli.asking import malformed
from entrypoints.cli.output import visible
from entrypoints.stores import build_evidence

Fields = dict[str, JsonValue]


def change_of(text: str, option: str) -> Fields:
    """`safeguards.todo_timeout=7200` as the objects that it means. Raises `Malformed`, which names `option`."""
    name, equals, value = text.partition("=")
    path = [part.strip() for part in name.split(".")]
    if not (equals and all(path)):
        raise malformed(option, f"{visible(text)!r} names no field", "expected FIELD=YAML, or FIELD.FIELD=YAML")
    document = parse(value, f"{option} {visible(name)}", "a value")
    if document.problems:
        raise Malformed(document.problems)
    change: Fields = {path[-1]: document.data}
    for part in reversed(path[:-1]):
        change = {part: change}
    return change


def admit_fields(settings: Settings, digest: str, file: Path, content: bytes) -> None:
    """Let a file with fields change the order of that digest.

    Raises `Refused` (order_changed) where the todo's worker can write the file, and nobody has trusted it as it is.
    """
    order = Order.model_validate_json(build_evidence(settings).get(digest))
    (part, *_) = parts_in(content, file)
    own = {"verification": part.verification, "acceptance_criteria": part.acceptance_criteria}
    pinning.admit_file(file, content, [order.model_copy(update=own)], settings, part=True)


def keep_order(settings: Settings, digest: str, changes: Fields) -> None:
    """Store what the order will be. Raises `Malformed` for what is no order, `Unavailable`."""
    store = build_evidence(settings)
    before = Order.model_validate_json(store.get(digest))
    try:
        after = edited_order(before, changes)
    except ValidationError as error:
        document = parse(json.dumps(edited_fields(before, changes)), "command line", "an order")
        raise Malformed(explain(error, Order, document)) from None
    store.put(canonical_json(after.model_dump(mode="json")))
