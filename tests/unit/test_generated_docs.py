"""What the documentation takes from the code is what the code says now: `make docs` renews it."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GENERATED: dict[Path, str] = runpy.run_path(str(ROOT / "scripts" / "generate_docs.py"))["generated"]()


@pytest.mark.parametrize("path", GENERATED, ids=lambda path: path.name)
def test_a_generated_file_is_current(path: Path) -> None:
    assert path.read_text() == GENERATED[path], "run: make docs"


def test_the_readme_has_the_picture() -> None:
    assert "flowchart LR" in (ROOT / "README.md").read_text()
