"""Runs a command of tests with few expected values changed, after a run with all of them in which some were not seen.

What that shows is `domain.excused`'s. A command that takes long has no such runs, nor one whose exit code may be that
of a part of it.
"""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

from adapters.checkers.commands import request
from adapters.checkers.control_trees import with_edits
from adapters.checkers.controls import Controls
from adapters.checkers.together import together
from domain.base import sha256_hex
from domain.checks import Item, Observation
from domain.command_criteria import ExitParams
from domain.controls import ControlRun, ControlRuns
from domain.excused import SECONDS, Place, SinglesRun, is_plain, unmasked, unshown
from domain.mutation.edits import Edit
from domain.mutation.singles import singles
from domain.ports import CheckContext, EvidenceStore, Sandbox
from domain.scrutiny import SINGLES
from domain.tree import Manifest

LARGEST_SOURCE = 256 * 1024  # bytes of a test file
MOST_PLACES = 200
"""Values of a command's tests that are changed alone: the evidence has each of them."""

How = Literal["value", "raises", "stop"]


class SingleControls:
    """The runs of one command after another."""

    def __init__(self, sandbox: Sandbox, store: EvidenceStore, controls: Controls) -> None:
        self._sandbox = sandbox
        self._store = store
        self._controls = controls

    async def run(
        self, control: ControlRuns, item: Item, params: ExitParams, context: CheckContext, seconds: float
    ) -> ControlRuns:
        """`control` with the runs of what it did not show, until one passes. `seconds`: what the command itself took.

        Only files that were changed by themselves: of one beside others, nothing says that its tests count.
        Raises `Unavailable`.
        """
        alone = [run for run in control.runs if len(run.paths) == 1 and control.noticed(run.observation)]
        if control.kind != "tests" or not alone or not is_plain(params.command):
            return control
        waiting = await asyncio.to_thread(self._places, alone, context, control.seed)
        chance = random.Random(control.seed)  # noqa: S311 - it has to be found again from the seed
        runs: list[SinglesRun] = []
        chosen, spent, shows = waiting, seconds, True
        while chosen and len(runs) < SINGLES and spent <= SECONDS:
            observed = await self._on_work(chosen, "value", item, params, context)
            run = SinglesRun(places=chosen, observation=observed)
            if not control.noticed(observed):
                unchanged, run = await self._proved(run, item, params, context)
                return control.model_copy(update={"singles": (*runs, run), "unchanged": unchanged})
            runs.append(run)
            spent += observed.duration_ms / 1000
            left = unshown(chosen, observed) if len(chosen) > 1 else ()
            shown = [place for place in chosen if place not in left]
            shows = shows and bool(shown)
            waiting = tuple(place for place in waiting if place not in shown)
            chosen = unmasked(waiting, runs) if shows else tuple(chance.sample(waiting, min(1, len(waiting))))
        return control.model_copy(update={"singles": tuple(runs)})

    def _places(self, alone: Sequence[ControlRun], context: CheckContext, seed: int) -> tuple[Place, ...]:
        """The values of these runs' files, a sample of very many."""
        manifest = Manifest.decode(self._store.get(context.tree))
        found: list[Place] = []
        for run in alone:
            (path,) = run.paths
            entry = manifest.by_path[path]
            if entry.size > LARGEST_SOURCE:
                continue
            source = self._store.get(entry.digest).decode()
            found += (Place(path=path, single=single) for single in singles(path, source, _seed(seed, path)))
        chance = random.Random(seed)  # noqa: S311 - it has to be found again from the seed
        return tuple(chance.sample(found, min(MOST_PLACES, len(found))))

    async def _proved(
        self, run: SinglesRun, item: Item, params: ExitParams, context: CheckContext
    ) -> tuple[Observation, SinglesRun]:
        """The command on the base as it is, and `run` with everything that a run that passed is held against."""
        places = run.places
        unchanged, on_base, raising = await together(
            self._controls.on(context.base, item, params, context),
            self._on_base(places, "value", item, params, context),
            self._on_work(places, "raises", item, params, context),
        )
        proved = {"on_base": on_base, "raising": raising}
        if any(place.single.stop for place in places):
            stopped, on_base = await together(
                self._on_work(places, "stop", item, params, context),
                self._on_base(places, "stop", item, params, context),
            )
            proved |= {"stopped": stopped, "stopped_on_base": on_base}
        return unchanged, run.model_copy(update=proved)

    async def _on_work(
        self, places: Sequence[Place], how: How, item: Item, params: ExitParams, context: CheckContext
    ) -> Observation:
        tree = await asyncio.to_thread(with_edits, self._store, context.tree, _edits(places, how))
        return await self._sandbox.run(request(item, context, params, tree=tree, name="control"))

    async def _on_base(
        self, places: Sequence[Place], how: How, item: Item, params: ExitParams, context: CheckContext
    ) -> Observation:
        tree = await asyncio.to_thread(with_edits, self._store, context.base, _edits(places, how))
        return await self._controls.on(tree, item, params, context, "control")


def _edits(places: Sequence[Place], how: How) -> dict[str, list[Edit]]:
    """The changes by path, each once: several values may have one test."""
    found: defaultdict[str, dict[Edit, None]] = defaultdict(dict)
    for place in places:
        edit = {"value": place.single.value, "raises": place.single.raises, "stop": place.single.stop}[how]
        if edit is not None:
            found[place.path][edit] = None
    return {path: list(edits) for path, edits in found.items()}


def _seed(seed: int, path: str) -> int:
    return int(sha256_hex(f"singles/{seed}/{path}".encode())[:15], 16)
