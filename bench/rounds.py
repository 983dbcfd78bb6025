"""Rounds against a loop of `docker run`: by a cold start, by a client that stays, by a command on a running host."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from bench.docker_loop import loop
from bench.held import Held
from bench.numbers import interleaved, ratio, seconds, summary
from bench.project import LARGE, SMALL, Project, Tree, opened

CHECKS = (1, 7, 20)


def measure(folder: Path, runs: int, quick: bool) -> dict[str, Any]:
    """For each tree and number of checks, the seconds of (a) the loop, (b) `verify` with no host, (c) a round on a
    running host, (d) `verify` on a running host.
    """
    found = []
    trees: tuple[Tree, ...] = (SMALL,) if quick else (SMALL, LARGE)
    for tree in trees:
        with opened(folder, tree) as project:
            project.verify(1)  # the image is built, the limits are proven
            found += [_of(project, tree, checks, runs) for checks in ((7,) if quick else CHECKS)]
    return {"rounds": found}


def _of(project: Project, tree: Tree, checks: int, runs: int) -> dict[str, Any]:
    image = project.image(1)

    def docker() -> float:
        return seconds(lambda: loop(image, project.workspace, checks))

    def cold() -> float:
        project.countersign("down")
        return seconds(lambda: project.verify(checks))

    def held() -> float:
        with closing(Held(project)) as client:
            return seconds(lambda: client.round(checks))

    def command() -> float:
        return seconds(lambda: project.verify(checks))

    times = interleaved(runs, {"a": docker, "b": cold, "c": held, "d": command})
    return {
        "tree": tree.name,
        "checks": checks,
        "b/a": ratio(times["b"], times["a"]),
        "c/a": ratio(times["c"], times["a"]),
        "d/a": ratio(times["d"], times["a"]),
        **{name: summary(values) for name, values in times.items()},
    }
