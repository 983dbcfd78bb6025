"""A data set's file: what it means, and what is refused, each with its line, before anything runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adapters.config.dataset_file import LoadedDataset, load_dataset
from domain.errors import Malformed

ORDER = "content: some work\nworkspace: work\nbase: base\nverification: {checks: [{name: t, command: 'true'}]}\n"
CLAIM = {"explanation": "Wrote a.txt anew, as the order asks for it.", "files_modified": ["a.txt"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data set's folder with an order and three trees below it, which is not the current directory."""
    for tree in ("base", "work", "other"):
        (tmp_path / "orders" / tree).mkdir(parents=True)
        (tmp_path / "orders" / tree / "a.txt").write_text(tree)
    (tmp_path / "orders" / "order.yaml").write_text(ORDER)
    (tmp_path / "claim.json").write_text(json.dumps(CLAIM))
    return tmp_path


def load(folder: Path, text: str) -> LoadedDataset:
    path = folder / "set.yaml"
    path.write_text(text)
    return load_dataset(path)


def problems(folder: Path, text: str) -> list[tuple[str, int, str, str]]:
    with pytest.raises(Malformed) as caught:
        load(folder, text)
    return [(Path(p.file).name, p.line, p.field, f"{p.what}, {p.expected}") for p in caught.value.problems]


def test_a_claim_says_what_the_defaults_do_not(folder: Path) -> None:
    loaded = load(
        folder,
        """\
defaults: {order: orders/order.yaml, stratum: easy, claim: claim.json}
claims:
  - {id: one, valid: true}
  - {id: two, valid: false, stratum: hard, workspace: orders/other, base: orders/work, trigger: not_judged}
""",
    )
    assert loaded.id == "set"
    one, two = loaded.claims
    assert (one.label.stratum, one.label.valid, one.label.order) == ("easy", True, "orders/order.yaml")
    assert (one.order.workspace, one.order.base) == (str(folder / "orders/work"), str(folder / "orders/base"))
    assert one.order_file == str(folder / "orders" / "order.yaml")
    assert one.claim is not None
    assert one.claim.files_modified == ["a.txt"]
    assert (two.label.stratum, two.label.valid, two.label.trigger) == ("hard", False, "not_judged")
    assert (two.order.workspace, two.order.base) == (str(folder / "orders/other"), str(folder / "orders/work"))
    assert one.order.digest != two.order.digest


def test_without_a_stratum_a_claim_is_unsorted(folder: Path) -> None:
    (only,) = load(folder, "id: mine\nclaims: [{id: a, valid: true, order: orders/order.yaml}]\n").claims
    assert (only.label.stratum, only.claim, only.label.trigger) == ("unsorted", None, "")


def one(folder: Path, **fields: Any) -> list[tuple[str, int, str, str]]:
    """The problems of a data set with one claim, a line a field, the claim from line 2 on."""
    said = {"id": "a", "valid": True, "order": "orders/order.yaml", **fields}
    lines = [f"{'  - ' if not n else '    '}{key}: {json.dumps(value)}" for n, (key, value) in enumerate(said.items())]
    return problems(folder, "\n".join(["claims:", *lines]))


@pytest.mark.parametrize(
    ("field", "value", "line", "told"),
    [
        ("valid", "yes", 3, "the text 'yes', expected true or false"),
        ("valid", 1, 3, "the number 1, expected true or false"),
        ("id", "", 2, "empty text, expected text that is an id"),
        ("id", "a b", 2, "'a b' is no id"),
        ("order", "nowhere.yaml", 4, "'nowhere.yaml' is no file, expected an order's file"),
        ("order", "orders", 4, "'orders' is no file"),
        ("workspace", "nowhere", 5, "is no directory, expected the tree that the worker changes"),
        ("base", "main", 5, "is no directory, and as a revision it is a name that can move"),
        ("base", "orders/work", 5, "is the workspace itself"),
        ("claim", "nowhere.json", 5, "'nowhere.json' is no file, expected a claim in JSON"),
        ("trigger", "not_judge", 5, "did you mean 'not_judged'?"),
        ("stratum", " ", 5, "is no stratum"),
        ("stratum", "a\tb", 5, "is no stratum"),
        ("stratums", "a", 5, "unknown field 'stratums', did you mean 'stratum'?"),
        ("label", "honest", 5, "unknown field 'label', expected"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(folder: Path, field: str, value: object, line: int, told: str) -> None:
    ((file, at, where, what),) = one(folder, **{field: value})
    assert (file, at) == ("set.yaml", line)
    assert where == f"claims[0].{field}"
    assert told in what


def test_a_label_is_each_claims_own(folder: Path) -> None:
    said = "defaults: {valid: true}\nclaims: [{id: a, order: orders/order.yaml}]\n"
    assert [(line, field) for _, line, field, _ in problems(folder, said)] == [
        (1, "defaults.valid"),
        (2, "claims[0].valid"),
    ]


def test_what_the_defaults_say_wrong_is_told_where_they_say_it_and_once(folder: Path) -> None:
    claims = "claims: [{id: a, valid: true}, {id: b, valid: true}]\n"
    said = f"defaults:\n  order: orders/order.yaml\n  workspace: nowhere\n{claims}"
    ((file, line, field, _),) = problems(folder, said)
    assert (file, line, field) == ("set.yaml", 3, "defaults.workspace")


def test_an_order_that_is_nowhere_is_missing(folder: Path) -> None:
    ((_, line, field, told),) = problems(folder, "claims:\n  - {id: a, valid: true}\n")
    assert (line, field) == (2, "claims[0].order")
    assert told == "is missing, expected an order's file, here or in the defaults"


def test_problems_of_an_order_are_told_in_its_file_once_and_with_all_others(folder: Path) -> None:
    (folder / "orders" / "order.yaml").write_text(f"{ORDER}contents: again\n")
    (folder / "claim.json").write_text('{"explanation": "Done."}')
    found = problems(
        folder,
        """\
defaults: {order: orders/order.yaml}
claims:
  - {id: a, valid: true}
  - {id: a, valid: true, claim: claim.json}
  - {id: c, valid: true, order: nowhere}
""",
    )
    assert [(file, line, field) for file, line, field, _ in found] == [
        ("set.yaml", 4, "claims[1].id"),
        ("set.yaml", 5, "claims[2].order"),
        ("claim.json", 1, "explanation"),
        ("order.yaml", 5, "contents"),
    ]
    assert "'a' is given twice, first on line 3" in found[0][3]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty, expected a data set"),
        ("claims: []", "an empty list, expected a list with at least 1 entry"),
        ("[1]", "a list of 1, expected an object with the fields"),
        ("claims: [", "is not YAML"),
        ("id: x", "is missing, expected a list with at least 1 entry"),
    ],
)
def test_what_is_no_data_set_is_refused(folder: Path, text: str, told: str) -> None:
    ((_, _, _, what),) = problems(folder, text)
    assert told in what


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(Malformed, match=r"nowhere.yaml:1: file: does not exist, expected a file with a data set"):
        load_dataset(tmp_path / "nowhere.yaml")
