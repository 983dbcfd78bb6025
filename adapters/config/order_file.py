"""Reads an order's file into an `Order` with absolute paths; refuses with every problem found, each with its line.

Whether image, commands and criteria make sense for the trees is not checked here: the round finds out.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from pydantic import ValidationError

from adapters.config.explain import explain
from adapters.config.order_secrets import secrets_in
from adapters.config.problems import Place, dotted, shown_as
from adapters.config.text_file import read_text_file
from adapters.config.trees import (
    Refuse,
    Written,
    find_base_argument,
    find_base_directory,
    find_base_revision,
    find_workspace,
)
from adapters.config.yaml_document import Document, parse
from domain.base import canonical_json, sha256_hex
from domain.errors import Malformed, Problem
from domain.order import BaseRevision, Order

MAX_ORDER_BYTES = 1024 * 1024
"""As JSON: it travels with its results, and a payload of Temporal's has at most 2 MiB."""

_TREES = (("workspace",), ("base",))


def load_order(path: Path, *, workspace: Path | None = None, base: str | None = None) -> Order:
    """The order in `path`, its trees looked at. Raises `Malformed` with every problem, sorted by line.

    `workspace` and `base` (a directory, or a full commit id of the workspace's repository) stand for the file's own
    and are relative to the current directory; the file's are relative to its folder.
    """
    shown = shown_as(path)
    document = _document(path, shown)
    order, problems = _validated(document, shown)
    reader = _Trees(path.parent, document, shown)
    found = reader.with_trees(order or _only_trees(document), workspace, base)
    problems = [*document.problems, *problems, *reader.problems]
    if problems or found is None:
        raise Malformed(sorted(problems, key=lambda problem: problem.line))
    return _finished(found, path, document, shown)


def read_order(path: Path) -> Order:
    """The order in `path`, its trees as they are written: for what needs none. Raises `Malformed`."""
    shown = shown_as(path)
    document = _document(path, shown)
    order, problems = _validated(document, shown)
    if document.problems or problems or order is None:
        raise Malformed(sorted([*document.problems, *problems], key=lambda problem: problem.line))
    return _finished(order, path, document, shown)


def _document(path: Path, shown: str) -> Document:
    text = read_text_file(path, shown, "an order in YAML or JSON")
    return parse(text.replace("\t", " ") if _is_json(text) else text, shown, "an order")


def _is_json(text: str) -> bool:
    """Whether `text` is JSON, which allows tabs between its parts as YAML does not, and none within its strings."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _finished(order: Order, path: Path, document: Document, shown: str) -> Order:
    """With an id, without a secret, and not larger than what travels."""
    if problems := secrets_in(order, document, shown):
        raise Malformed(sorted(problems, key=lambda problem: problem.line))
    if not order.id:
        identity = sha256_hex(os.fsencode(path.resolve()))
        order = order.model_copy(update={"id": f"wo-{identity[:10]}"})
    size = len(canonical_json(order.model_dump(mode="json")))
    if size > MAX_ORDER_BYTES:
        what = f"comes to {size} bytes as JSON"
        expected = f"expected at most {MAX_ORDER_BYTES}"
        raise Malformed([Problem(file=shown, line=1, field="file", what=what, expected=expected)])
    return order


def _validated(document: Document, shown: str) -> tuple[Order | None, list[Problem]]:
    try:
        return Order.model_validate_json(json.dumps(document.data)), []
    except ValidationError as error:
        return None, explain(error, Order, document, shown)


def _only_trees(document: Document) -> Order | None:
    """What a malformed order says of its trees, so that their problems are told in the same run."""
    if not isinstance(document.data, dict) or any(place[:1] in _TREES for place in document.spoiled):
        return None
    named = {name: document.data[name] for (name,) in _TREES if name in document.data}
    try:
        return Order.model_validate_json(json.dumps({"content": "its trees", **named}))
    except ValidationError:
        return None


class _Trees:
    """The paths of one order, and what is wrong with them."""

    def __init__(self, folder: Path, document: Document, shown: str) -> None:
        self.problems: list[Problem] = []
        self._folder = folder
        self._document = document
        self._shown = shown

    def with_trees(self, order: Order | None, workspace: Path | None, base: str | None) -> Order | None:
        """`order` with absolute paths; None after a problem."""
        if order is None:
            return None
        if workspace is None:
            tree = find_workspace(self._written(order.workspace, ("workspace",)))
        else:
            tree = find_workspace(self._argument(str(workspace), "--workspace"))
        if base is None:
            trusted = self._base_of(order, tree)
        else:
            trusted = find_base_argument(self._argument(base, "--base"), tree)
        if tree is None or trusted is None:
            return None
        return order.model_copy(update={"workspace": str(tree), "base": trusted})

    def _base_of(self, order: Order, workspace: Path | None) -> str | BaseRevision | None:
        match order.base:
            case None:
                self._refuser(("base",))("is missing", "expected a directory, {repository, revision}, or --base")
                return None
            case BaseRevision(repository=repository, revision=revision):
                written = self._written(repository, ("base", "repository"))
                return find_base_revision(written, revision, self._refuser(("base", "revision")))
            case directory:
                return find_base_directory(self._written(directory, ("base",)), workspace)

    def _written(self, text: str, place: Place) -> Written:
        return Written(text, self._folder, self._refuser(place))

    def _argument(self, text: str, option: str) -> Written:
        def refuse(what: str, expected: str) -> None:
            self.problems.append(Problem(file="command line", line=1, field=option, what=what, expected=expected))

        return Written(text, Path(), refuse)

    def _refuser(self, place: Place) -> Refuse:
        def refuse(what: str, expected: str) -> None:
            line = self._document.line(place)
            self.problems.append(
                Problem(file=self._shown, line=line, field=dotted(place), what=what, expected=expected)
            )

        return refuse
