"""Writes the catalogue of claims that cheat as data sets for `countersign eval`: `make eval` runs them.

    python -m scripts.tamper_dataset FOLDER [NAMES]

NAMES: claims or families, joined by commas. FOLDER must be new or empty: nothing in it is written over.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.tamper import dataset
from tests.tamper.catalogue import ALL

USAGE = "usage: python -m scripts.tamper_dataset FOLDER [NAMES]"


def main(arguments: list[str]) -> str | None:
    """Write them; what is wrong with the arguments, if anything is."""
    if len(arguments) not in (1, 2):
        return USAGE
    folder = Path(arguments[0])
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        return f"{folder} is not empty"
    names = [name for name in "".join(arguments[1:]).split(",") if name]
    claims = dataset.chosen(ALL, names)
    if not claims:
        return f"no claim and no family is called {' or '.join(names)}"
    folder.mkdir(parents=True, exist_ok=True)
    dataset.write(folder, claims)
    for name in dataset.FILES.values():
        print(folder / name)
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
