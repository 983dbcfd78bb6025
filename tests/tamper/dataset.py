"""The catalogue as data sets of `countersign eval`: one for each way in which `make tamper` has a claim judged."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.tamper.claims import Claim

ALONE, BOTH = "alone", "both"
FILES = {ALONE: "tests-alone.yaml", BOTH: "out-of-process.yaml"}
"""The data sets by the name of the order that their claims have."""


def chosen(claims: Iterable[Claim], names: Sequence[str]) -> list[Claim]:
    """The claims of these names or families; all where none is named."""
    return [claim for claim in claims if not names or claim.name in names or claim.family in names]


def write(folder: Path, claims: Sequence[Claim]) -> None:
    """Every claim as a folder in a new `folder`, with its trees and orders, and the data sets beside them."""
    for claim in claims:
        claim.write(folder / claim.name)
    describe(folder, claims)


def describe(folder: Path, claims: Sequence[Claim]) -> None:
    """The data sets alone, of claims that are written there."""
    for kind, name in FILES.items():
        listed = [
            {"id": c.name, "stratum": c.family, "valid": c.honest, "order": f"{c.name}/{kind}.yaml"} for c in claims
        ]
        text = json.dumps({"id": f"tamper-{kind}", "claims": listed}, indent=1, ensure_ascii=False)
        (folder / name).write_text(f"{text}\n", encoding="utf-8")
