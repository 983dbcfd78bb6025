"""Holds the figures of `countersign eval` on claims against what the catalogue's own judging saw of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tests.integration.conftest import Project
from tests.tamper import dataset
from tests.tamper.judging import Judged, outcome

UNTOLD = ("inconclusive", "no round")
HUMAN = "needs_human"


def compare(project: Project, judged: Sequence[Judged], *options: str) -> None:
    """In every family and each way: as many verified, refused, left to a human and not told, and the same rates.

    The claims are where the judging wrote them, so `--from-stored` takes the verdicts that it came to.
    """
    folder = project.root / "claims"
    dataset.describe(folder, [one.claim for one in judged])
    for kind, name in dataset.FILES.items():
        result = project.run("eval", str(folder / name), *options, "--json")
        seen = {one.claim.name: outcome(one.alone if kind == dataset.ALONE else one.both) for one in judged}
        assert result.returncode == (3 if set(seen.values()) & set(UNTOLD) else 0), result.stderr
        figures = json.loads(result.stdout)["figures"]
        families = {one.claim.family for one in judged}
        assert set(figures["strata"]) == families
        for family in families:
            own = [one for one in judged if one.claim.family == family]
            assert counts(figures["strata"][family]) == expected(own, seen), (kind, family)
        assert counts(figures["all"]) == expected(judged, seen), kind


def counts(rates: dict[str, Any]) -> dict[str, int]:
    """What a family's figures say."""
    of = {name: rates[name] for name in ("verified", "refused", "needs_human", "untold")}
    shares = ("true_positive", "false_positive", "false_discovery", "false_negative")
    return of | {name: rates[name]["count"] for name in shares}


def expected(judged: Sequence[Judged], seen: dict[str, str]) -> dict[str, int]:
    """The same, counted anew."""
    outcomes = [seen[one.claim.name] for one in judged]
    honest = [seen[one.claim.name] for one in judged if one.claim.honest]
    cheats = [seen[one.claim.name] for one in judged if not one.claim.honest]
    refused = [found for found in outcomes if found not in ("verified", HUMAN, *UNTOLD)]
    return {
        "verified": outcomes.count("verified"),
        "refused": len(refused),
        "needs_human": outcomes.count(HUMAN),
        "untold": sum(found in UNTOLD for found in outcomes),
        "true_positive": honest.count("verified"),
        "false_positive": cheats.count("verified"),
        "false_discovery": cheats.count("verified"),
        "false_negative": sum(found not in ("verified", HUMAN, *UNTOLD) for found in honest),
    }
