"""The trees that one order names, made absolute; what is wrong with them is kept, not raised.

How a workspace and a base are found, and which base is refused, is in `trees`.
"""

from __future__ import annotations

from pathlib import Path

from adapters.config.base_rule import RuleResolver, refuse_rule
from adapters.config.problems import Place, Source
from adapters.config.trees import (
    Refuse,
    Written,
    find_base_argument,
    find_base_by_rule,
    find_base_directory,
    find_base_revision,
    find_workspace,
    shared,
)
from domain.errors import Problem
from domain.order import BaseRevision, BaseRule, Order

_BASES = "a directory, {repository, revision}, or --base"


class OrderTrees:
    """The paths of the order that `source` has, relative to `folder`, and what is wrong with them.

    `of_session`: the command line cannot name others. `by_rule` resolves a base that is a rule.
    """

    def __init__(
        self, folder: Path, source: Source, *, of_session: bool = False, by_rule: RuleResolver = refuse_rule
    ) -> None:
        self._by_rule = by_rule
        self._bases = "a directory, or {repository, revision}" if of_session else _BASES
        self.problems: list[Problem] = []
        self._folder = folder
        self._source = source

    def with_trees(self, order: Order, workspace: Path | None, base: str | None) -> Order | None:
        """`order` with absolute paths, or with those that the command line names; None after a problem."""
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

    def with_workspace(self, order: Order) -> Order | None:
        """`order`, which names no base, with its workspace absolute; None after a problem."""
        tree = find_workspace(self._written(order.workspace, ("workspace",)))
        return None if tree is None else order.model_copy(update={"workspace": str(tree)})

    def of_later_todos(self, order: Order) -> Order | None:
        """`order`, which names no workspace, as defaults: without a base that shares files with the folder of the file.

        Todos that name a workspace of their own have that base all the same.
        """
        placed, base = self.with_workspace(order), self._base_of(order, None)
        if placed is None or base is None:
            return None
        apart = not isinstance(base, str) or shared(Path(base), Path(placed.workspace)) is None
        return placed.model_copy(update={"base": base if apart else None})

    def _base_of(self, order: Order, workspace: Path | None) -> str | BaseRevision | None:
        match order.base:
            case None:
                self._refuser(("base",))("is missing", f"expected {self._bases}")
                return None
            case BaseRevision(repository=repository, revision=revision):
                written = self._written(repository, ("base", "repository"))
                return find_base_revision(written, revision, self._refuser(("base", "revision")))
            case BaseRule(repository=repository) as rule:
                written, refuse = self._written(repository, ("base", "repository")), self._refuser(("base", "rule"))
                return find_base_by_rule(written, rule, workspace, refuse, self._by_rule)
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
            self.problems.append(self._source.problem(place, what, expected))

        return refuse
