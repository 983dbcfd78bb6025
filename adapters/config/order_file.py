"""Reads an order's file into an `Order` with absolute paths; refuses with every problem found, each with its line.

Whether image, commands and criteria make sense for the trees is not checked here: the round finds out.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from pydantic import JsonValue, ValidationError

from adapters.config.base_rule import RuleResolver, refuse_rule
from adapters.config.defaults import NO_POLICY, Policies, ProjectPolicy
from adapters.config.explain import explain
from adapters.config.files_beside import problems_beside
from adapters.config.layers import Layered, layer_of
from adapters.config.order_secrets import secrets_in
from adapters.config.order_trees import OrderTrees
from adapters.config.policy_floor import problems_below, protecting
from adapters.config.problems import Source, shown_as
from adapters.config.text_file import bytes_of, text_in
from adapters.config.yaml_document import Document, parse
from domain.base import canonical_json, sha256_hex
from domain.errors import Malformed, Problem
from domain.order import Order

MAX_ORDER_BYTES = 1024 * 1024
"""As JSON: it travels with its results, and a payload of Temporal's has at most 2 MiB."""

_TREES = ("workspace", "base")
_LINKS = ("depends_on", "subtasks")
_WANTED = "an order in YAML or JSON"


def load_order(  # noqa: PLR0913 - what is read, what stands for parts of it, and what the project asks
    path: Path,
    *,
    workspace: Path | None = None,
    base: str | None = None,
    folder: Path | None = None,
    policy: ProjectPolicy | Policies = NO_POLICY,
    of_session: bool = False,
    by_rule: RuleResolver = refuse_rule,
    content: bytes | None = None,
) -> Order:
    """The order in `path`, its trees and the files beside it looked at. Raises `Malformed`, problems sorted by line.

    `workspace` and `base` (a directory, or what names a commit of the workspace's repository) stand for the file's own
    and are relative to the current directory; the file's are relative to its folder. `folder` is where the files beside
    it are, if not in the folder of the file itself, links followed. `policy` is what the project asks of it,
    or knows what is asked of an order in that place with that workspace. `of_session`: it was stored for a todo of a
    session, and may depend on others; then its place is `folder`. `by_rule` resolves a base that is a rule, and may
    raise `Refused`. `content`: what the file had when it was read before, None to read it now.
    """
    document = parsed(_text_of(path, content), shown_as(path), "an order")
    if isinstance(policy, Policies):
        place = path if folder is None and not of_session else folder and folder / path.name
        policy = policy.of(place, [workspace or path.parent / _workspace_in(document)])
    order, problems, source = _validated(document, policy, of_session=of_session)
    trees = OrderTrees(path.parent, source, by_rule=by_rule)
    partly = order or only_trees(source)
    found = trees.with_trees(partly, workspace, base) if partly is not None else None
    if found is not None and order is not None:
        problems += problems_beside(found, folder or path.resolve().parent, source)
    problems = [*document.problems, *problems, *trees.problems]
    if problems or found is None:
        raise Malformed(sorted(problems, key=lambda problem: problem.line))
    return _finished(found, path, source)


def read_order(path: Path, policy: ProjectPolicy = NO_POLICY) -> Order:
    """The order in `path`, its trees as they are written: for what needs none. Raises `Malformed`."""
    return order_in(_text_of(path), path, policy)


def order_in(text: str, path: Path, policy: ProjectPolicy = NO_POLICY) -> Order:
    """As `read_order`, of a text that stands in `path`, or is going to."""
    document = parsed(text, shown_as(path), "an order")
    order, problems, source = _validated(document, policy, of_session=False)
    if document.problems or problems or order is None:
        raise Malformed(sorted([*document.problems, *problems], key=lambda problem: problem.line))
    return _finished(order, path, source)


def _workspace_in(document: Document) -> str:
    """The workspace as an order has it that may be malformed."""
    data = document.data
    said = data.get("workspace") if isinstance(data, dict) else None
    return said if isinstance(said, str) and "\0" not in said else str(Order.model_fields["workspace"].default)


def bytes_of_order(path: Path) -> bytes:
    """What the file at `path` has now, for `load_order`. Raises `Malformed` for what is no file."""
    return bytes_of(path, shown_as(path), _WANTED)


def own_workspace(content: bytes, path: Path) -> Path | None:
    """The workspace that `content` itself names, links followed; None where it names none, or is no order."""
    try:
        data = parsed(_text_of(path, content), shown_as(path), "an order").data
    except Malformed:
        return None
    named = data.get("workspace") if isinstance(data, dict) else None
    try:
        return (path.parent / named).resolve() if isinstance(named, str) else None
    except (OSError, ValueError, RuntimeError):
        return None


def _text_of(path: Path, content: bytes | None = None) -> str:
    return text_in(bytes_of_order(path) if content is None else content, shown_as(path), _WANTED)


def parsed(text: str, shown: str, content: str, factor: int = 1) -> Document:
    """`text` as YAML, or as JSON, which allows tabs between its parts and none within its strings; as `parse` does."""
    return parse(text.replace("\t", " ") if is_json(text) else text, shown, content, factor)


def is_json(text: str) -> bool:
    """Whether `text` is JSON, which YAML is not when a tab or a comment stands in it."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _finished(order: Order, path: Path, source: Source) -> Order:
    """With an id, without a secret, and not larger than what travels."""
    if problems := secrets_in(order, source):
        raise Malformed(sorted(problems, key=lambda problem: problem.line))
    if not order.id:
        identity = sha256_hex(os.fsencode(path.resolve()))
        order = order.model_copy(update={"id": f"wo-{identity[:10]}"})
    if problem := too_large(order, shown_as(path)):
        raise Malformed([problem])
    return order


def too_large(order: Order, shown: str, line: int = 1) -> Problem | None:
    """What is wrong with an order that does not fit into a message, told of at `line` of its file."""
    size = len(canonical_json(order.model_dump(mode="json")))
    if size <= MAX_ORDER_BYTES:
        return None
    what, expected = f"comes to {size} bytes as JSON", f"expected at most {MAX_ORDER_BYTES}"
    return Problem(file=shown, line=line, field="file", what=what, expected=expected)


def _validated(
    document: Document, policy: ProjectPolicy, *, of_session: bool
) -> tuple[Order | None, list[Problem], Source]:
    layers = [*policy.layers, layer_of(document, document.data)]
    source = Layered(layers, protecting(policy.floor, Layered(layers).data))
    order, problems = validated(source)
    if order is None:
        return None, problems, source
    problems += problems_below(policy.floor, order, source)
    for name in () if of_session else _LINKS:
        if getattr(order, name):
            problems.append(source.problem((name,), "is for todos of a session", "expected it in a session file only"))
    return order, problems, source


def validated(source: Source) -> tuple[Order | None, list[Problem]]:
    """What `source` says as an order, or every problem that it has as one."""
    try:
        return Order.model_validate_json(json.dumps(source.data)), []
    except ValidationError as error:
        return None, explain(error, Order, source)


def only_trees(source: Source) -> Order | None:
    """What a malformed order says of its trees, so that their problems are told in the same run."""
    data: JsonValue = source.data
    if not isinstance(data, dict) or any(source.is_spoiled((name,)) for name in _TREES):
        return None
    named = {name: data[name] for name in _TREES if name in data}
    try:
        return Order.model_validate_json(json.dumps({"content": "its trees", **named}))
    except ValidationError:
        return None
