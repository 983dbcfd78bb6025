"""A claim's file: what is admitted, and what is refused with its line and what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adapters.config import order_secrets
from adapters.config.claim_file import load_claim
from adapters.masking.masker import Masker
from domain.claims.claim import MAX_CLAIM_BYTES, MAX_OUTPUT_BYTES, Claim, faults, references
from domain.errors import Malformed

GOOD: dict[str, Any] = {
    "explanation": "Implemented is_prime by trial division up to the square root [tests].",
    "evidence": [{"label": "tests", "type": "command_output", "data": {"passed": 12}}],
    "files_modified": ["src/solution.py"],
    "commands_run": [{"command": "pytest -q", "stdout": "12 passed in 0.30s\n", "exit_code": 0}],
}


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "claim.json"
    path.write_text(text)
    return path


def problems(tmp_path: Path, **fields: Any) -> list[tuple[int, str, str, str]]:
    path = written(tmp_path, json.dumps(GOOD | fields, indent=1))
    with pytest.raises(Malformed) as caught:
        load_claim(path)
    assert all(problem.file == str(path) for problem in caught.value.problems)
    return [(problem.line, problem.field, problem.what, problem.expected) for problem in caught.value.problems]


def test_a_good_claim_is_read_as_it_is(tmp_path: Path) -> None:
    assert load_claim(written(tmp_path, json.dumps(GOOD))).model_dump(mode="json", exclude_defaults=True) == GOOD


@pytest.mark.parametrize("ascii", [True, False])
def test_json_that_is_no_yaml_is_read_too(tmp_path: Path, ascii: bool) -> None:
    stdout = "\x7f\x85\u2028\ufeff\t\x1b[1m \0 a\\/b \N{GRINNING FACE}\n"
    claim = GOOD | {"commands_run": [{"command": "x", "stdout": stdout, "exit_code": -9}]}
    text = json.dumps(claim, ensure_ascii=ascii, indent="\t").replace("a\\\\/b", "a\\\\\\/b")
    assert load_claim(written(tmp_path, text)).commands_run[0].stdout == stdout


@pytest.mark.parametrize(
    "explanation",
    ["Done.", "Done. I fixed the auth issue.", "It works now, all good!", "   ", "", "The task is complete."],
)
def test_an_explanation_that_says_nothing_is_refused_with_what_to_say(tmp_path: Path, explanation: str) -> None:
    ((line, field, what, expected),) = problems(tmp_path, explanation=explanation)
    assert (line, field) == (2, "explanation")
    assert "says neither what was done nor how" in what or what == "is empty"
    assert expected == "expected what was done and how, with references to evidence such as [tests]"


@pytest.mark.parametrize(
    "explanation",
    [
        "Added trial division to is_prime.",
        "Replaced rows[0] by `[first]`, a link [docs](x.md), and list[int] in [see below].",
        "Made divide round half to even, as in [1].",
    ],
)
def test_an_explanation_that_says_something_is_admitted(explanation: str) -> None:
    assert faults(Claim(explanation=explanation)) == ()


def test_references_are_labels_of_evidence(tmp_path: Path) -> None:
    said = "Trial division [tests], measured [bench], see ([diff/1]) and [tests]."
    assert references(said) == ("tests", "bench", "diff/1")
    found = problems(tmp_path, explanation=said)
    assert [(line, what) for line, _, what, _ in found] == [
        (2, "refers to [bench], and no evidence has that label"),
        (2, "refers to [diff/1], and no evidence has that label"),
    ]
    assert found[0][3] == "expected one of tests, or backquotes around what is no reference"
    numbered = Claim.model_validate(GOOD | {"explanation": "Trial division [2].", "evidence": []})
    assert faults(numbered) == ()
    cited = numbered.model_copy(update={"evidence": [Claim.model_validate(GOOD).evidence[0]]})
    assert faults(cited) == ()
    one = cited.evidence[0].model_copy(update={"label": "1"})
    assert [fault.what for fault in faults(cited.model_copy(update={"evidence": [one]}))] == [
        "refers to [2], and no evidence has that label"
    ]


@pytest.mark.parametrize(
    ("fields", "line", "field", "what"),
    [
        ({"evidence": [GOOD["evidence"][0]] * 2}, 12, "evidence[1].label", "'tests' labels two pieces of evidence"),
        (
            {"evidence": [*GOOD["evidence"], {"label": "a b", "type": "x"}]},
            12,
            "evidence[1].label",
            "'a b' is no label",
        ),
        ({"evidence": [{"label": "tests", "type": " "}]}, 6, "evidence[0].type", "is empty"),
        (
            {"files_modified": ["a", "/etc/passwd"]},
            14,
            "files_modified[1]",
            "'/etc/passwd' is no path in the workspace",
        ),
        ({"files_modified": ["../a"]}, 13, "files_modified[0]", "'../a' is no path in the workspace"),
        ({"commands_run": [{"command": " ", "exit_code": 0}]}, 17, "commands_run[0].command", "an empty command"),
        ({"commands_run": [{"command": "x", "exit_code": "0"}]}, 18, "commands_run[0].exit_code", "the text '0'"),
        ({"commands_run": [{"command": "x"}]}, 16, "commands_run[0].exit_code", "is missing"),
        ({"file_modified": []}, 22, "file_modified", "unknown field 'file_modified'"),
    ],
)
def test_each_problem_has_its_line(tmp_path: Path, fields: dict[str, Any], line: int, field: str, what: str) -> None:
    assert [found[:3] for found in problems(tmp_path, **fields)] == [(line, field, what)]


def test_what_is_too_long_is_refused_with_what_to_do(tmp_path: Path) -> None:
    ran = {"command": "x", "stdout": "a" * MAX_OUTPUT_BYTES, "exit_code": 0}
    assert load_claim(written(tmp_path, json.dumps(GOOD | {"commands_run": [ran]}))).commands_run
    longer = ran | {"stderr": "ä" * (MAX_OUTPUT_BYTES // 2 + 1)}
    ((_, field, what, expected),) = problems(tmp_path, commands_run=[longer])
    assert (field, what) == ("commands_run[0].stderr", f"has {MAX_OUTPUT_BYTES + 2} bytes")
    assert expected == f"expected at most {MAX_OUTPUT_BYTES}: its end, where the summary is"
    ((line, field, what, expected),) = problems(tmp_path, commands_run=[ran] * 5)
    assert (line, field) == (1, "file")
    assert expected.startswith(f"expected at most {MAX_CLAIM_BYTES}")


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("explanation: yes\n", 1, "is not JSON: Expecting value"),
        ('{\n"explanation": "x",\n}', 3, "is not JSON"),
        ("[" * 3000, 1, "is not JSON that can be read"),
        ("[]", 1, "an empty list"),
        ('{"explanation": "Trial division in it",\n "explanation": "x"}', 2, "is given twice, first on line 1"),
        ('{"explanation": "half \\ud800 a character"}', 1, "text with half a character"),
    ],
)
def test_what_is_no_claim_is_refused(tmp_path: Path, text: str, line: int, what: str) -> None:
    with pytest.raises(Malformed) as caught:
        load_claim(written(tmp_path, text))
    assert caught.value.problems[0].line == line
    assert what in caught.value.problems[0].what


def test_a_secret_is_refused_with_its_line_and_without_its_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order_secrets, "KNOWN", Masker({"API_KEY": b"hunter2-hunter3"}))
    ran = [{"command": "curl", "stdout": "token: hunter2-hunter3\n", "exit_code": 0}]
    ((line, field, what, expected),) = problems(tmp_path, commands_run=ran)
    assert (line, field) == (18, "commands_run[0].stdout")
    assert what == "holds the value of the secret API_KEY"
    assert expected == "expected none: a claim is stored and shown"
    with pytest.raises(Malformed) as caught:
        load_claim(
            written(
                tmp_path, json.dumps(GOOD | {"evidence": [{"label": "k", "type": "x", "data": {"hunter2-hunter3": 1}}]})
            )
        )
    assert "hunter2" not in str(caught.value)


def test_a_claim_that_was_masked_is_still_read_back() -> None:
    masked = json.dumps(GOOD).replace("tests", "[secret TOKEN]").replace("src/solution.py", "/[secret TOKEN]")
    assert Claim.model_validate_json(masked).evidence[0].label == "[secret TOKEN]"
