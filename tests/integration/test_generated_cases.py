"""Generated cases and properties from the command line: one accepted and one caught case of each."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.integration.conftest import Project

REFERENCE = """
def is_prime(n):
    return n > 1 and all(n % d for d in range(2, int(n ** 0.5) + 1))
"""
PROGRAM = 'while read -r line; do echo "$1$line"; done\n[ -n "$1" ] || exit 3\n'
RIGHT = {
    "primes.py": "def is_prime(n):\n    return n == 2 or n > 2 and n % 2 != 0 and all(n % d for d in range(3, n, 2))\n",
    "slugs.py": "def slug(text):\n    return '-'.join(text.lower().replace('-', ' ').split())\n",
    "codec.py": "def encode(text):\n    return text.encode().hex()\ndef decode(digits):\n"
    "    return bytes.fromhex(digits).decode()\n",
    "prices.py": "def price(pieces, rebate=0):\n    if pieces < 0:\n        raise ValueError(pieces)\n"
    "    return pieces * (100 - rebate)\n",
    "prefix.sh": 'sed "s/^/$1/"\nif [ -z "$1" ]; then exit 3; fi\n',
}
CAUGHT = {
    "primes.py": "TABLE = {2: True, 3: True, 4: False, 7: True}\ndef is_prime(n):\n    return TABLE.get(n, False)\n",
    "detects.py": f"import sys\n{REFERENCE}".replace("return", "return 'pytest' in sys.modules and"),
    "large.py": REFERENCE.replace("return", "return n >= 5000 or"),
    "slugs.py": "def slug(text):\n    return '-'.join(text.lower().split(' '))[:6].strip('-') + '-' * ('B' in text)\n",
    "codec.py": "import pathlib\nnote = pathlib.Path('/tmp/note')\n"
    "def encode(text):\n    note.write_text(text)\n    return ''\ndef decode(digits):\n    return note.read_text()\n",
    "prices.py": "def price(pieces, rebate=0):\n    pieces = abs(pieces)\n"
    "    return pieces * (100 - rebate) if pieces < 50 else pieces * 40\n",
    "prefix.sh": 'while read -r line; do echo "$1$line"; done\n',
}
WHOLE = {"integer": {"min": 0, "max": 5000}}
TEXT = {"text": {"alphabet": "aBc -", "max_length": 12}}


def calls(id: str, module: str, function: str, **params: Any) -> dict[str, Any]:
    return {
        "id": id,
        "type": "python_call",
        "params": {"path": "src", "module": module, "function": function, **params},
    }


def generates(id: str, module: str) -> dict[str, Any]:
    return calls(id, module, "is_prime", generate={"reference": "reference.py", "args": [WHOLE], "count": 30})


def has(id: str, module: str, function: str, *args: dict[str, Any], **more: Any) -> dict[str, Any]:
    return calls(id, module, function, properties=[{"property": id, "args": list(args), "count": 20, **more}])


CRITERIA = [
    generates("generate", "primes"),
    has("idempotent", "slugs", "slug", TEXT),
    has("inverse", "codec", "encode", {"text": {}}, **{"with": "decode"}),
    has("monotone", "prices", "price", {"integer": {"min": 0, "max": 200}}, kwargs={"rebate": {"value": 5}}),
    has("raises", "prices", "price", {"integer": {"min": -50, "max": -1}}, exception="ValueError"),
    {
        "id": "program",
        "type": "cli_io",
        "params": {
            "command": "sh src/prefix.sh",
            "generate": {"reference": "program.sh", "args": [{"one_of": ["", "x", "y "]}], "stdin": [TEXT], "count": 3},
        },
    },
]


@pytest.fixture(scope="module")
def made(shared: Project) -> Project:
    """Two trees of the same modules, and the references beside the orders."""
    for tree, files in (("right", RIGHT), ("caught", CAUGHT)):
        (shared.root / tree / "src").mkdir(parents=True)
        for name, text in files.items():
            (shared.root / tree / "src" / name).write_text(text)
    (shared.root / "reference.py").write_text(REFERENCE)
    (shared.root / "program.sh").write_text(PROGRAM)
    (shared.root / "broken.py").write_text("def is_prime(n):\n    return unheard_of\n")
    return shared


def verified(project: Project, code: int, **order: Any) -> dict[str, dict[str, Any]]:
    """The criteria of the round's report by id; `code` is what the command ends with."""
    patient = [{**criterion, "timeout": 200} for criterion in order.pop("acceptance_criteria")]
    whole = {**order, "acceptance_criteria": patient, "verification": {"retries_on_failure": 0}}
    result = project.run("verify", project.order(**whole), "--json")
    assert result.returncode == code, result.stdout + result.stderr
    return {criterion["id"]: criterion for criterion in json.loads(result.stdout)["criteria"]}


def finding(project: Project, criterion: dict[str, Any]) -> dict[str, Any]:
    shown = project.run("evidence", "show", criterion["evidence"]["id"])
    found: dict[str, Any] = json.loads(shown.stdout)["finding"]
    return found


@pytest.mark.slow
def test_honest_work_is_accepted_by_all_of_them(made: Project) -> None:
    seen = verified(made, 0, id="wo-right", workspace="right", acceptance_criteria=CRITERIA)
    assert [c["outcome"] for c in seen.values()] == ["passed"] * len(CRITERIA), seen
    assert {c["isolation"] for c in seen.values()} == {"out_of_process"}
    counts = {id: finding(made, criterion)["text"] for id, criterion in seen.items()}
    assert counts["generate"] == "30 of 30 cases passed"
    assert counts["program"] == "3 of 3 cases passed"


def test_each_of_them_catches_what_it_is_for(made: Project) -> None:
    criteria = [*CRITERIA, generates("detects", "detects"), generates("large", "large")]
    seen = verified(made, 1, id="wo-caught", workspace="caught", acceptance_criteria=criteria)
    assert [c["outcome"] for c in seen.values()] == ["failed"] * len(criteria), seen
    for id, criterion in seen.items():
        found = finding(made, criterion)
        assert found["code"] == ("wrong_result" if id != "program" else found["code"]), found["text"]
        assert f"seed {found['seed']}): " in found["text"]
    again = made.run("rejudge", "wo-caught", "--objective", "--json")
    assert again.returncode == 0, again.stdout + again.stderr


@pytest.mark.slow
def test_a_run_again_has_the_same_cases(made: Project) -> None:
    order = {"id": "wo-again", "workspace": "caught", "acceptance_criteria": [generates("large", "large")]}
    first, second = (finding(made, verified(made, 1, **order)["large"]) for _ in range(2))
    assert first["seen"]["seed"] == second["seen"]["seed"]
    assert first["text"] == second["text"]


def test_a_reference_that_is_broken_is_nobody_s_failure(made: Project) -> None:
    broken = calls("broken", "primes", "is_prime", generate={"reference": "broken.py", "args": [WHOLE]})
    seen = verified(made, 3, id="wo-broken", workspace="right", acceptance_criteria=[broken])
    assert seen["broken"]["outcome"] == "could_not_run"
