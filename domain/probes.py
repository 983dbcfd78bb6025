"""The falsifiability probe: the trees on which a required check has to fail, and what came of it."""

from __future__ import annotations

from typing import Literal

from domain.base import Message


class ProbeTree(Message):
    """A tree on which a required check has to fail, and what was done to it, for people."""

    tree: str
    what: str


class ProbeTrees(Message):
    """The trees of a probe; none where the change has nothing that could be undone or mutated, `why` says so."""

    trees: tuple[ProbeTree, ...] = ()
    why: str = ""


class ProbeSeen(Message):
    """What the falsifiability probe came to. `tested`: a required check went red; None: there was nothing to try.

    `unknown`: a cause outside the worker's tree kept it from being tried. `text` says it all to people. `evidence`
    names the blobs of the runs.
    """

    how: Literal["revert", "mutate"]
    tested: bool | None
    text: str
    seed: int
    unknown: bool = False
    evidence: tuple[str, ...] = ()
