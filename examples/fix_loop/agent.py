"""Claims that the work in the workspace is done, which it is not: is_prime(0) raises. It changes nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path

BRIEF = json.loads(Path(os.environ["COUNTERSIGN_BRIEF"]).read_text())
PATH = "src/solution.py"

evidence = {"label": "solution", "type": "file", "data": Path(PATH).read_text()}
claim = {
    "explanation": f"is_prime tries every divisor up to the root; 0 is treated apart. See [solution] for {PATH}.",
    "evidence": [evidence],
    "files_modified": [PATH],
}
Path(BRIEF["claim_path"]).write_text(json.dumps(claim))
