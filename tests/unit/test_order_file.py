"""Orders as people write them: what loads, and one clear line for each thing that is wrong."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from adapters.config.base_rule import resolve_rule
from adapters.config.explain import explain
from adapters.config.order_file import MAX_ORDER_BYTES, load_order
from adapters.config.text_file import MAX_BYTES
from adapters.config.yaml_document import Document
from domain.criteria import CRITERION_TYPES
from domain.errors import Malformed
from domain.order import BaseRevision, Order
from tests.examples import examples

EXAMPLE = Path(__file__).parents[1] / "data" / "orders" / "contract_example.yaml"
MINIMAL = "content: do it\nbase: base\nworkspace: work\n"

Write = Callable[[str | bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes an order beside a workspace `work` and a base `base`."""
    (tmp_path / "work").mkdir()
    (tmp_path / "base").mkdir()

    def write(text: str | bytes, name: str = "order.yaml") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def load(path: Path, **arguments: Any) -> Order:
    return load_order(path, **arguments)


def problems(path: Path, **arguments: Any) -> list[str]:
    """The problems' lines, the folder of the file taken off."""
    with pytest.raises(Malformed) as caught:
        load_order(path, **arguments)
    lines = str(caught.value).replace(f"{path.parent}/", "").splitlines()
    assert len(lines) == len(caught.value.problems), "one line a problem"
    return lines


def of(text: str, write: Write) -> list[str]:
    """The problems of an order that is fine but for `text`."""
    return [line.removeprefix("order.yaml:") for line in problems(write(MINIMAL + text))]


class TestWhatLoads:
    def test_the_example_of_the_contract(self, tmp_path: Path) -> None:
        (tmp_path / "worker").mkdir()
        (tmp_path / "base").mkdir()
        path = tmp_path / "order.yaml"
        path.write_bytes(EXAMPLE.read_bytes())
        loaded = load_order(path)
        assert loaded.id == "wo-is-prime"
        assert loaded.workspace == str(tmp_path / "worker")
        assert loaded.base == str(tmp_path / "base")
        assert loaded.verification.probe == "off"

    def test_every_field_of_the_model_is_in_the_example(self) -> None:
        example = yaml.safe_load(EXAMPLE.read_text())
        later = {"worker", "control"}
        assert set(Order.model_fields) - later == set(example)
        for name in ("environment", "resources", "scope", "verification", "safeguards", "override_policy", "fix_loop"):
            model = Order.model_fields[name].annotation
            assert model is not None
            assert set(model.model_fields) == set(example[name]), name
        assert {criterion["type"] for criterion in example["acceptance_criteria"]} == set(CRITERION_TYPES)

    def test_a_loaded_order_written_as_json_loads_as_itself(self, write: Write) -> None:
        first = load_order(write(MINIMAL + "acceptance_criteria: [{type: file_exists, params: {path: a}}]\n"))
        again = write(first.model_dump_json(indent=2))
        second = load_order(again)
        assert (second, second.digest) == (first, first.digest)

    def test_json_with_tabs_and_halved_characters(self, tmp_path: Path, write: Write) -> None:
        write("")
        path = tmp_path / "order.json"
        path.write_text('{\n\t"content":\t"a\\ud83d\\ude00\\u00e9\\/\\n",\n\t"base": "base",\t"workspace":"work"\n}\n')
        assert load_order(path).content == "a\U0001f600é/\n"

    def test_a_byte_order_mark_and_windows_lines(self, write: Write) -> None:
        assert load_order(write("\ufeff" + MINIMAL.replace("\n", "\r\n"))).content == "do it"

    @pytest.mark.parametrize(
        ("written", "read"),
        [
            ("2001-01-01", "2001-01-01"),
            ("yes", "yes"),
            ("off", "off"),
            ("0123", "0123"),
            ("12:30:45", "12:30:45"),
            ("1_000", "1_000"),
            ("'5'", "5"),
            ("!!str 5", "5"),
            ("=", "="),
            ("<<", "<<"),
            ("inf", "inf"),
            ("0b11", "0b11"),
        ],
    )
    def test_text_stays_text(self, written: str, read: str, write: Write) -> None:
        assert load_order(write(MINIMAL.replace("do it", written))).content == read

    @pytest.mark.parametrize(
        ("written", "read"),
        [
            ("1", 1),
            ("-0", 0),
            ("0x1F", 31),
            ("0o17", 15),
            ("1.50", 1.5),
            (".5", 0.5),
            ("1e3", 1000.0),
            ("+3", 3),
            ("true", True),
            ("FALSE", False),
            ("~", None),
            ("", None),
            ("null", None),
            ("12345678901234567890123", 12345678901234567890123),
            ("'true'", "true"),
            ("010", "010"),
            ("[a, {b: 1}]", ["a", {"b": 1}]),
        ],
    )
    def test_scalars_of_the_core_schema(self, written: str, read: object, write: Write) -> None:
        text = f"""acceptance_criteria:
  - type: python_call
    params:
      module: m
      function: f
      cases:
      - returns: {written}
"""
        (criterion,) = load_order(write(MINIMAL + text)).model_dump()["acceptance_criteria"]
        value = criterion["params"]["cases"][0]["returns"]
        assert (value, type(value)) == (read, type(read))

    def test_anchors_are_written_out(self, write: Write) -> None:
        text = "scope: {allow: &src [src/**], deny: *src}\n"
        assert load_order(write(MINIMAL + text)).scope.deny == ["src/**"]

    def test_an_id_is_made_from_the_path(self, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
        path = write(MINIMAL)
        expected = "wo-" + hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:10]
        assert load_order(path).id == expected
        monkeypatch.chdir(path.parent)
        assert load_order(Path("order.yaml")).id == expected

    def test_the_digest_follows_the_order_and_not_its_spelling(self, write: Write) -> None:
        first = load_order(write(MINIMAL))
        assert load_order(write("# a comment\n" + MINIMAL)).digest == first.digest
        assert load_order(write(MINIMAL + "domain: docs\n")).digest != first.digest


class TestTheFile:
    def test_missing(self, tmp_path: Path) -> None:
        assert problems(tmp_path / "order.yaml") == [
            "order.yaml:1: file: does not exist, expected a file with an order in YAML or JSON"
        ]

    def test_a_directory(self, tmp_path: Path) -> None:
        assert problems(tmp_path)[0].endswith("file: is a directory, expected a file with an order in YAML or JSON")

    def test_a_pipe_is_not_waited_for(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "order.yaml")
        assert "is no regular file" in problems(tmp_path / "order.yaml")[0]

    def test_a_name_that_no_file_can_have(self, tmp_path: Path) -> None:
        assert "NUL character in its name" in problems(tmp_path / "a\0b")[0]
        assert "cannot be read" in problems(tmp_path / ("x" * 5000))[0]
        assert "does not exist" in problems(tmp_path / "two\nlines")[0]
        assert "does not exist" in problems(tmp_path / "\udcff.yaml")[0]

    def test_too_large_is_told_before_it_is_parsed(self, tmp_path: Path) -> None:
        path = tmp_path / "order.yaml"
        with path.open("wb") as file:
            file.truncate(100 * 1024 * 1024)
        began = time.process_time()
        assert problems(path) == [f"order.yaml:1: file: has more than {MAX_BYTES} bytes, expected at most {MAX_BYTES}"]
        assert time.process_time() - began < 1

    @pytest.mark.parametrize(
        ("source", "said"),
        [
            (b"", "1: file: is empty, expected an order"),
            (b"\n# nothing\n", "1: file: is empty, expected an order"),
            (b"a: b\nc: \xff\n", "2: file: is not UTF-8, expected an order in YAML or JSON in UTF-8"),
            (b"a: b\nc: \0\n", "2: file: has a NUL character, expected an order in YAML or JSON"),
            (b"a: b\nc: \x01\n", "2: file: has a control character, expected text that can be printed"),
            (b"a: b\n---\nc: d\n", "2: file: has a second document, expected one document"),
            (b"a: b\n c: d\n", "2: file: is not YAML: mapping values are not allowed here, expected YAML or JSON"),
            (b"a: b\n\tc: d\n", "found character '\\t' that cannot start any token"),
            (b'content: "\\UFFFFFFFF"', "1: file: has an escape or a version that is out of bounds"),
            (b"a: *b\n", "1: file: is not YAML: found undefined alias 'b', expected YAML or JSON"),
            (b"- a\n- b\n", "1: file: a list of 2, expected an object with the fields id, content"),
            (b"text\n", "1: file: the text 'text', expected an object"),
            (b"~\n", "1: file: null, expected an object"),
            (b"a: &a [*a]\n", "1: file: contains itself, expected an end to it"),
        ],
    )
    def test_no_order_at_all(self, source: bytes, said: str, write: Write) -> None:
        (line,) = problems(write(source))
        assert said in line

    @pytest.mark.parametrize(
        ("source", "said"),
        [
            ("[" * 1_000_000, "nested deeper than 64"),
            ("- " * 500_000, "nested deeper than 64"),
            ("? " * 500_000, "nested deeper than 64"),
            ("[" + "1," * 500_000 + "]", "more than 100000 values, expected"),
            (
                "a: &a0 [x,x]\n" + "".join(f"b{n}: &a{n} [*a{n - 1},*a{n - 1}]\n" for n in range(1, 40)),
                "more than 100000 values, aliases written out",
            ),
            (f"a: &a {'x' * 100_000}\nb: [{'*a,' * 1000}]\n", "more than 4194304 characters, aliases written out"),
            ("".join(f"a{n}: &a{n} [[[*a{n - 1}]]]\n" if n else "a0: &a0 x\n" for n in range(300)), "nested deeper"),
            ("a: &a {b: [*a]}\n", "contains itself"),
            ("%YAML 1." + "1" * 5000 + "\n---\na: b\n", "out of bounds"),
            ("x: " + "9" * 100_000, "a number of 100000 digits"),
            ('{"' + "a" * 900_000 + '": 1}', "is not YAML"),
            ("".join(f"k{n}: v\n" for n in range(30_000)), "has 29801 more problems"),
            ("k: v\n" * 30_000, "has 29799 more problems"),
        ],
    )
    def test_bombs_are_refused_soon(self, source: str, said: str, write: Write) -> None:
        began = time.process_time()
        assert said in "\n".join(problems(write(source)))
        assert time.process_time() - began < 15


class TestValues:
    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("domain: docs\ndomain: docs\n", "5: domain: is given twice, first on line 4, expected it once"),
            ('scope: {"allow": [], allow: []}', "4: scope.allow: is given twice, first on line 4, expected it once"),
            ("5: x\n", "4: ['5']: is a key that is no text, expected a name, in quotes if need be"),
            ("true: x\n", "4: true: is a key that is no text, expected a name, in quotes if need be"),
            ("? [a]\n: x\n", "4: ['?']: is a key that is no text, expected a name, in quotes if need be"),
            (
                "id: !!python/name:os.system\n",
                "4: id: the tag 'tag:yaml.org,2002:python/name:os.system', expected no tag",
            ),
            (
                "scope:\n  allow:\n    - src\n    - '[z-a]'\n",
                "7: scope.allow[1]: '[z-a]' has a range from 'z' to 'a', expected a pattern (a range goes upwards)",
            ),
            ("scope: !mine {}\n", "4: scope: the tag '!mine', expected no tag"),
            ("id: !!timestamp 2001-01-01\n", "4: id: the tag 'tag:yaml.org,2002:timestamp', expected no tag"),
            ("id: !!int yes\n", "4: id: the tag 'tag:yaml.org,2002:int', expected no tag"),
            ("id: .nan\n", "4: id: .nan is not finite, expected a number, or text in quotes"),
            ("id: -.Inf\n", "4: id: -.Inf is not finite, expected a number, or text in quotes"),
            ("id: 1e999\n", "4: id: 1e999 is not finite, expected a number, or text in quotes"),
            (f"id: {'9' * 5000}\n", "4: id: a number of 5000 digits, expected at most 1000, or text in quotes"),
            ('id: "\\ud800"\n', "4: id: text with half a character (a lone surrogate), expected whole characters"),
            ("verification:\n  chcks: []\n", "5: verification.chcks: unknown field 'chcks', did you mean 'checks'?"),
            (
                "verification: {verifier: {enabld: true}}",
                "4: verification.verifier.enabld: unknown field 'enabld', did you mean 'enabled'?",
            ),
            (
                "verification: {verifer: {}}",
                "4: verification.verifer: unknown field 'verifer', did you mean 'verifier'?",
            ),
            (
                "scope:\n  zzzz: 1\n",
                "5: scope.zzzz: unknown field 'zzzz', expected one of allow, deny, protect, unprotect",
            ),
            (
                "verification: {probe: maybe}",
                "4: verification.probe: the text 'maybe', expected one of off, revert, mutate",
            ),
            (
                "resources: {pids: 1}",
                "4: resources.pids: the number 1, expected a whole number, at least 8 and at most 32768",
            ),
            (
                "resources: {memory: 512}",
                "4: resources.memory: the number 512, expected a whole number with k, m or g, such as 512m"
                " (in quotes, if this is the text)",
            ),
            ("domain: refacter\n", "(did you mean 'refactor'?)"),
            ("base2:\n\n  - x\n", "4: base2: unknown field 'base2', did you mean 'base'?"),
            ("fix_loop: {enabled: yes}\n", "4: fix_loop.enabled: the text 'yes', expected true or false"),
        ],
    )
    def test_one_line_says_what_and_what_instead(self, text: str, said: str, write: Write) -> None:
        (line,) = of(text, write)
        assert said in line

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            (
                "{type: file_exist, params: {path: a}}",
                "acceptance_criteria[0].type: unknown type: the text 'file_exist', expected one of file_exists,"
                " file_contains, command_exit_zero, command_output, python_call, cli_io, http_response, api_response,"
                " git_commit_exists, pr_exists, pr_merged, subjective"
                " (did you mean 'file_exists'?)",
            ),
            (
                "{type: cli_io, params: {cases: [{}]}}",
                "[0].params.command: is missing, expected text that is a shell command",
            ),
            ("{type: 5}", "[0].type: unknown type: the number 5, expected one of"),
            ("{type: [cli_io]}", "[0].type: unknown type: a list of 1, expected one of"),
            ("{params: {}}", "[0].type: is missing, expected one of file_exists"),
            ("5", "acceptance_criteria[0]: the number 5, expected an object with the fields"),
            ("{type: file_exists}", "[0].params: is missing, expected an object with the fields path"),
            (
                "{type: file_exists, params: {}}",
                "[0].params.path: is missing, expected text that is a path inside the tree",
            ),
            ("{type: file_exists, params: {path: /a}}", "[0].params.path: '/a' is absolute, expected a path relative"),
            ("{type: file_exists, params: {path: a, file_exists: 1}}", "[0].params.file_exists: unknown field"),
            ("{type: subjective}", "[0].description: a subjective criterion without a description"),
            (
                "{type: command_output, params: {command: a}}",
                "[0].params: no output is named, expected at least one of",
            ),
            (
                "{type: command_exit_zero, params: {command: a, env: {'a b': c}}}",
                "[0].params.env['a b']: 'a b' is no variable name, expected letters",
            ),
            (
                "{type: python_call, params: {module: m, function: f, cases: [{returns: 1}, {returns: 1, raises: X}]}}",
                "[0].params.cases[1]: both returns and raises, expected one of the two",
            ),
            (
                "{type: python_call, params: {module: m, function: f, cases: []}}",
                "[0].params: nothing is expected of the function, expected at least one of cases, generate, properties",
            ),
            (
                "{type: python_call, params: {module: a-b, function: f, cases: [{returns: 1}]}}",
                "'a-b' is no name of Python's",
            ),
        ],
    )
    def test_criteria(self, text: str, said: str, write: Write) -> None:
        (line,) = of(f"acceptance_criteria:\n  - {text}\n", write)
        assert line.startswith("5: ")
        assert said in line

    def test_all_of_them_at_once_each_with_its_line(self, write: Write) -> None:
        text = """content: do it
bse: base
workspace: nowhere
acceptance_criteria:
  - type: file_exists
    params:
      pth: a
  - type: command_exit_zero
    timeout: 0
    params: {command: a}
verification:
  checks:
    - name: t
      command: ''
    - command: x
      timeout: '60'
"""
        assert [":".join(line.split(":")[1:3]) for line in problems(write(text))] == [
            "1: base",
            "2: bse",
            "3: workspace",
            "6: acceptance_criteria[0].params.path",
            "7: acceptance_criteria[0].params.pth",
            "9: acceptance_criteria[1].timeout",
            "14: verification.checks[0].command",
            "15: verification.checks[1].name",
            "16: verification.checks[1].timeout",
        ]

    def test_a_long_value_makes_no_long_line(self, write: Write) -> None:
        long, key = "x" * 10_000, "x" * 1_000
        text = f"""
id: "!{long}"
{key}: 1
acceptance_criteria: [{{type: file_contains, params: {{path: /{long}, pattern: "({long}"}}}}, {{type: {long}}}]
verification: {{mode: {long}, checks: [{{name: "!{long}", command: a, env: {{"!{key}": a}}}}]}}
environment: {{image: "!{long}"}}
"""
        lines = of(text, write)
        assert len(lines) == 9
        assert max(map(len, lines)) < 500

    def test_very_many_problems_are_counted(self, write: Write) -> None:
        lines = of("scope:\n" + "".join(f"  k{n}: v\n" for n in range(300)), write)
        assert len(lines) == 201
        assert lines[-1].endswith(": file: has 100 more problems, expected none")
        lines = of("domain: docs\n" * 302, write)
        assert len(lines) == 201
        assert lines[-1] == "305: file: has 101 more problems, expected none"

    def test_an_order_that_aliases_blow_up_is_refused(self, write: Write) -> None:
        text = f"scope:\n  allow: [&a '{'x' * 100_000}', {'*a, ' * 20}]\n"
        (line,) = of(text, write)
        assert line.endswith(f"bytes as JSON, expected at most {MAX_ORDER_BYTES}")


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    return subprocess.run(
        ["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    (folder / "sub").mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


class TestTrees:
    def test_the_file_s_paths_are_relative_to_it_and_arguments_to_the_current_directory(
        self, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = write(MINIMAL)
        elsewhere = tmp_path / "elsewhere"
        (elsewhere / "w").mkdir(parents=True)
        (elsewhere / "b").mkdir()
        monkeypatch.chdir(elsewhere)
        order = load_order(path)
        assert (order.workspace, order.base) == (str(tmp_path / "work"), str(tmp_path / "base"))
        order = load_order(path, workspace=Path("w"), base="b")
        assert (order.workspace, order.base) == (str(elsewhere / "w"), str(elsewhere / "b"))

    def test_an_argument_stands_for_what_the_file_has_not_got_or_got_wrong(self, write: Write, tmp_path: Path) -> None:
        path = write("content: do it\nworkspace: nowhere\n")
        order = load_order(path, workspace=tmp_path / "work", base=str(tmp_path / "base"))
        assert order.base == str(tmp_path / "base")

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("workspace: work", "1: base: is missing, expected a directory, {repository, revision}, or --base"),
            (
                "workspace: work\nbase: ~",
                "3: base: is missing, expected a directory, {repository, revision}, or --base",
            ),
            ("base: base\nworkspace: gone", "3: workspace: 'gone' is no directory, expected the tree that the worker"),
            ("base: base\nworkspace: order.yaml", "3: workspace: 'order.yaml' is no directory"),
            ('base: base\nworkspace: "a\\0b"', "3: workspace: 'a\\x00b' is no directory"),
            (f"base: base\nworkspace: {'x' * 5000}", "3: workspace: 'xxxx"),
            (
                "workspace: work\nbase: main",
                "3: base: 'main' is no directory, expected a directory, or {repository, revision}",
            ),
            (
                f"workspace: work\nbase: {'a' * 40}",
                "3: base: a commit id without its repository, expected {repository: PATH",
            ),
            ("workspace: work\nbase: work", "3: base: is the workspace itself, which the worker can write, expected"),
            ("workspace: work\nbase: work/../work/", "3: base: is the workspace itself"),
            ("workspace: work\nbase: link", "3: base: is inside the workspace, which the worker can write, expected"),
            ("workspace: work\nbase: .", "3: base: contains the workspace, which the worker can write, expected"),
            ("workspace: work\nbase: 5", "3: base: the number 5, expected text that is not empty or an object with"),
            ("workspace: work\nbase: ''", "3: base: empty text, expected text that is not empty or an object with"),
            ("workspace: work\nbase: loop", "3: base: 'loop' is no directory"),
            ("workspace: work\nbase: {repository: r}", "3: base.revision: is missing, expected"),
            (
                "workspace: work\nbase: {repository: r, revision: main}",
                "3: base.revision: 'main' is a name that can move",
            ),
            (
                "workspace: work\nbase: {repository: r, revision: 1234567}",
                "3: base.revision: the number 1234567, expected text",
            ),
            ("workspace: work\nbase: {revision: x, repo: r}", None),
        ],
    )
    def test_what_is_no_tree(self, text: str, said: str | None, write: Write, tmp_path: Path) -> None:
        path = write(f"content: do it\n{text}\n")
        (tmp_path / "work" / "inner").mkdir()
        (tmp_path / "link").symlink_to("work/inner")
        (tmp_path / "loop").symlink_to("loop")
        lines = problems(path)
        assert len(lines) == 1 if said else len(lines) == 3
        assert said is None or said in lines[0]

    def test_a_commit_as_base(self, write: Write, repository: Path) -> None:
        revision = git(repository, "rev-parse", "HEAD")
        text = f"content: do it\nworkspace: work\nbase: {{repository: repository, revision: '{revision}'}}\n"
        assert load_order(write(text)).base == BaseRevision(repository=str(repository), revision=revision)

    @pytest.mark.parametrize(
        ("folder", "revision", "said"),
        [
            ("gone", "a" * 40, "base.repository: 'gone' is no directory, expected a repository"),
            ("work", "a" * 40, "is not the root of a git repository, expected the root of a repository"),
            ("repository/sub", "a" * 40, "expected the root of a repository, perhaps "),
            ("repository", "a" * 40, "base.revision: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' is no commit of "),
        ],
    )
    def test_what_is_no_commit(self, folder: str, revision: str, said: str, write: Write, repository: Path) -> None:
        text = f"content: do it\nworkspace: work\nbase:\n  repository: {folder}\n  revision: {revision}\n"
        (line,) = problems(write(text))
        assert said in line
        assert line.startswith("order.yaml:5: " if folder == "repository" else "order.yaml:4: ")

    def test_a_tree_is_no_commit(self, write: Write, repository: Path) -> None:
        tree = git(repository, "rev-parse", "HEAD^{tree}")
        text = f"content: do it\nworkspace: work\nbase: {{repository: repository, revision: '{tree}'}}\n"
        assert "is no commit of" in problems(write(text))[0]

    def test_a_commit_as_argument_is_of_the_workspace_s_repository(self, write: Write, repository: Path) -> None:
        revision = git(repository, "rev-parse", "HEAD")
        path = write("content: do it\n")
        order = load_order(path, workspace=repository / "sub", base=revision)
        assert order.base == BaseRevision(repository=str(repository), revision=revision)
        (line,) = problems(path, workspace=repository, base="b" * 40)
        assert line.startswith("command line:1: --base: 'bbbb")
        (line,) = problems(path, workspace=path.parent / "work", base=revision)
        assert "is in no repository, expected a directory" in line

    def test_a_name_as_argument_is_resolved_once(self, write: Write, repository: Path) -> None:
        revision = git(repository, "rev-parse", "HEAD")
        path = write("content: do it\n")
        for name in ("HEAD", git(repository, "symbolic-ref", "--short", "HEAD"), revision[:7]):
            order = load_order(path, workspace=repository / "sub", base=name)
            assert order.base == BaseRevision(repository=str(repository), revision=revision)

    @pytest.mark.parametrize("name", ["nothing", "v1", "origin/main", "abcdef1", "\0", "refs/../HEAD", "main@{1}", "~"])
    def test_a_name_that_leads_nowhere_is_no_base(self, name: str, write: Write, repository: Path) -> None:
        (line,) = problems(write("content: do it\n"), workspace=repository, base=name)
        assert line.startswith("command line:1: --base: ")
        assert line.endswith("expected a directory, or a commit by id, branch, tag, REMOTE/BRANCH, or HEAD~N")

    def test_a_name_of_a_repository_among_another_s_files_is_no_base(self, write: Write, repository: Path) -> None:
        (repository / "sub" / "a.py").write_text("")
        git(repository, "add", "--all")
        git(repository, "commit", "-q", "-m", "files")
        git(repository / "sub", "init", "-q", "-b", "main")
        git(repository / "sub", "commit", "-q", "--allow-empty", "-m", "the worker's")
        path = write("content: do it\n")
        for name in ("main", "HEAD", "merge-base with main"):
            (line,) = problems(path, workspace=repository / "sub", base=name)
            assert "which has this folder among its own files" in line
        revision = git(repository / "sub", "rev-parse", "HEAD")
        base = load_order(path, workspace=repository / "sub", base=revision).base
        assert base == BaseRevision(repository=str(repository / "sub"), revision=revision)

    def test_a_name_outside_a_repository_is_no_base(self, write: Write, tmp_path: Path) -> None:
        (line,) = problems(write("content: do it\n"), workspace=tmp_path / "work", base="main")
        assert "'main' is no directory, and the workspace" in line

    @pytest.mark.parametrize(
        ("base", "said"),
        [
            ("{repository: repository, revision: abcdef1}", "is a name that can move, expected a full commit id"),
            (
                "{repository: repository, rule: main}",
                "base.rule: 'main' is not a rule for a base, expected 'merge-base",
            ),
            ("{repository: repository, rule: 'merge-base with main~1'}", "is not a rule for a base"),
            (f"{{repository: r, revision: {'a' * 40}, rule: merge-base with x}}", "base.rule: both revision and rule"),
            ("{repository: repository, rule: merge-base with main}", "counts only in an order that a person trusts"),
        ],
    )
    def test_what_is_no_base_in_a_file(self, base: str, said: str, write: Write, repository: Path) -> None:
        (line,) = problems(write(f"content: do it\nworkspace: work\nbase: {base}\n"))
        assert said in line

    def test_a_rule_is_what_its_resolver_says(self, write: Write, repository: Path) -> None:
        revision = git(repository, "rev-parse", "HEAD")
        text = "content: do it\nworkspace: repository\nbase: {repository: repository, rule: merge-base with main}\n"
        order = load_order(write(text), by_rule=resolve_rule)
        assert order.base == BaseRevision(repository=str(repository), revision=revision)

    def test_a_base_behind_the_workspace_is_the_worker_s(self, write: Write, tmp_path: Path) -> None:
        (tmp_path / "work" / "out").symlink_to(tmp_path / "base")
        (tmp_path / "round").symlink_to("work/out")
        (tmp_path / "beside").symlink_to("base")
        for way in ("work/out", "work/../base", "round", str(tmp_path / "work/out")):
            (line,) = problems(write(f"content: do it\nworkspace: work\nbase: {way}\n"))
            assert "which the worker can write, expected a directory apart from it" in line, way
            (line,) = problems(write("content: do it\nworkspace: work\n"), base=str(tmp_path / way))
            assert "in the workspace, which the worker can write" in line, way
        for way in ("base", "beside", "base/../base"):
            assert load_order(write(f"content: do it\nworkspace: work\nbase: {way}\n")).base == str(tmp_path / "base")

    def test_an_order_in_the_workspace_may_name_what_is_above(self, tmp_path: Path, write: Write) -> None:
        order = tmp_path / "work" / ".countersign" / "order.yaml"
        order.parent.mkdir()
        order.write_text("content: do it\nworkspace: ..\nbase: ../../base\n")
        write(MINIMAL)
        assert load_order(order).base == str(tmp_path / "base")

    def test_arguments_that_are_no_trees(self, write: Write, tmp_path: Path) -> None:
        (line,) = problems(write(MINIMAL), workspace=tmp_path / "gone", base=str(tmp_path / "base"))
        assert line.startswith("command line:1: --workspace: ")
        assert line.endswith(" is no directory, expected the tree that the worker changes")
        lines = problems(write(MINIMAL), base=str(tmp_path / "work"))
        assert lines == [
            "command line:1: --base: is the workspace itself, which the worker can write,"
            " expected a directory apart from it, or a commit"
        ]


JARGON = (
    "Input should",
    "Extra inputs",
    "Field required",
    "pydantic",
    "valid ",
    "JSON",
    "dictionary",
    "string",
    "tagged",
)
WRONG: tuple[Any, ...] = (
    None,
    True,
    5,
    -1,
    10**30,
    1.5,
    "",
    "x",
    "\0",
    [],
    [1],
    [None],
    {},
    {"nope": 1},
    {"type": "file_exists"},
)


def whole_order() -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load(EXAMPLE.read_text())
    data["verification"]["probe"] = "off"  # which is false to PyYAML
    data["base"] = {"repository": "r", "revision": "0" * 40}
    data["acceptance_criteria"][3]["params"].update(stderr="", stdout_pattern="a", stderr_pattern="b", exit_code=1)
    text = {"text": {"alphabet": "ab", "min_length": 1, "max_length": 2}}
    strategies = [{"integer": {"min": 1, "max": 2}}, {"one_of": [1, "a"]}, {"list": {"of": text, "min_length": 1}}]
    inputs = {"args": [*strategies, {"object": {"a": {"value": 1}}}], "kwargs": {"k": {"boolean": {}}}, "count": 3}
    data["acceptance_criteria"][4]["params"].update(
        generate={"reference": "r.py", "function": "f", "seed": 1, **inputs},
        properties=[{"property": "raises", "exception": "ValueError", **inputs}],
    )
    runs = {"reference": "r.sh", "args": strategies[:2], "count": 3, "seed": 1}
    data["acceptance_criteria"][5]["params"]["generate"] = {**runs, "stdin": [text]}
    data["acceptance_criteria"].append({**data["acceptance_criteria"][5], "id": "AC-13"})
    data["acceptance_criteria"][-1]["params"] = {"command": "x", "generate": {**runs, "stdin": text}}
    return data


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield place
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield from places(inner, (*place, key))


def bad_orders() -> Iterator[Any]:
    """The whole order with every place replaced, left out, and given something unknown, one at a time."""
    whole = whole_order()
    text = json.dumps(whole)
    for place in places(whole):
        for wrong in WRONG:
            root = [json.loads(text)]
            holder: Any = root
            for part in (0, *place)[:-1]:
                holder = holder[part]
            holder[(0, *place)[-1]] = wrong
            yield root[0]
        data = json.loads(text)
        here: Any = data
        for part in place[:-1]:
            here = here[part]
        if place and isinstance(here, dict):
            here["unheard_of"] = 1
            del here[place[-1]]
            yield data


def test_no_bad_order_is_told_in_pydantic_s_words() -> None:
    seen: set[str] = set()
    for data in bad_orders():
        try:
            Order.model_validate_json(json.dumps(data))
        except ValidationError as error:
            seen |= {details["type"] for details in error.errors()}
            found = explain(error, Order, Document(data, {}, {}, "order.yaml"))
            assert len(found) == min(error.error_count(), 201)
            for problem in found:
                text = str(problem)
                assert not [word for word in JARGON if word in text], text
                assert "\n" not in text
                assert "revision.revision" not in problem.field, "tags of unions are no fields"
                assert not set(CRITERION_TYPES) & set(problem.field.split(".")), problem.field
                assert problem.expected.startswith(("expected ", "did you mean ")), text
    assert seen >= {
        *("order", "missing", "extra_forbidden", "union_tag_invalid", "union_tag_not_found", "literal_error"),
        *("string_type", "bool_type", "int_type", "float_type", "list_type", "dict_type"),
        *("greater_than", "greater_than_equal", "less_than_equal", "string_too_short", "too_short"),
    }, "the bad orders meet every constraint of the models"


FRAGMENTS = st.sampled_from(
    [
        *(
            "content: x\n",
            "base: base\n",
            "workspace: work\n",
            "verification:\n  checks:\n",
            "    - {name: a, command: b}\n",
        ),
        *(
            "acceptance_criteria:\n",
            "  - {type: file_exists, params: {path: a}}\n",
            "- ",
            "? ",
            ": ",
            "&a ",
            "*a",
            "<<: ",
        ),
        *(
            "!!python/object:os.system ",
            "!!int ",
            "!<x> ",
            "%YAML 1.1\n",
            "---\n",
            "...\n",
            "|\n",
            ">-\n  ",
            '"\\u',
            "'",
            "#",
        ),
        *(
            "{",
            "}",
            "[",
            "]",
            ",",
            "\t",
            "\n",
            " ",
            "\r",
            "0x",
            "0o8",
            "1e999",
            ".inf",
            "\ud7ff",
            "\ufeff",
            "\u2028",
            "~",
        ),
    ]
)
SOURCES = st.one_of(
    st.binary(max_size=300),
    st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.lists(FRAGMENTS, max_size=25).map(lambda parts: "".join(parts).encode()),
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=15,
)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "work").mkdir()
        (Path(name) / "base").mkdir()
        yield Path(name)


@settings(max_examples=examples(200))
@given(source=SOURCES, suffix=st.sampled_from([".yaml", ".json"]))
def test_any_bytes_give_an_order_or_are_malformed(folder: Path, source: bytes, suffix: str) -> None:
    path = folder / f"order{suffix}"
    path.write_bytes(source)
    try:
        load_order(path)
    except Malformed as error:
        assert error.problems
        assert len(str(error).splitlines()) == len(error.problems)


@settings(max_examples=examples(100))
@given(field=st.sampled_from(sorted(Order.model_fields)), value=VALUES)
def test_any_value_of_any_field_gives_an_order_or_is_malformed(folder: Path, field: str, value: object) -> None:
    path = folder / "values.json"
    order = {"content": "do it", "workspace": "work", "base": "base", field: value}
    path.write_text(json.dumps(order))
    try:
        load_order(path)
    except Malformed as error:
        assert error.problems
