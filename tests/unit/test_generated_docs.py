"""What the documentation takes from the code is what the code says now: `make docs` renews it."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GENERATED: dict[Path, str] = runpy.run_path(str(ROOT / "scripts" / "generate_docs.py"))["generated"]()


def test_every_generated_file_is_current() -> None:
    assert [path.name for path in GENERATED if path.read_text() != GENERATED[path]] == [], "run: make docs"


def test_the_readme_has_the_picture() -> None:
    assert "flowchart LR" in (ROOT / "README.md").read_text()
