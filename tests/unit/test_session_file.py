"""Sessions as people write them: what loads, and one clear line for each thing that is wrong."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.config import yaml_document
from adapters.config.defaults import NO_POLICY
from adapters.config.session_file import LoadedSession, load_session
from adapters.config.session_todos import Joining
from adapters.config.settings import load_settings
from adapters.config.todo_file import plan_for_person
from domain.errors import Malformed
from domain.life import PlannedTodo
from domain.planning import MAX_NESTING, SessionPlan, Template, todos_blob
from domain.policy_floor import PolicyFloor
from domain.session import RESERVED_SESSIONS

EXAMPLE = Path(__file__).parents[1] / "data" / "orders" / "contract_example.yaml"
TREES = "defaults: {workspace: work, base: base}\n"

Load = Callable[..., LoadedSession]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a workspace and a base beside the session's file."""
    monkeypatch.setenv("COUNTERSIGN_PROJECT", str(tmp_path))
    for name in ("work", "base", "other"):
        (tmp_path / name).mkdir()
    return tmp_path


@pytest.fixture
def load(folder: Path) -> Load:
    def load(text: str, project: str = "") -> LoadedSession:
        (folder / "session.yaml").write_text(text)
        if project:
            (folder / "countersign.toml").write_text(project)
        return load_session(folder / "session.yaml", load_settings(folder))

    return load


def problems(load: Load, text: str, project: str = "") -> list[str]:
    """The problems' lines, without the folder and the name of the session's file."""
    with pytest.raises(Malformed) as caught:
        load(text, project)
    lines = [
        line.partition(str(Path(caught.value.problems[0].file).parent) + "/")[2]
        for line in str(caught.value).splitlines()
    ]
    assert len(lines) == len(caught.value.problems), "one line a problem"
    return [line.removeprefix("session.yaml:") for line in lines]


def of_todos(load: Load, *todos: str) -> list[str]:
    """The problems of a session with these todos, the first of which is on line 3."""
    return problems(load, TREES + "todos:\n" + "".join(f"  - {todo}\n" for todo in todos))


class TestWhatLoads:
    def test_todos_are_flat_parents_before_their_subtasks(self, load: Load, folder: Path) -> None:
        found = load(
            "id: release-7\nsession_timeout: 600\n" + TREES + "todos:\n"
            "  - {id: a, content: first}\n"
            "  - id: b\n    content: second\n    depends_on: [a]\n"
            "    subtasks:\n      - {id: b1, content: part, subtasks: [{id: b11, content: of it}]}\n"
            "      - {id: b2, content: other, base: other}\n"
        )
        assert (found.id, found.session_timeout) == ("release-7", 600)
        assert [(t.order.id, t.parent, t.order_index) for t in found.todos] == [
            ("a", "", 0),
            ("b", "", 1),
            ("b1", "b", 0),
            ("b11", "b1", 0),
            ("b2", "b", 1),
        ]
        assert found.todos[1].order.depends_on == ["a"]
        assert {str(t.order.subtasks) for t in found.todos} == {"[]"}
        assert {t.order.workspace for t in found.todos} == {str(folder / "work")}
        assert found.todos[4].order.base == str(folder / "other")
        assert {t.order_file for t in found.todos} == {str(folder / "session.yaml")}

    def test_what_is_stored_of_it_comes_back(self, load: Load) -> None:
        found = load(TREES + "todos: [{content: a}]\n")
        assert SessionPlan.model_validate_json(found.plan.blob) == found.plan
        (again,) = [PlannedTodo.model_validate(one) for one in json.loads(todos_blob(found.todos))]
        assert again == found.todos[0]
        assert found.plan.defaults is not None
        assert found.plan.defaults.base == found.todos[0].order.base

    def test_ids_are_made_of_content_and_place_and_stay(self, load: Load) -> None:
        text = TREES + "todos: [{content: same}, {content: same, subtasks: [{content: same}]}]\n"
        first, second = load(text), load(text)
        ids = [todo.order.id for todo in first.todos]
        assert ids == [todo.order.id for todo in second.todos]
        assert len(set(ids)) == 3
        assert first.id == second.id != load("id: other\n" + text).id

    def test_json_with_tabs(self, load: Load) -> None:
        assert load('{\n\t"defaults": {"base": "base", "workspace": "work"},\n\t"todos": [{"content": "x"}]\n}').todos

    def test_defaults_alone_are_for_todos_that_come_later(self, load: Load) -> None:
        found = load("defaults: {workspace: work}\n")
        assert (found.todos, found.plan.defaults is not None and found.plan.defaults.base) == ((), None)
        assert load("todos: [{content: a, workspace: work, base: base}]\n").plan.defaults is None

    @pytest.mark.slow
    def test_ten_thousand_todos_load_in_less_than_twenty_seconds(self, load: Load) -> None:
        todos = "".join(
            f"  - {{id: t-{n}, content: Do part {n}, depends_on: [{f't-{n - 1}' if n else ''}], acceptance_criteria: "
            f"[{{type: file_exists, params: {{path: src/part_{n}.py}}}}]}}\n"
            for n in range(10_000)
        )
        began = time.process_time()
        assert len(load(TREES + "todos:\n" + todos).todos) == 10_000
        assert time.process_time() - began < 20

    @pytest.mark.parametrize(
        "text",
        [
            EXAMPLE.read_text(),
            "a: |\n  x\n  y\nb: &c [1, 0x1F, 01, .5, ~, yes]\nd: *c\n",
            '{\n"a": "\\ud83d\\ude00\\/\\n",\n"b": ["\\u00e9"]}',
            "a: 1\na: 2\n5: x\nb: !x y\n",
        ],
    )
    def test_the_fast_scanner_reads_what_the_other_reads(self, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
        slow = yaml_document.parse(text, "file", "an order")
        monkeypatch.setattr(yaml_document, "LARGE", 0)
        assert yaml_document.parse(text, "file", "an order") == slow

    def test_both_scanners_say_the_same_of_what_is_wrong(self, monkeypatch: pytest.MonkeyPatch) -> None:
        said = []
        for large in (10**9, 0):
            monkeypatch.setattr(yaml_document, "LARGE", large)
            for text in ("a: [\n", "a: 1\n---\nb: 2\n", "\n\na: b: c\n", "a: \x01", '"\\UFFFFFFFF"', "[" * 70):
                with pytest.raises(Malformed) as caught:
                    yaml_document.parse(text, "file", "an order")
                said.append(str(caught.value))
        assert said[:6] == said[6:]


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("todos", "said"),
        [
            (["{content: x, contend: y}"], ["3: todos[0].contend: unknown field 'contend', did you mean 'content'?"]),
            (["{id: a}"], ["3: todos[0].content: is missing, expected text that is not empty"]),
            (["x"], ["3: todos[0]: the text 'x', expected an object"]),
            (
                ["{content: x, subtasks: [3]}"],
                ["3: todos[0].subtasks[0]: the number 3, expected a todo: an object as an order has it"],
            ),
            (["{content: x, subtasks: {}}"], ["3: todos[0].subtasks: an empty object, expected a list of todos"]),
            (["{content: x, base: main}"], ["3: todos[0].base: 'main' is no directory, expected a directory, or"]),
            (["{content: x, workspace: nowhere}"], ["3: todos[0].workspace: 'nowhere' is no directory, expected the"]),
            (["{content: x, worker: {command: ' '}}"], ["3: todos[0].worker.command: an empty command, expected a"]),
            (
                ["{content: x, worker: {command: x, env: [TEMPORAL_ADDRESS]}}"],
                ["3: todos[0].worker.env[0]: 'TEMPORAL_ADDRESS' is for Countersign alone, expected a variable"],
            ),
            (
                ["{id: a, content: x}", "{id: b, content: x, subtasks: [{id: a, content: y}]}"],
                ["4: todos[1].subtasks[0].id: 'a' names two todos, first on line 3, expected ids that are all"],
            ),
            (
                ["{id: first, content: x}", "{content: y, depends_on: [frist]}"],
                ["4: todos[1].depends_on[0]: there is no todo 'frist', did you mean 'first'?"],
            ),
            (["{id: a, content: x, depends_on: [a]}"], ["3: todos[0].depends_on[0]: is the todo itself, expected"]),
            (
                ["{id: a, content: x, subtasks: [{id: b, content: y, depends_on: [a]}]}"],
                ["3: todos[0].subtasks[0].depends_on[0]: 'a' has this todo as a subtask, and waits for it, expected"],
            ),
            (
                ["{id: a, content: x, depends_on: [c], subtasks: [{content: y, subtasks: [{id: c, content: z}]}]}"],
                ["3: todos[0].depends_on[0]: 'c' is a subtask of this todo, which waits for it anyway, expected"],
            ),
            (
                ["{id: a, content: x, depends_on: [b]}", "{id: b, content: y, depends_on: [a]}"],
                ["3: todos[0].depends_on[0]: these wait for one another: a -> b -> a, expected no circle; a todo also"],
            ),
            (
                [
                    "{id: a, content: x, subtasks: [{id: b, content: y, depends_on: [c]}]}",
                    "{id: c, content: z, depends_on: [a]}",
                ],
                ["3: todos[0].subtasks[0].depends_on[0]: these wait for one another: a -> b -> c -> a, expected"],
            ),
            (
                ["{content: x, verification: {checks: [{name: a}]}}", "{content: 5}"],
                [
                    "3: todos[0].verification.checks[0].command: is missing, expected text that is a shell command",
                    "4: todos[1].content: the number 5, expected text that is not empty",
                ],
            ),
        ],
    )
    def test_each_with_its_line_and_place(self, todos: list[str], said: list[str], load: Load) -> None:
        found = of_todos(load, *todos)
        assert len(found) == len(said), found
        assert all(line.startswith(start) for line, start in zip(found, said, strict=True)), found

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("todos: 5\n", "1: todos: the number 5, expected a list"),
            ("content: x\n", "1: content: unknown field 'content', expected one of id, session_timeout, defaults,"),
            ("id: s\n", "1: todos: is missing, expected a list of todos, or defaults for later ones"),
            ("id: S_1\n" + TREES, "1: id: 'S_1' is no id, expected a-z, 0-9 and '-'"),
            ("session_timeout: 0\n" + TREES, "1: session_timeout: the number 0, expected seconds: a number above 0"),
            ("[a]\n", "1: file: a list of 1, expected an object with the fields id, session_timeout"),
            ("defaults:\n  id: x\n", "2: defaults.id: is each todo's own, expected it in the todos"),
            ("defaults:\n  depends_on: [x]\n", "2: defaults.depends_on: is each todo's own, expected it in the todos"),
            ("defaults:\n  bases: x\n", "2: defaults.bases: unknown field 'bases', did you mean 'base'?"),
        ],
    )
    def test_what_stands_around_the_todos(self, text: str, said: str, load: Load) -> None:
        (line,) = problems(load, text)
        assert line.startswith(said)

    @pytest.mark.parametrize("name", sorted(RESERVED_SESSIONS))
    def test_names_of_our_own(self, name: str, load: Load) -> None:
        said = f"1: id: '{name}' is a name of Countersign's own, expected another id"
        assert problems(load, f"id: {name}\n{TREES}") == [said]

    def test_what_the_defaults_have_wrong_is_told_once_and_there(self, load: Load) -> None:
        text = "defaults:\n  base: nowhere\n  workspace: work\n  resources: {pids: x}\n"
        base, pids = problems(load, text + "todos: [{content: a}, {content: b}]\n")
        assert base.startswith("2: defaults.base: 'nowhere' is no directory")
        assert pids.startswith("4: defaults.resources.pids: the text 'x'")

    def test_nesting_has_an_end(self, load: Load) -> None:
        def nested(depth: int) -> str:
            return "{content: x" + (f", subtasks: [{nested(depth - 1)}]" if depth > 1 else "") + "}"

        assert len(load(TREES + f"todos: [{nested(MAX_NESTING)}]\n").todos) == MAX_NESTING
        (line,) = problems(load, TREES + f"todos: [{nested(MAX_NESTING + 1)}]\n")
        assert "are nested too deep, expected at most 10 levels" in line

    def test_too_many_todos(self, load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("adapters.config.session_todos.MAX_TODOS", 2)
        assert of_todos(load, "{content: x}", "{content: x}", "{content: x}") == [
            "5: todos[2]: is one of 3 todos, expected at most 2"
        ]

    def test_a_secret_wherever_it_is(self, load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SESSION_TEST_KEY", "hunter2-correct-horse")
        environment = "environment: {setup: [x], secrets: [SESSION_TEST_KEY]}"
        lines = of_todos(load, "{content: use hunter2-correct-horse}", f"{{content: x, {environment}}}")
        assert lines == [
            "3: todos[0].content: holds the value of the secret SESSION_TEST_KEY, expected none: a session is stored"
            " and shown"
        ]

    def test_files_beside_it(self, load: Load, folder: Path) -> None:
        (folder / "own.py").write_text("x")
        todo = "{content: x, verification: {tests: [%s]}}"
        assert load(TREES + f"todos: [{todo % 'own.py'}]\n").todos
        (line,) = of_todos(load, todo % "own.py", todo % "none.py")
        assert line.startswith("4: todos[1].verification.tests[0]: ")


class TestPrecedence:
    def test_later_wins_and_checks_are_joined_by_name(self, load: Load) -> None:
        project = (
            "[verification_defaults]\nprobe = 'revert'\nmode = 'sequence'\nmin_criteria = 1\n"
            "checks = [{name = 'lint', command = 'lint'}, {name = 'tests', command = 'old'}]\n"
            "[thresholds]\nmin_criteria = 2\nrevisions = 5\n[override_policy]\nsignatures = 'required'\n"
        )
        text = (
            "defaults:\n  workspace: work\n  base: base\n  safeguards: {revisions: 4, follow_ups: 1}\n"
            "  verification: {mode: parallel, checks: [{name: tests, command: new}, {name: own, command: own}]}\n"
            "todos:\n  - content: x\n    safeguards: {follow_ups: 2}\n"
            "    verification: {verifier: {enabled: false}, checks: [{name: own, command: mine}]}\n"
        )
        (todo,) = load(text, project).todos
        verification = todo.order.verification
        assert [(check.name, check.command) for check in verification.checks] == [
            ("lint", "lint"),
            ("tests", "new"),
            ("own", "mine"),
        ]
        assert (verification.probe, verification.mode, verification.min_criteria) == ("revert", "parallel", 2)
        assert not verification.auditor.enabled
        assert (todo.order.safeguards.revisions, todo.order.safeguards.follow_ups) == (4, 2)
        assert todo.order.override_policy.signatures == "required"

    def test_an_alias_over_the_name(self, load: Load) -> None:
        text = TREES.replace("}", ", verification: {auditor: {criteria: short}}}")
        (todo,) = load(text + "todos: [{content: x, verification: {verifier: {enabled: false}}}]\n").todos
        assert (todo.order.verification.auditor.criteria, todo.order.verification.auditor.enabled) == ("short", False)
        (line,) = problems(load, text + "todos: [{content: x, verification: {verifier: {enabled: 5}}}]\n")
        assert line.startswith("2: todos[0].verification.verifier.enabled: the number 5, expected true or false")

    def test_two_checks_of_one_name_in_one_list_stay_an_error(self, load: Load) -> None:
        checks = "verification: {checks: [{name: a, command: x}]}"
        twice = "verification: {checks: [{name: a, command: y}, {name: a, command: z}]}"
        (line,) = problems(
            load, f"defaults: {{workspace: work, base: base, {checks}}}\ntodos: [{{content: x, {twice}}}]\n"
        )
        assert line.startswith("2: todos[0].verification.checks[1].name: 'a' names two criteria or checks")

    def test_a_problem_is_told_in_the_file_that_has_it(self, load: Load) -> None:
        project = "[verification_defaults]\n\n[[verification_defaults.checks]]\nname = 'AC-1'\ncommand = 'x'\n"
        criteria = "acceptance_criteria: [{type: file_exists, params: {path: a}}]"
        (line,) = problems(load, TREES + f"todos: [{{content: x, {criteria}}}]\n", project)
        assert line.startswith("countersign.toml:4: verification_defaults.checks[0].name: 'AC-1' names two criteria")


class TestATodoThatJoins:
    def test_a_person_sets_everything_over_the_session_s_defaults(self, load: Load, folder: Path) -> None:
        session = load(TREES.replace("}", ", resources: {pids: 99}}"))
        template = Template.of_session(session.plan)
        text = "content: x\nid: new\ndepends_on: [old]\nscope: {allow: [a]}\nsubtasks: [{content: y}]\n"
        joining = Joining(order_index=7, taken={"old"})
        todo, part = self.plan(text, template, joining)
        assert (todo.order.id, todo.order_index, part.parent, part.order_index) == ("new", 7, "new", 0)
        assert (todo.order.workspace, todo.order.resources.pids) == (str(folder / "work"), 99)
        assert todo.order_file == str(folder / "session.yaml")
        with pytest.raises(Malformed, match="1: id: 'old' names two todos, one is in the session"):
            self.plan("id: old\ncontent: x\n", template, joining)

    def test_below_another_it_has_the_trees_and_checks_but_not_the_criteria_and_the_worker(self, load: Load) -> None:
        checks = "verification: {checks: [{name: a, command: x}]}, worker: {command: x}"
        criteria = "acceptance_criteria: [{type: file_exists, params: {path: a}}]"
        (above,) = load(TREES + f"todos: [{{id: up, content: x, {checks}, {criteria}}}]\n").todos
        template = Template(order=above.order, order_file=above.order_file, parent="up")
        (todo,) = self.plan("content: y\n", template, Joining(parent="up", taken={"up"}))
        assert todo.parent == "up"
        assert [check.name for check in todo.order.verification.checks] == ["a"]
        assert (todo.order.acceptance_criteria, todo.order.worker) == ([], None)

    def test_the_floor_of_the_session_stays_where_the_command_is_given_elsewhere(self, load: Load) -> None:
        session = load(TREES, "[policy_floor]\nrevisions = 1\n")
        template = Template.of_session(session.plan)
        (todo,) = self.plan("content: x\n", template, Joining())
        assert (todo.order.safeguards.revisions, todo.floor) == (1, session.plan.floor)
        with pytest.raises(
            Malformed, match=r"safeguards\.revisions: the number 2, the project's policy floor asks for"
        ):
            self.plan("content: x\nsafeguards: {revisions: 2}\n", template, Joining())

    def test_what_it_lacks_is_said(self) -> None:
        with pytest.raises(
            Malformed, match=r"todo:1: base: is missing, expected a directory, or \{repository, revision\}$"
        ):
            self.plan("content: y\n", None, Joining())

    @staticmethod
    def plan(text: str, template: Template | None, joining: Joining) -> tuple[PlannedTodo, ...]:
        return plan_for_person(text, "todo", None, template, joining, NO_POLICY)


def test_the_floor_comes_with_every_todo(load: Load) -> None:
    found = load(TREES + "todos: [{content: x}]\n", "[policy_floor]\nrevisions = 1\nsession_timeout = 60\n")
    assert found.todos[0].floor == found.plan.floor == PolicyFloor(revisions=1, session_timeout=60)
    assert (found.todos[0].order.safeguards.revisions, found.session_timeout) == (1, 60)


class TestDefaultsWithoutAWorkspace:
    TODOS = "todos:\n  - {content: One, workspace: work}\n  - {content: Two, workspace: other}\n"

    def test_each_todo_has_its_own_beside_a_base_in_the_sessions_folder(self, load: Load, folder: Path) -> None:
        found = load("defaults: {base: base}\n" + self.TODOS)
        assert [todo.order.workspace for todo in found.todos] == [str(folder / "work"), str(folder / "other")]
        assert {todo.order.base for todo in found.todos} == {str(folder / "base")}

    @pytest.mark.parametrize("base", ["base", ".", ".."])
    def test_later_todos_get_no_base_that_their_worker_could_write(self, load: Load, base: str) -> None:
        todos = self.TODOS if base == "base" else "todos: []\n"
        defaults = load(f"defaults: {{base: {base}}}\n" + todos).plan.defaults
        assert defaults is not None
        assert defaults.base is None, "an agent's todo is refused: no_template"

    def test_a_base_apart_from_the_folder_is_theirs(
        self, load: Load, folder: Path, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        apart = tmp_path_factory.mktemp("apart")
        defaults = load(f"defaults: {{base: {apart}}}\n" + self.TODOS).plan.defaults
        assert defaults is not None
        assert (defaults.base, defaults.workspace) == (str(apart), str(folder))

    def test_a_todo_without_one_is_told(self, load: Load) -> None:
        assert problems(load, "defaults: {base: base}\ntodos:\n  - content: One\n") == [
            "1: defaults.base: is inside the workspace, which the worker can write, "
            "expected a directory apart from it, or a commit"
        ]

    def test_a_base_that_is_not_there_is_told_once_for_all(self, load: Load) -> None:
        assert problems(load, "defaults: {base: nowhere}\ntodos: []\n") == [
            "1: defaults.base: 'nowhere' is no directory, expected a directory, or {repository, revision}"
        ]
