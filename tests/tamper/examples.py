"""The claims of the catalogue that examples/evaluation has as folders: on one base, under orders of their own."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.tamper.catalogue import ALL
from tests.tamper.claims import Claim
from tests.tamper.dataset import chosen

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "evaluation" / "roman"
NAMES = (
    *("done", "new-tests", "tests-deleted", "exit-when-imported", "reports-are-made-passed"),
    *("answers-that-equal-everything", "a-table-of-the-tests-answers"),
)
"""Of claims on one project whose orders say nothing of their own."""

BESIDE = ("base", "reference.py")


def claims() -> list[Claim]:
    """These claims, in the catalogue's order."""
    return chosen(ALL, NAMES)


def write(folder: Path) -> None:
    """All but the orders: the base and the reference once, and each worker's tree by the claim's name."""
    for claim in claims():
        claim.write(folder / "written")
        shutil.move(folder / "written" / "work", folder / claim.name)
        for name in BESIDE:
            if not (folder / name).exists():
                shutil.move(folder / "written" / name, folder / name)
        shutil.rmtree(folder / "written")
