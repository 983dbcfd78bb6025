"""Reads a data set's file into claims with their orders loaded; refuses with every problem found, each with its line.

Nothing runs before all of it is read. What the claims are worth is not checked here: rounds find out. Source:
docs/evaluation.md "The file".
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pydantic import ValidationError

from adapters.config.claim_file import load_claim
from adapters.config.defaults import NO_POLICY, Policies, ProjectPolicy
from adapters.config.explain import explain
from adapters.config.order_file import load_order, parsed
from adapters.config.order_secrets import held
from adapters.config.problems import Place, shown_as
from adapters.config.text_file import read_text_file
from adapters.config.trees import FULL_COMMIT_ID, Written
from adapters.config.yaml_document import Document
from domain.claims.claim import Claim
from domain.errors import Malformed, Problem
from domain.evaluation.dataset import UNSORTED, Dataset, Labelled, Shared
from domain.evaluation.verdicts import LabelledClaim
from domain.fields import quoted
from domain.order import Order

TIMES_AN_ORDER = 4
"""How many times as large as an order's file a data set may be."""

MAX_BYTES = TIMES_AN_ORDER * 1024 * 1024
CONTENT = "a data set in YAML or JSON"
COMMAND_LINE = "command line"
"""The file in the problems of trees that `load_order` was told of: here the data set tells it."""


@dataclass(frozen=True)
class LoadedClaim:
    """A claim that can be run: its order with both trees absolute, and what the worker says it did.

    `policy`: what is asked of its order.
    """

    label: LabelledClaim
    order: Order
    order_file: str
    claim: Claim | None
    policy: ProjectPolicy = NO_POLICY


@dataclass(frozen=True)
class LoadedDataset:
    """A data set, all of it there. `id` is the file's name where it says none."""

    id: str
    claims: tuple[LoadedClaim, ...]


def load_dataset(path: Path, policy: ProjectPolicy | Policies = NO_POLICY) -> LoadedDataset:
    """The data set in `path`, its paths relative to its folder. Raises `Malformed`, problems sorted by file and line.

    `policy` is what the project asks of every order.
    """
    shown = shown_as(path)
    document = parsed(read_text_file(path, shown, CONTENT, MAX_BYTES), shown, "a data set", TIMES_AN_ORDER)
    try:
        said = Dataset.model_validate_json(json.dumps(document.data))
    except ValidationError as error:
        problems = [*document.problems, *explain(error, Dataset, document)]
        raise Malformed(sorted(problems, key=lambda problem: problem.line)) from error
    reading = _Reading(document, path.parent, said.defaults, policy)
    claims = [reading.claim(number, one) for number, one in enumerate(said.claims)]
    problems = [*document.problems, *_twice(said, document), *held(document.data, document, "a data set")]
    problems += reading.problems
    if problems:
        own_first = sorted(
            dict.fromkeys(problems), key=lambda problem: (problem.file != shown, problem.file, problem.line)
        )
        raise Malformed(own_first)
    return LoadedDataset(said.id or path.stem, tuple(claim for claim in claims if claim is not None))


def _twice(said: Dataset, document: Document) -> Iterator[Problem]:
    """Ids that an earlier claim has: figures name claims by them."""
    first: dict[str, int] = {}
    for number, one in enumerate(said.claims):
        if first.setdefault(one.id, number) != number:
            place: Place = ("claims", number, "id")
            line = document.line(("claims", first[one.id], "id"))
            yield document.problem(
                place, f"{quoted(one.id)} is given twice, first on line {line}", "expected ids of their own"
            )


class _Reading:
    """Loads what claims name, and keeps what is wrong with it."""

    def __init__(self, document: Document, folder: Path, defaults: Shared, policy: ProjectPolicy | Policies) -> None:
        self._document = document
        self._folder = folder
        self._defaults = defaults
        self._policy = policy
        self.problems: list[Problem] = []

    def claim(self, number: int, one: Labelled) -> LoadedClaim | None:
        """The claim with everything that it names; None after a problem."""
        name = self._said(one, "order")
        if name is None:
            place = self._place(number, one, "order")
            expected = "expected an order's file, here or in the defaults"
            self.problems.append(self._document.problem(place, "is missing", expected, at_key=True))
            return None
        file = self._folder / name
        if not file.is_file():
            self._wrong(number, one, "order", f"{quoted(name)} is no file", "expected an order's file")
            return None
        order = self._order(number, one, file)
        claim = self._claim(number, one)
        if order is None:
            return None
        stratum = self._said(one, "stratum") or UNSORTED
        label = LabelledClaim(id=one.id, stratum=stratum, valid=one.valid, order=name, trigger=one.trigger or "")
        policy = self._policy.last if isinstance(self._policy, Policies) else self._policy
        return LoadedClaim(label, order, str(file.resolve()), claim, policy)

    def _order(self, number: int, one: Labelled, file: Path) -> Order | None:
        workspace, base = self._said(one, "workspace"), self._said(one, "base")
        if base is not None and not FULL_COMMIT_ID.fullmatch(base):
            written = Written(base, self._folder, partial(self._wrong, number, one, "base"))
            if written.directory() is None:
                what = f"{quoted(base)} is no directory, and as a revision it is a name that can move"
                written.refuse(what, "expected a directory, or a full commit id")
                return None
            base = str(self._folder / base)
        try:
            tree = self._folder / workspace if workspace is not None else None
            return load_order(file, workspace=tree, base=base, policy=self._policy)
        except Malformed as error:
            for problem in error.problems:
                field = problem.field.removeprefix("--")
                if problem.file == COMMAND_LINE and field in ("workspace", "base"):
                    self._wrong(number, one, field, problem.what, problem.expected)
                else:
                    self.problems.append(problem)
            return None

    def _claim(self, number: int, one: Labelled) -> Claim | None:
        """What the worker says; a secret in it is known once the order is read."""
        name = self._said(one, "claim")
        if name is None:
            return None
        if not (self._folder / name).is_file():
            self._wrong(number, one, "claim", f"{quoted(name)} is no file", "expected a claim in JSON")
            return None
        try:
            return load_claim(self._folder / name)
        except Malformed as error:
            self.problems += error.problems
            return None

    def _said(self, one: Labelled, field: str) -> str | None:
        said: str | None = getattr(one, field)
        default: str | None = getattr(self._defaults, field)
        return default if said is None else said

    def _place(self, number: int, one: Labelled, field: str) -> Place:
        """Where the field is written: in the defaults, unless the claim says it or nobody does."""
        of_defaults = getattr(one, field) is None and getattr(self._defaults, field) is not None
        return ("defaults", field) if of_defaults else ("claims", number, field)

    def _wrong(self, number: int, one: Labelled, field: str, what: str, expected: str) -> None:
        self.problems.append(self._document.problem(self._place(number, one, field), what, expected))
