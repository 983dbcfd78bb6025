"""Strategies: what an order may say, what is told of one that is wrong, and the cases that a seed gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adapters.config.order_file import load_order
from domain.command_criteria import CliGenerate
from domain.criteria import files_of
from domain.criterion import MAX_CASES_BYTES
from domain.errors import Malformed
from domain.generation import Case, cases, derived_seed
from domain.python_criteria import Generate, Property, PythonCallParams
from domain.strategies import Inputs, Strategy, largest

CLI = "{type: cli_io, params: {command: x, generate: {reference: r.sh, %s}}}"
CALL = "{type: python_call, params: {module: m, function: f, %s}}"


def inputs(*args: dict[str, Any], **more: Any) -> Inputs:
    return Inputs.model_validate({"args": list(args), **more})


def column(strategy: dict[str, Any], seed: int = 1, count: int = 100) -> list[Any]:
    return [case.args[0] for case in cases(inputs(strategy, count=count), seed)]


def size(made: tuple[Case, ...]) -> int:
    return len(json.dumps([[0, case.args, case.kwargs] for case in made]))


EVERYTHING: list[dict[str, Any]] = [
    {"integer": {"min": -5, "max": 10**9}},
    {"number": {"min": -1.5, "max": 1e300}},
    {"boolean": {}},
    {"text": {}},
    {"text": {"alphabet": "\U0001f600", "min_length": 2, "max_length": 3}},
    {"one_of": [1, "x", None, [1.5]]},
    {"list": {"of": {"list": {"of": {"text": {"max_length": 4}}, "max_length": 3}}, "min_length": 1, "max_length": 4}},
    {"object": {"name": {"text": {}}, "ages": {"list": {"of": {"integer": {"min": 0, "max": 9}}}}}},
    {"value": {"always": None}},
]


@pytest.mark.parametrize("strategy", EVERYTHING, ids=lambda strategy: next(iter(strategy)))
def test_values_are_inside_their_bounds_different_and_the_same_for_a_seed(strategy: dict[str, Any]) -> None:
    made = column(strategy)
    assert made == column(strategy)
    assert len({json.dumps(value) for value in made}) == len(made)
    assert all(_fits(Strategy.model_validate(strategy), value) for value in made)
    if len(made) == 100:
        assert made != column(strategy, seed=2)


def _fits(strategy: Strategy, value: Any) -> bool:
    if strategy.integer:
        return type(value) is int and strategy.integer.min <= value <= strategy.integer.max
    if strategy.number:
        return type(value) is float and strategy.number.min <= value <= strategy.number.max
    if strategy.text:
        text = strategy.text
        return text.min_length <= len(value) <= text.max_length and set(value) <= set(text.alphabet)
    if strategy.list_:
        lists = strategy.list_
        return lists.min_length <= len(value) <= lists.max_length and all(_fits(lists.of, part) for part in value)
    if strategy.object_:
        return list(value) == list(strategy.object_) and all(_fits(s, value[k]) for k, s in strategy.object_.items())
    return type(value) is bool if strategy.boolean else value in (strategy.one_of or [strategy.value])


@pytest.mark.parametrize(
    ("strategy", "first"),
    [
        ({"integer": {"min": -9, "max": 9}}, [-9, 9, 0, 1, -1, -8, 8]),
        ({"integer": {"min": 3, "max": 9}}, [3, 9, 4, 8]),
        ({"number": {"min": -2, "max": 0.5}}, [-2.0, 0.5, 0.0, -1.0]),
        ({"boolean": {}}, [False, True]),
        ({"text": {"alphabet": "ab", "max_length": 3}}, ["", "a", "aba"]),
        ({"text": {"alphabet": "ab", "min_length": 2, "max_length": 2}}, ["ab"]),
        ({"list": {"of": {"one_of": [7, 8]}, "max_length": 3}}, [[], [7], [8], [7, 8, 7]]),
        ({"object": {"a": {"boolean": {}}, "b": {"value": 1}}}, [{"a": False, "b": 1}, {"a": True, "b": 1}]),
    ],
)
def test_edges_come_first(strategy: dict[str, Any], first: list[Any]) -> None:
    assert column(strategy)[: len(first)] == first


def test_a_space_that_is_small_is_walked_through_and_no_case_comes_twice() -> None:
    both = cases(inputs({"boolean": {}}, {"one_of": [1, 2, 3]}), 5)
    assert sorted((case.args[0], case.args[1]) for case in both) == [(b, n) for b in (False, True) for n in (1, 2, 3)]
    assert cases(Inputs(), 5) == (Case(),)


def test_numbers_of_every_magnitude_are_met() -> None:
    lengths = {len(str(value)) for value in column({"integer": {"min": 0, "max": 10**12}}, count=200)}
    assert lengths == set(range(1, 14))


def test_names_keep_their_values() -> None:
    made = cases(inputs({"value": 1}, kwargs={"b": {"value": 2}, "a": {"value": 3}}), 1)
    assert made == (Case([1], {"b": 2, "a": 3}),)


FULL: list[dict[str, Any]] = [
    {"text": {"alphabet": "\U0001f600", "min_length": 50, "max_length": 50}},
    {"list": {"of": {"integer": {"min": 10**20, "max": 10**21}}, "min_length": 40, "max_length": 40}},
    {"object": {"\u00e9" * 50: {"value": "\u00e9" * 50}}},
    {"number": {"min": -1.7e308, "max": -1.6e308}},
]


@pytest.mark.parametrize("strategy", [*EVERYTHING, *FULL], ids=str)
def test_no_cases_are_larger_than_was_foreseen(strategy: dict[str, Any]) -> None:
    wanted = inputs(strategy, kwargs={"k": strategy})
    assert size(cases(wanted, 1)) <= wanted.largest
    full = cases(inputs(strategy, count=1), 1)[0].args[0]
    assert len(json.dumps(full)) <= largest(Strategy.model_validate(strategy))


def test_a_seed_follows_from_tree_item_and_files() -> None:
    seed = derived_seed("a", "AC-1", "f")
    assert seed == derived_seed("a", "AC-1", "f")
    assert (
        len({seed, derived_seed("b", "AC-1", "f"), derived_seed("a", "AC-2", "f"), derived_seed("a", "AC-1", "")}) == 4
    )


@pytest.mark.parametrize("strategy", EVERYTHING, ids=lambda strategy: next(iter(strategy)))
def test_a_strategy_comes_back_as_it_was(strategy: dict[str, Any]) -> None:
    first = Strategy.model_validate_json(json.dumps(strategy))
    assert Strategy.model_validate_json(first.model_dump_json()) == first
    assert list(first.model_dump(mode="json")) == list(strategy)


def problems(tmp_path: Path, criterion: str) -> str:
    for name in ("work", "base"):
        (tmp_path / name).mkdir()
    for name in ("r.py", "r.sh"):
        (tmp_path / name).touch()
    file = tmp_path / "order.yaml"
    file.write_text(f"content: x\nworkspace: work\nbase: base\nacceptance_criteria:\n  - {criterion}\n")
    with pytest.raises(Malformed) as caught:
        load_order(file)
    return str(caught.value).removeprefix(f"{file}:5: acceptance_criteria[0].params.")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            "args: [{integr: {min: 1, max: 2}}]",
            "generate.args[0].integr: unknown field 'integr', did you mean 'integer'?",
        ),
        ("args: [{integer: {min: 1}}]", "generate.args[0].integer.max: is missing, expected a whole number"),
        ("args: [{integer: {min: 2, max: 1}}]", "generate.args[0].integer: min is 2 and max 1"),
        (
            "args: [{integer: {min: 1.5, max: 2}}]",
            "generate.args[0].integer.min: the number 1.5, expected a whole number",
        ),
        ("args: [{number: {min: 0, max: .inf}}]", "generate.args[0].number.max: "),
        ("args: [{text: {alphabet: ''}}]", "generate.args[0].text.alphabet: "),
        ("args: [{text: {min_length: 30}}]", "generate.args[0].text: min_length is 30 and max_length 20"),
        ("args: [{one_of: []}]", "generate.args[0].one_of: an empty list, expected a list with at least 1 entry"),
        ("args: [{list: {of: {value: 1, boolean: {}}}}]", "generate.args[0].list.of: a strategy of 2 kinds"),
        ("args: [{object: {a: {}}}]", "generate.args[0].object.a: an empty strategy, expected one of integer,"),
        ("args: [{text: null}]", "generate.args[0].text: null, expected what the strategy is"),
        ("args: [5]", "generate.args[0]: the number 5, expected an object with the fields integer, "),
        ("kwargs: {a: {text: {max_length: -1}}}", "generate.kwargs.a.text.max_length: the number -1, expected"),
        ("count: 0", "generate.count: the number 0, expected a whole number, at least 1"),
        ("seed: -1", "generate.seed: the number -1, expected a whole number, at least 0"),
        ("reference: r.sh", "generate.reference: 'r.sh' cannot be imported"),
        ("args: [{text: {max_length: 10000}}]", "generate: up to 12"),
    ],
)
def test_a_generate_that_is_wrong_is_told_with_its_place(tmp_path: Path, fields: str, said: str) -> None:
    reference = "" if "reference" in fields else "reference: r.py, "
    assert problems(tmp_path, CALL % f"generate: {{{reference}{fields}}}").startswith(said)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ("property: idempotnt", "properties[0].property: the text 'idempotnt', expected one of"),
        ("property: idempotent, args: []", "properties[0]: 0 arguments without a name, expected one"),
        ("property: inverse, args: [{text: {}}]", "properties[0]: the property inverse has no with"),
        ("property: raises", "properties[0]: the property raises has no exception"),
        ("property: raises, exception: 'a b'", "properties[0].exception: 'a b' is no name of Python's"),
        ("property: idempotent, strict: true, args: [{text: {}}]", "properties[0].strict: says nothing about"),
        (
            "property: monotone, args: [{text: {}}]",
            "properties[0]: what varies is not one number, expected one argument of",
        ),
        ("property: monotone, args: [{value: 1}]", "properties[0]: what varies is not one number"),
        ("property: idempotent, wth: f", "properties[0].wth: unknown field 'wth', did you mean 'with'?"),
    ],
)
def test_a_property_that_is_wrong_is_told_with_its_place(tmp_path: Path, fields: str, said: str) -> None:
    assert said in problems(tmp_path, CALL % f"properties: [{{{fields}}}]")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            "args: [{boolean: {}}]",
            "generate.args[0]: a program cannot be given what a strategy of the kind boolean makes",
        ),
        ("args: [{list: {of: {text: {}}}}]", "generate.args[0]: a program cannot be given"),
        ('args: [{text: {alphabet: "a\\0"}}]', "generate.args[0]: a program cannot be given"),
        ("stdin: [{text: {}}, {object: {}}]", "generate.stdin[1]: a program cannot be given"),
        ("stdin: {list: {of: {boolean: {}}}}", "generate.stdin: a program cannot be given"),
        ("stdin: [{txt: {}}]", "generate.stdin[0].txt: unknown field 'txt', did you mean 'text'?"),
        ("stdin: {text: {min_length: x}}", "generate.stdin.text.min_length: the text 'x', expected a whole number"),
        ("stdin: 5", "generate.stdin: the number 5, expected an object with the fields"),
        ("args: [{one_of: [true]}]", "generate.args[0]: a program cannot be given"),
        ("args: [{text: {max_length: 9000}}]", "generate: up to 108"),
        ("count: 51", "generate.count: the number 51, expected a whole number, at least 1 and at most 50"),
    ],
)
def test_a_program_s_generate_that_is_wrong_is_told_with_its_place(tmp_path: Path, fields: str, said: str) -> None:
    assert problems(tmp_path, CLI % fields).startswith(said)


def test_cases_and_all_that_is_generated_are_bounded_together() -> None:
    half = {"property": "raises", "exception": "E", "args": [{"text": {"alphabet": "a", "max_length": 6000}}]}
    params = {"module": "m", "function": "f"}
    assert PythonCallParams.model_validate({**params, "properties": [half]}).properties[0].largest < MAX_CASES_BYTES
    with pytest.raises(ValueError, match=r"up to 1[0-9]{6} bytes of cases"):
        PythonCallParams.model_validate({**params, "properties": [half, half]})


def test_a_program_is_given_texts_and_lines() -> None:
    several = CliGenerate.model_validate(
        {"reference": "r", "args": [{"value": 1}], "stdin": [{"value": "a"}, {"value": 2}]}
    )
    assert several.case([1, "a", 2]) == (["1"], "a\n2\n")
    many = CliGenerate.model_validate({"reference": "r", "stdin": {"list": {"of": {"text": {}}}}})
    assert many.case([["x", ""]]) == ([], "x\n\n")
    one = CliGenerate.model_validate({"reference": "r", "args": [{"text": {}}], "stdin": {"text": {}}})
    assert one.case(["", "no line"]) == ([""], "no line")
    assert CliGenerate.model_validate({"reference": "r", "args": [{"text": {}}]}).case(["x"]) == (["x"], "")


def test_the_reference_is_a_file_of_the_order(tmp_path: Path) -> None:
    call = Property.model_validate({"property": "monotone", "args": [{"integer": {"min": 0, "max": 1}}]})
    generate = Generate.model_validate({"reference": "refs/r.py"})
    (tmp_path / "refs").mkdir()
    for name in ("refs/r.py", "r.sh"):
        (tmp_path / name).touch()
    for name in ("base", "work"):
        (tmp_path / name).mkdir()
    file = tmp_path / "order.json"
    made = {"generate": generate.model_dump(mode="json"), "properties": [call.model_dump(mode="json", by_alias=True)]}
    criteria = [
        {"type": "python_call", "params": {"module": "m", "function": "f", **made}},
        {"type": "cli_io", "params": {"command": "x", "generate": {"reference": "r.sh"}}},
    ]
    file.write_text(json.dumps({"content": "x", "workspace": "work", "base": "base", "acceptance_criteria": criteria}))
    order = load_order(file)
    assert [files_of(criterion) for criterion in order.acceptance_criteria] == [("refs/r.py",), ("r.sh",)]
