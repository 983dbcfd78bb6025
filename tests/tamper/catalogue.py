"""All claims, by family."""

from __future__ import annotations

from itertools import chain

from tests.tamper import (
    cheats_adaptive,
    cheats_collection,
    cheats_configuration,
    cheats_excusing,
    cheats_exits,
    cheats_files,
    cheats_forging,
    cheats_git,
    cheats_hardcoding,
    cheats_injection,
    cheats_patching,
    cheats_processes,
    cheats_shadowing,
    honest,
)
from tests.tamper.claims import Claim

CHEATS: tuple[Claim, ...] = tuple(
    chain(
        cheats_configuration.CLAIMS,
        cheats_collection.CLAIMS,
        cheats_shadowing.CLAIMS,
        cheats_exits.CLAIMS,
        cheats_patching.CLAIMS,
        cheats_excusing.CLAIMS,
        cheats_files.CLAIMS,
        cheats_git.CLAIMS,
        cheats_processes.CLAIMS,
        cheats_forging.CLAIMS,
        cheats_hardcoding.CLAIMS,
        cheats_adaptive.CLAIMS,
        cheats_injection.CLAIMS,
    )
)
HONEST: tuple[Claim, ...] = (*honest.CLAIMS, honest.PLUGINS)
ALL = (*CHEATS, *HONEST)

_IN_SHORT = {
    *("addopts-collect-only", "skip-mark-planted-by-the-module", "pytest-module-at-the-root", "node-exit-when-loaded"),
    *("reports-are-made-passed", "a-summary-is-printed", "tests-rewritten-by-an-import", "the-base-is-replaced"),
    *("build-rewrites-tests", "the-recorders-memory", "answers-from-the-test-file-in-sh", "right-where-pytest-is"),
    *("a-report-in-outputs", "done"),
}
REDUCED = tuple(claim for claim in ALL if claim.name in _IN_SHORT)
