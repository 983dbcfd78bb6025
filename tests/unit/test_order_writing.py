"""Drafted criteria saved into an order's file: what is there stays, what joins reads back exactly."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.config.order_file import load_order, order_in
from adapters.config.order_insertion import Addition, with_criteria
from adapters.config.order_writing import Drafted, OrderText
from domain.base import canonical_json
from domain.command_criteria import CliIo, CommandExitZero, CommandOutput
from domain.criteria import Criterion, Subjective
from domain.drafts.record import Rejected
from domain.errors import Malformed, Unavailable
from domain.python_criteria import PythonCall

TREES = "content: do it\nworkspace: work\nbase: base\n"
WHEN = "on 2026-11-22 in round local/wo-x/1"
NASTY = [
    *("", " x", "x ", "a: b", "- a", "# c", "'", '"', "a\nb", "\na", " a\nb", "a\n", "a\n\n", "a \nb", "a\r\nb", "\t"),
    *("\x7f", "é", "\x85", "\u2028", "\ufeff", "\uffff", "😀", "1e5", "0o7", "yes", "~", "<<", "=", "%", "@", "`", "|"),
    *("{", "? a", "*a", "&a b", "!a", "...", "---", "a #b", "a:", "-1.5", "0x1f", "null", "2026-11-22", "10:20"),
]
texts = st.one_of(st.sampled_from(NASTY), st.text(max_size=40))
commands = texts.filter(lambda text: bool(text.strip()) and "\0" not in text)
plain = texts.filter(lambda text: "\0" not in text)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)
variables = st.dictionaries(st.from_regex(r"[A-Z_]{1,8}", fullmatch=True), plain, max_size=2)
shared = {"description": texts, "required": st.booleans(), "timeout": st.floats(0.5, 120)}
run = {"command": commands, "cwd": st.sampled_from([".", "src"]), "env": variables}
printed = {
    "stdout": texts,
    "stderr": texts,
    "stdout_pattern": st.just(r"^\d+: 'x' #\s"),
    "exit_code": st.integers(0, 255),
}


def objects(needed: dict[str, Any], optional: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(needed, optional=optional)


cases = st.one_of(
    objects(
        {"returns": values},
        {"args": st.lists(values, max_size=3), "kwargs": st.dictionaries(texts, values, max_size=2)},
    ),
    objects({"raises": st.just("ValueError")}, {"args": st.lists(values, max_size=3)}),
)
properties = st.sampled_from(
    [
        {"property": "idempotent", "args": [{"text": {}}]},
        {
            "property": "inverse",
            "with": "decode",
            "args": [{"list": {"of": {"integer": {"min": -3, "max": 3}}}}],
            "seed": 0,
        },
        {"property": "monotone", "args": [{"integer": {"min": 0, "max": 9}}, {"value": None}], "strict": True},
    ]
)
of_types: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "command_exit_zero": objects({"command": commands}, {"cwd": run["cwd"], "env": run["env"]}),
    "command_output": objects(
        {"command": commands, "stdout": texts},
        {"env": variables, **{name: printed[name] for name in printed if name != "stdout"}},
    ),
    "python_call": objects(
        {"module": st.just("a.b"), "function": st.just("C.f"), "cases": st.lists(cases, min_size=1, max_size=3)},
        {"path": st.just("src"), "properties": st.lists(properties, max_size=2)},
    ),
    "cli_io": objects(
        {
            "command": commands,
            "cases": st.lists(
                objects({}, {**printed, "args": st.lists(plain, max_size=2), "stdin": plain}), min_size=1, max_size=3
            ),
        },
        {"env": variables},
    ),
}


@st.composite
def criteria(draw: st.DrawFn) -> list[Criterion]:
    found: list[Criterion] = []
    for place in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from([*of_types, "subjective"]))
        said: dict[str, Any] = {"id": f"AC-{place + 1}", "type": kind, **draw(objects({}, shared))}
        if kind == "subjective":
            said["description"] = draw(commands)
        else:
            said["params"] = draw(of_types[kind])
        found.append(OF[kind].model_validate_json(json.dumps(said)))
    return found


OF: dict[str, Any] = {
    "command_exit_zero": CommandExitZero,
    "command_output": CommandOutput,
    "python_call": PythonCall,
    "cli_io": CliIo,
    "subjective": Subjective,
}
CHECK = CommandExitZero.model_validate({"id": "AC-1", "type": "command_exit_zero", "params": {"command": "ls src"}})
CALL = PythonCall.model_validate(
    {
        "id": "AC-2",
        "type": "python_call",
        "description": "is_prime(2) returns True",
        "params": {"module": "solution", "function": "is_prime", "cases": [{"args": [2], "returns": True}]},
    }
)
READABLE = Subjective(id="AC-3", type="subjective", description="the code is readable:\n  to anybody")
REJECTED = Rejected(criterion="AC-3", check="true", code="vacuous", reason="it passes on\nan empty tree")


def dumped(found: list[Criterion]) -> list[bytes]:
    """What tells 1 from 1.0 and from True, too."""
    return [canonical_json(criterion.model_dump(mode="json")) for criterion in found]


NICE = "{id: S, type: subjective, description: nice}"
OF_LINES = "acceptance_criteria:\n  - id: S\n    type: subjective\n    description: "
ORDERS = {
    "nothing": TREES,
    "no line's end": TREES.removesuffix("\n"),
    "a list in blocks": f"{TREES}acceptance_criteria:\n- {NICE}  # one\n# scope\nscope: {{}}\n",
    "a block at its end": f"{TREES}{OF_LINES}|+\n      nice\n\n",
    "a block, then more": f"{OF_LINES}>\n      nice\n\n# trees\n{TREES}",
    "a text of two lines": f"{OF_LINES}very\n      nice  # or so\n{TREES}",
    "an empty list": f"{TREES}acceptance_criteria: []  # none yet\nscope: {{}}\n",
    "an empty list of lines": f"{TREES}acceptance_criteria: [\n  # none yet\n]\n",
    "a list on a line": f"{TREES}acceptance_criteria: [{NICE}] # one\n",
    "a list with a comma": f"{TREES}acceptance_criteria: [\n  {NICE},  # one\n]\n",
    "an alias at its end": f"domain: &d docs\n{OF_LINES}*d  # so\n{TREES}",
    "set in": "  content: x\n  base: b\n",
    "an end": "---\ncontent: x\n...\n",
    "a kept block last": "content: |+\n  do it\n\n\n",
    "one line": "{content: x, base: b}\n",
    "one line of lines": "{\n  content: x, # this\n  base: b,\n}\n",
    "windows": TREES.replace("\n", "\r\n"),
    "JSON": '{\n  "content": "x",\n  "base": "b"\n}\n',
    "JSON with tabs": '{\n\t"content": "x",\n\t"acceptance_criteria": []\n}\n',
    "JSON on a line": '{"content":"x","acceptance_criteria":[{"id":"S","type":"subjective","description":"nice"}]}',
}


def joined(name: str, found: list[Criterion]) -> None:
    """What a text comes to, held against what it should say, and against itself before."""
    text, is_json = ORDERS[name], name.startswith("JSON")
    before = order_in(text, Path("order.yaml"))
    added = with_criteria(text, Addition(found, f"drafted {WHEN}", ["dropped: AC-9"]), is_json=is_json)
    after = order_in(added, Path("order.yaml"))
    assert dumped(after.acceptance_criteria) == dumped([*before.acceptance_criteria, *found])
    assert after.digest == before.with_criteria(found).digest
    kept = iter(added)
    assert all(character in kept for character in text), "every character that was there, in its order"
    if is_json:
        assert json.loads(added)
    else:
        assert added.count("# drafted on") == len(found)
        assert added.count("# dropped: AC-9") == 1


@pytest.mark.parametrize("name", ORDERS)
def test_criteria_join_whatever_the_order_looks_like_and_nothing_else_changes(name: str) -> None:
    joined(name, [CHECK, READABLE])


@pytest.mark.parametrize("name", ["nothing", "a list on a line", "JSON"])
def test_every_text_that_yaml_could_take_for_something_else_stays_itself(name: str) -> None:
    cases = [{"args": [text, {text: text}], "returns": text} for text in NASTY]
    said = {"id": "AC-1", "type": "python_call", "params": {"module": "a", "function": "f", "cases": cases}}
    joined(name, [PythonCall.model_validate_json(json.dumps(said))])


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(["nothing", "a list in blocks", "a list on a line", "JSON"]), found=criteria())
def test_whatever_joins_reads_back_exactly(name: str, found: list[Criterion]) -> None:
    joined(name, found)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("work", "base", "orders"):
        (tmp_path / name).mkdir()
    return tmp_path / "orders"


def written(folder: Path, text: str = TREES.replace(": w", ": ../w").replace(": base", ": ../base")) -> Path:
    file = folder / "order.yaml"
    file.write_text(text)
    return file


def opened(file: Path) -> OrderText:
    return OrderText(file, Path(load_order(file).workspace))


def refusal(file: Path, workspace: Path) -> str:
    with pytest.raises(Malformed) as caught:
        OrderText(file, workspace)
    return str(caught.value)


def test_a_person_reads_what_was_drafted_when_and_what_was_dropped_why(folder: Path) -> None:
    file = written(folder, "# Ours.\ncontent: do it # now\n\nworkspace:   ../work\nbase: ../base\n")
    assert opened(file).save(Drafted([CHECK, CALL, READABLE], [REJECTED], WHEN)) == ("AC-1", "AC-2", "AC-3")
    assert file.read_text() == (
        "# Ours.\ncontent: do it # now\n\nworkspace:   ../work\nbase: ../base\n"
        "\nacceptance_criteria:\n"
        f"  # drafted {WHEN}\n"
        "  - id: AC-1\n    type: command_exit_zero\n    params: {command: ls src}\n"
        f"  # drafted {WHEN}\n"
        "  - id: AC-2\n    description: is_prime(2) returns True\n    type: python_call\n    params:\n"
        "      module: solution\n      function: is_prime\n      cases:\n        - args: [2]\n          returns: true\n"
        f"  # drafted {WHEN}\n"
        "  - id: AC-3\n    description: |-\n      the code is readable:\n        to anybody\n    type: subjective\n"
        "  # dropped: AC-3, vacuous: true (it passes on an empty tree)\n"
    )
    assert load_order(file).acceptance_criteria == [CHECK, CALL, READABLE]


def test_saving_twice_changes_nothing_and_leaves_no_file_beside(folder: Path) -> None:
    file = written(folder)
    first = opened(file)
    first.save(Drafted([CHECK], [REJECTED], WHEN))
    text = file.read_text()
    assert first.save(Drafted([CHECK], [REJECTED], "later")) == ()
    assert opened(file).save(Drafted([CHECK], [REJECTED], "later")) == ()
    assert file.read_text() == text
    assert [file.name for file in folder.iterdir()] == ["order.yaml"]


def test_json_stays_json(folder: Path) -> None:
    file = written(folder, json.dumps({"content": "x", "workspace": "../work", "base": "../base"}, indent=4))
    opened(file).save(Drafted([CHECK, CALL], [REJECTED], WHEN))
    assert load_order(file).acceptance_criteria == [CHECK, CALL]
    assert [one["id"] for one in json.loads(file.read_text())["acceptance_criteria"]] == ["AC-1", "AC-2"]


def test_mode_and_byte_order_mark_are_kept(folder: Path) -> None:
    file = written(folder)
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    file.chmod(0o640)
    opened(file).save(Drafted([CHECK]))
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert file.read_bytes().startswith(b"\xef\xbb\xbfcontent")


def test_a_link_to_a_file_in_its_folder_is_written_through_and_stays_one(folder: Path) -> None:
    file = written(folder)
    link = folder / "link.yaml"
    link.symlink_to(file.name)
    OrderText(link, folder.parent / "work").save(Drafted([CHECK]))
    assert link.is_symlink()
    assert load_order(file).acceptance_criteria == [CHECK]


def test_a_link_out_of_its_folder_is_refused(folder: Path) -> None:
    target = written(folder)
    link = folder.parent / "link.yaml"
    link.symlink_to(target)
    assert refusal(link, folder.parent / "work") == (
        f"command line:1: --save-tests: '{link}' is a link out of its folder, expected the file itself: {target}"
    )


def test_an_order_in_the_workspace_is_refused_also_by_a_link_on_either_side(folder: Path) -> None:
    workspace = folder.parent / "work"
    inside = workspace / "order.yaml"
    inside.write_text(TREES)
    outside = folder / "order.yaml"
    outside.symlink_to(inside)
    out_again = workspace / "again.yaml"
    out_again.symlink_to(written(folder.parent))
    for file in (inside, outside, out_again):
        assert "is in the workspace: who did the work could write it" in refusal(file, workspace)


@pytest.mark.parametrize("place", ["file", "folder"])
def test_what_cannot_be_written_is_refused_before_anything_runs(
    folder: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(folder)
    shut = {"file": file, "folder": folder}[place]
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != shut and real(path, mode))
    assert "cannot be written, expected a file, in a folder, that you may write" in refusal(
        file, folder.parent / "work"
    )


def test_a_file_that_is_there_to_be_read_only_is_refused_to_root_as_well(folder: Path) -> None:
    file = written(folder)
    file.chmod(0o444)
    assert "cannot be written" in refusal(file, folder.parent / "work")


def test_an_alias_has_no_place_for_more(folder: Path) -> None:
    file = written(folder, "content: x\nenvironment: {build: &none []}\nacceptance_criteria: *none\n")
    assert "has no place for criteria: acceptance_criteria is an alias" in refusal(file, folder.parent / "work")


def test_a_list_that_another_field_shares_has_no_place_for_more(folder: Path) -> None:
    file = written(folder, "content: x\nacceptance_criteria: &none []\nenvironment: {build: *none}\n")
    assert "has no place for criteria" in refusal(file, folder.parent / "work")


def test_an_order_that_was_changed_while_the_round_ran_stays_as_it_is(folder: Path) -> None:
    file = written(folder)
    before = opened(file)
    file.write_text(text := file.read_text().replace("do it", "do something else"))
    with pytest.raises(Unavailable, match="it was changed while the round ran"):
        before.save(Drafted([CHECK]))
    assert file.read_text() == text
    assert [file.name for file in folder.iterdir()] == ["order.yaml"]


def test_a_full_disk_leaves_the_file_as_it_was(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(folder)
    before, text = opened(file), file.read_text()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Unavailable, match=r"is as it was: No space left on device \(disk_full\)"):
        before.save(Drafted([CHECK]))
    assert file.read_text() == text
    assert [file.name for file in folder.iterdir()] == ["order.yaml"]


def test_what_would_not_be_an_order_is_not_written(folder: Path) -> None:
    file = written(folder)
    before, text = opened(file), file.read_text()
    with pytest.raises(Unavailable, match="names two criteria or checks"):
        before.save(Drafted([CHECK, CHECK.model_copy(update={"description": "again"})]))
    assert file.read_text() == text


def test_the_yaml_of_other_readers_says_the_same(folder: Path) -> None:
    file = written(folder)
    opened(file).save(Drafted([CHECK, CALL, READABLE], [REJECTED], WHEN))
    assert len(yaml.safe_load(file.read_text())["acceptance_criteria"]) == 3
