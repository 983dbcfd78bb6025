"""Writes the parts of the documentation that are made from the code: `make docs`."""

from __future__ import annotations

import json
import re
from pathlib import Path

from domain.event_page import page
from domain.report import Report
from entrypoints.cli.graph import mermaid, svg
from workflows.dag import in_order
from workflows.verification import NODES

ROOT = Path(__file__).resolve().parent.parent
PICTURE = re.compile(r"```mermaid\n.*?```", re.DOTALL)


def main() -> None:
    """Write them all."""
    for path, text in generated().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def generated() -> dict[Path, str]:
    """Every generated file and what it should hold."""
    nodes = in_order(NODES)
    readme = ROOT / "README.md"
    return {
        ROOT / "docs" / "report.schema.json": json.dumps(Report.model_json_schema(), indent=2) + "\n",
        ROOT / "docs" / "events.md": page(),
        ROOT / "docs" / "dag.svg": svg(nodes) + "\n",
        readme: PICTURE.sub(lambda _: f"```mermaid\n{mermaid(nodes)}\n```", readme.read_text()),
    }


if __name__ == "__main__":
    main()
