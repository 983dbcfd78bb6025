"""Writes the parts of the documentation that are made from the code: `make docs`."""

from __future__ import annotations

import json
import re
from pathlib import Path

from domain import event_page, lifecycle_page
from domain.report import Report
from entrypoints.cli.drawing import mermaid, svg
from entrypoints.cli.graph import boxes_of_round
from workflows.dag import in_order
from workflows.nodes import NODES

ROOT = Path(__file__).resolve().parent.parent
PICTURE = re.compile(r"```mermaid\n.*?```", re.DOTALL)


def main() -> None:
    """Write them all."""
    for path, text in generated().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def generated() -> dict[Path, str]:
    """Every generated file and what it should hold."""
    boxes = boxes_of_round(in_order(NODES))
    readme = ROOT / "README.md"
    return {
        ROOT / "docs" / "report.schema.json": json.dumps(Report.model_json_schema(), indent=2) + "\n",
        ROOT / "docs" / "events.md": event_page.page(),
        ROOT / "docs" / "lifecycle.md": lifecycle_page.page(),
        ROOT / "docs" / "dag.svg": svg(boxes) + "\n",
        readme: PICTURE.sub(lambda _: f"```mermaid\n{mermaid(boxes)}\n```", readme.read_text()),
    }


if __name__ == "__main__":
    main()
