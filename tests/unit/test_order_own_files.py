"""The files beside an order: found when it is read, frozen with the round, its tests laid over both trees."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.config.order_file import load_order
from adapters.masking.masker import Masker
from adapters.snapshot.beside import MAX_BYTES, MAX_FILES
from adapters.snapshot.snapshots import FileSnapshots
from domain.errors import Cause, Malformed, Unavailable
from domain.messages import FreezeInput, Frozen, ScopeInput, ScopeResult
from domain.order import Order, Scope
from domain.scope import ScopeReport
from domain.tree import Manifest
from tests.fakes.evidence import MemoryStore


class Desk:
    """A folder with an order, files beside it, a base and a workspace."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for tree in ("base", "work"):
            self.write(f"{tree}/src/app.py", "def app(): return 1\n")
            self.write(f"{tree}/tests/test_app.py", "assert app()\n")
        self.store = MemoryStore()
        self.masker = Masker()

    def write(self, path: str, text: str = "x\n") -> Path:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return target

    def load(self, text: str) -> Order:
        return load_order(self.write("order.yaml", f"content: do it\nbase: base\nworkspace: work\n{text}"))

    def problems(self, text: str) -> list[str]:
        with pytest.raises(Malformed) as caught:
            self.load(text)
        return [str(p).replace(f"{self.root}/", "").removeprefix("order.yaml:") for p in caught.value.problems]

    def freeze(self, *files: str, folder: str | None = None) -> Frozen:
        request = FreezeInput(
            round="r",
            workspace=str(self.root / "work"),
            base=str(self.root / "base"),
            order_folder=str(self.root) if folder is None else folder,
            order_files=files,
        )
        return FileSnapshots(self.store, masker=self.masker).freeze(request, lambda _: None)

    def assess(self, *tests: str, **scope: list[str]) -> ScopeResult:
        request = ScopeInput(frozen=self.freeze(*tests), scope=Scope.model_validate(scope), tests=tests)
        return FileSnapshots(self.store).assess(request)

    def content(self, digest: str) -> dict[str, str]:
        entries = Manifest.decode(self.store.get(digest)).by_path
        return {path: self.store.get(entry.digest).decode() for path, entry in entries.items()}

    def report(self, result: ScopeResult) -> ScopeReport:
        return ScopeReport.model_validate_json(self.store.get(result.report))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


EVERYWHERE = """verification:
  tests: [tests/hidden.py, more/]
  checks:
    - {name: build, command: make, control: {patch: break.patch}}
acceptance_criteria:
  - {id: AC-1, type: command_exit_zero, params: {command: "make check", control: {patch: deep/other.patch}}}
"""


def test_files_that_are_there_are_no_problem(desk: Desk) -> None:
    for path in ("tests/hidden.py", "more/test_x.py", "more/data/x.json", "break.patch", "deep/other.patch"):
        desk.write(path)
    assert desk.load(EVERYWHERE).files_beside == ("tests/hidden.py", "more/", "break.patch", "deep/other.patch")


def test_every_file_that_is_not_there_is_told_at_once_with_its_line(desk: Desk) -> None:
    missing = "cannot be found beside the order: No such file or directory, expected it at"
    assert desk.problems(EVERYWHERE) == [
        f"5: verification.tests[0]: {missing} tests",
        f"5: verification.tests[1]: {missing} more",
        f"7: verification.checks[0].control.patch: {missing} break.patch",
        f"9: acceptance_criteria[0].params.control.patch: {missing} deep",
    ]


def fifo(desk: Desk) -> None:
    (desk.root / "own").mkdir()
    os.mkfifo(desk.root / "own/pipe")


def linked(path: str, target: str) -> Callable[[Desk], None]:
    def make(desk: Desk) -> None:
        (desk.root / path).parent.mkdir(parents=True, exist_ok=True)
        (desk.root / path).symlink_to(target)

    return make


@pytest.mark.parametrize(
    ("make", "field", "told"),
    [
        (linked("own.py", "base/src/app.py"), "tests: [own.py]", "own.py is a link, expected what it leads to"),
        (linked("own", "base/tests"), "tests: [own/test_app.py]", "own is a link, expected what it leads to"),
        (linked("own/x.py", "/etc/passwd"), "tests: [own]", "own/x.py cannot be used: a link to an absolute path"),
        (linked("own/x.py", "../order.yaml"), "tests: [own]", "own/x.py is a link, expected regular files"),
        (fifo, "tests: [own]", "own/pipe cannot be used: a named pipe, expected regular files"),
        (fifo, "tests: [own/pipe]", "is no regular file, expected a regular file or a folder"),
        (lambda desk: (desk.root / "own").mkdir(), "tests: [own]", "has no file that could be used"),
        (lambda desk: None, "tests: [.]", "is the order's own folder, expected a file or a folder in it"),
        (lambda desk: None, "tests: [work/tests]", "is inside the workspace, which the worker can write"),
        (lambda desk: None, "tests: [work]", "is inside the workspace, which the worker can write"),
        (lambda desk: desk.write("own/x"), "checks: [{name: a, command: a, control: {patch: own}}]", "no regular file"),
    ],
)
def test_says_what_is_wrong_with_a_file(desk: Desk, make: Callable[[Desk], None], field: str, told: str) -> None:
    make(desk)
    (problem,) = desk.problems(f"verification: {{{field}}}\n")
    assert told in problem
    assert problem.startswith("4: verification.")


def test_a_folder_that_holds_the_workspace_is_the_worker_s(desk: Desk) -> None:
    desk.write("own/test_x.py")
    shutil.move(desk.root / "work", desk.root / "own/work")
    text = "content: do it\nbase: base\nworkspace: own/work\nverification: {tests: [own]}\n"
    with pytest.raises(Malformed, match=r"4: verification.tests\[0\]: contains the workspace"):
        load_order(desk.write("order.yaml", text))


@pytest.mark.parametrize(("files", "size"), [(MAX_FILES + 1, 1), (2, MAX_BYTES // 2 + 1), (1, MAX_BYTES + 1)])
def test_there_is_a_limit_on_all_of_them_together(desk: Desk, files: int, size: int) -> None:
    for number in range(files):
        desk.write(f"{'a' if number % 2 else 'b'}/{number}.txt", "x" * size)
    names = ["b", "a"][:files]
    (problem,) = desk.problems(f"verification: {{tests: [{', '.join(names)}]}}\n")
    assert problem.startswith(f"4: verification.tests[{len(names) - 1}]: ")
    assert str(MAX_BYTES) in problem


def test_an_order_that_is_a_link_has_its_files_where_it_leads(desk: Desk, tmp_path: Path) -> None:
    desk.write("kept/own.py")
    text = "content: do it\nbase: base\nworkspace: work\nverification: {tests: [own.py]}\n"
    desk.write("kept/real.yaml", text)
    (tmp_path / "linked.yaml").symlink_to("kept/real.yaml")
    assert load_order(tmp_path / "linked.yaml").verification.tests == ["own.py"]


def test_they_are_frozen_with_their_bits_and_names(desk: Desk) -> None:
    desk.write("tests/[odd] *.py", "1")
    desk.write("tests/not_named.py", "2")
    desk.write("deep/er/run.sh", "3").chmod(0o755)
    desk.write("deep/__pycache__/x.pyc", "4")
    frozen = desk.freeze("tests/[odd] *.py", "deep/", "./deep/er/run.sh")
    assert desk.content(frozen.order_files) == {"tests/[odd] *.py": "1", "deep/er/run.sh": "3"}
    manifest = Manifest.decode(desk.store.get(frozen.order_files))
    assert [entry.executable for entry in manifest.entries] == [True, False]
    assert desk.freeze().order_files == ""


@pytest.mark.parametrize(
    ("files", "folder", "reason"),
    [
        (("gone.py",), None, "gone.py beside the order, in .*: cannot be found"),
        (("gone.py",), "", "names files beside it .gone.py., and nobody knows where its file was"),
        (("out.py",), None, "out.py is a link"),
    ],
)
def test_one_that_cannot_be_read_any_more_is_unavailable(
    desk: Desk, files: tuple[str, ...], folder: str | None, reason: str
) -> None:
    (desk.root / "out.py").symlink_to("/etc/passwd")
    with pytest.raises(Unavailable, match=reason) as caught:
        desk.freeze(*files, folder=folder)
    assert caught.value.cause is Cause.ORDER_FILES_UNUSABLE
    assert not caught.value.retryable
    assert caught.value.next_step.endswith(".")


def test_a_secret_in_one_is_told_like_one_of_the_base(desk: Desk) -> None:
    desk.masker = Masker({"TOKEN": b"hunter2-hunter3"})
    desk.write("own.py", "key = 'hunter2-hunter3'\n")
    assert [(leak.path, leak.secret) for leak in desk.freeze("own.py").secrets_in_base] == [
        ("own.py (beside the order)", "TOKEN")
    ]


def test_its_tests_stand_in_both_trees_and_nothing_else_of_it_does(desk: Desk) -> None:
    desk.write("tests/test_hidden.py", "hidden")
    desk.write("break.patch", "patch")
    frozen = desk.freeze("tests/test_hidden.py", "break.patch")
    request = ScopeInput(frozen=frozen, scope=Scope(), tests=("tests/test_hidden.py",))
    result = FileSnapshots(desk.store).assess(request)
    both = {"src/app.py": "def app(): return 1\n", "tests/test_app.py": "assert app()\n"}
    assert desk.content(result.tree) == desk.content(result.base) == {**both, "tests/test_hidden.py": "hidden"}
    assert (result.changed_total, result.restored_total, result.dropped_total) == (0, 0, 0)
    assert json.loads(desk.store.get(result.trusted)) == ["tests/test_app.py", "tests/test_hidden.py"]


def test_without_any_the_base_is_the_base(desk: Desk) -> None:
    result = desk.assess()
    assert result.base == desk.freeze().base
    assert json.loads(desk.store.get(result.trusted)) == ["tests/test_app.py"]


@pytest.mark.parametrize(
    ("write", "restored", "dropped"),
    [
        ({}, [], {}),
        ({"tests/test_own.py": "own"}, [], {}),
        ({"tests/test_own.py": "weaker"}, [], {"tests/test_own.py": "order's own"}),
        ({"tests/test_app.py": "weaker"}, ["tests/test_app.py"], {}),
        ({"tests/test_app.py": None}, ["tests/test_app.py"], {}),
        ({"data/cases": "a file"}, [], {"data/cases": "order's own"}),
        ({"tests/test_own.py/x.py": "below"}, [], {"tests/test_own.py/x.py": "order's own"}),
        ({"data/cases/1.json": "other"}, [], {"data/cases/1.json": "order's own"}),
    ],
)
@pytest.mark.parametrize("scope", [{}, {"unprotect": ["**"]}, {"allow": ["src/**"]}, {"deny": ["tests/**", "data/**"]}])
def test_the_worker_has_no_say_where_they_stand(
    desk: Desk,
    write: dict[str, str | None],
    restored: list[str],
    dropped: dict[str, str],
    scope: dict[str, list[str]],
) -> None:
    own = {"tests/test_own.py": "own", "tests/test_app.py": "stronger", "data/cases/1.json": "[]"}
    for path, text in own.items():
        desk.write(path, text)
    for path, content in write.items():
        if content is None:
            (desk.root / "work" / path).unlink()
        else:
            desk.write(f"work/{path}", content)
    result = desk.assess("tests", "data/cases", **scope)
    for digest in (result.tree, result.base):
        assert {path: text for path, text in desk.content(digest).items() if path != "src/app.py"} == own
    report = desk.report(result)
    assert list(report.restored) == restored
    assert {d.path: d.reason for d in report.dropped}.keys() == dropped.keys()
    assert all(told in d.reason for d, told in zip(report.dropped, dropped.values(), strict=True))
    assert not report.violations
    assert set(json.loads(desk.store.get(result.trusted))) == set(own)


@pytest.mark.parametrize(
    ("path", "told"), [("src/app.py/test_x.py", "has a file at src/app.py"), ("tests", "has a folder there")]
)
def test_one_that_does_not_fit_on_the_base_is_unavailable(desk: Desk, path: str, told: str) -> None:
    desk.write(path)
    with pytest.raises(Unavailable, match=told) as caught:
        desk.assess(path)
    assert caught.value.cause is Cause.ORDER_FILES_UNUSABLE


def test_what_the_worker_wrote_is_no_trusted_test(desk: Desk) -> None:
    desk.write("base/helper_for_tests.py", "1")
    (desk.root / "base/tests/test_linked.py").symlink_to("../helper_for_tests.py")
    (desk.root / "base/tests/test_kept.py").symlink_to("test_app.py")
    shutil.rmtree(desk.root / "work")
    shutil.copytree(desk.root / "base", desk.root / "work", symlinks=True)
    desk.write("base/specs/one.py", "1")
    desk.write("work/specs/one.py", "1")
    desk.write("base/tests/test_free.py", "1")
    desk.write("work/tests/test_free.py", "2")
    desk.write("work/tests/test_new.py", "1")
    result = desk.assess(unprotect=["tests/test_free.py", "helper_for_tests.py"], protect=["specs/**"])
    trusted = ["specs/one.py", "tests/test_app.py", "tests/test_kept.py", "tests/test_linked.py"]
    assert json.loads(desk.store.get(result.trusted)) == trusted
    desk.write("work/helper_for_tests.py", "2")
    result = desk.assess(unprotect=["tests/test_free.py", "helper_for_tests.py"], protect=["specs/**"])
    assert json.loads(desk.store.get(result.trusted)) == trusted[:3]
