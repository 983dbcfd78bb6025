"""What the three agents of the example share: they read their brief, change the workspace, and claim to be done.

A real agent would be a program that asks a model; these know their lines, so that the example needs none.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

BRIEF = json.loads(Path(os.environ["COUNTERSIGN_BRIEF"]).read_text())
BASE = Path(__file__).resolve().parent.parent / "base"


def begin() -> None:
    """The workspace is the current directory; at first it is a copy of the base."""
    if not Path("src").exists():
        shutil.copytree(BASE, ".", dirs_exist_ok=True)


def told() -> str:
    """What the last attempt came to, as one text; empty on the first."""
    return json.dumps(BRIEF["retry_context"] or "")


def write(module: str, body: str) -> None:
    """Put `body` in the place of what the base's function does."""
    text = (BASE / "src" / f"{module}.py").read_text()
    Path("src", f"{module}.py").write_text(text.replace("    raise NotImplementedError\n", body))


def changed() -> list[str]:
    """What is otherwise than in the base by now: the agents before this one worked here, too."""
    files = sorted(Path("src").glob("*.py"))
    return [str(path) for path in files if path.read_text() != (BASE / path).read_text()]


def claim(module: str, what: str) -> None:
    """Say that it is done, with the file as evidence."""
    path = f"src/{module}.py"
    evidence = {"label": module, "type": "file", "data": Path(path).read_text()}
    document = {
        "explanation": f"{what} See [{module}] for the whole of {path}.",
        "evidence": [evidence],
        "files_modified": changed(),
    }
    Path(BRIEF["claim_path"]).write_text(json.dumps(document))
