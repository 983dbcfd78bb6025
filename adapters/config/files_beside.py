"""Finds the files that an order names beside it; refuses what is not there, and what its worker could have written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from pydantic import JsonValue

from adapters.config.problems import Place, Source
from adapters.snapshot.beside import Beside, NotUsable
from domain.base import sha256_hex
from domain.criteria import files_of
from domain.errors import Problem
from domain.order import Order
from domain.pins import digests_of


class _Digesting:
    """A `domain.ports.Bulk` that keeps nothing: what is stored is read again when the round begins."""

    def add(self, chunks: Iterable[bytes]) -> str:
        """The digest of one file's content."""
        return sha256_hex(b"".join(chunks))


def problems_beside(order: Order, folder: Path, document: Source) -> list[Problem]:
    """What is wrong with the files that `order` names: relative to `folder`, the workspace being absolute."""
    beside = Beside(folder, _Digesting())
    problems: list[Problem] = []
    for place, path, may_be_folder in _named(order):
        try:
            beside.read(path, may_be_folder=may_be_folder)
            _refuse_the_worker_s(folder / path, Path(order.workspace))
        except NotUsable as error:
            problems.append(document.problem(place, error.what, error.expected))
    return problems


def digests_beside(names: Iterable[str], folder: Path) -> dict[str, str]:
    """The SHA-256 of each file of `names`, files or folders beside an order in `folder`, by its path in there.

    What is not there, or cannot be used, is left out: `problems_beside` refuses it.
    """
    beside = Beside(folder, _Digesting())
    for name in names:
        with suppress(NotUsable):
            beside.read(name, may_be_folder=True)
    return digests_of(beside.entries)


def _refuse_the_worker_s(path: Path, workspace: Path) -> None:
    found, tree = path.resolve(), workspace.resolve()
    if found.is_relative_to(tree):
        raise NotUsable("is inside the workspace, which the worker can write", "expected a place apart from it")
    if tree.is_relative_to(found):
        raise NotUsable("contains the workspace, which the worker can write", "expected a place apart from it")


def _named(order: Order) -> Iterator[tuple[Place, str, bool]]:
    """Where each path is written, the path, and whether it may be a folder."""
    verification = order.verification
    for index, path in enumerate(verification.tests):
        yield ("verification", "tests", index), path, True
    for index, check in enumerate(verification.checks):
        if check.control is not None and check.control.patch is not None:
            yield ("verification", "checks", index, "control", "patch"), check.control.patch, False
    for index, criterion in enumerate(order.acceptance_criteria):
        params = criterion.params.model_dump(mode="json")
        for path in files_of(criterion):
            yield ("acceptance_criteria", index, "params", *_place_of(path, params)), path, False


def _place_of(text: str, value: JsonValue) -> Place:
    """The way to the last field that is `text`: files come after what they are compared with."""
    found: Place = ()
    if isinstance(value, dict):
        for key, item in value.items():
            if item == text:
                found = (key,)
            elif below := _place_of(text, item):
                found = (key, *below)
    return found
