"""An order that the worker can write counts as a person trusted it: ways to move the pen, each refused or pinned."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from adapters.config.defaults import NO_POLICY
from adapters.config.pins import Pins
from adapters.config.session_file import bytes_of_session
from adapters.config.settings import Settings, load_settings
from domain.errors import Malformed, Refused
from domain.event_kinds import problems
from domain.events import Actor, TrailEntry
from domain.pins import MOST_DIFF_LINES, Pin, difference, moved
from entrypoints.cli.trust import default_order
from entrypoints.pinning import Admitted, Options, admit_file, admit_order, admit_stored
from entrypoints.planning import admitted_session
from entrypoints.trusting import Consent, candidate, revoke, trust
from tests.fakes.trail import MemoryTrail
from tests.unit.test_survey_base import commit, repository

ANN = Actor(role="unattributed", identity="ann")
CHECK = {"name": "tests", "command": "python -m pytest -q tests"}


def consent() -> Consent:
    return Consent(ANN, "said", datetime.now(UTC))


@dataclass
class Project:
    """A repository with an order in `.countersign/`, as `init` writes it, and a state directory elsewhere."""

    root: Path
    settings: Settings
    trail: MemoryTrail
    base: str

    @property
    def order(self) -> Path:
        return self.root / ".countersign" / "order.yaml"

    def write(self, path: Path | None = None, **fields: Any) -> Path:
        """Write an order: as `init` does where nothing else is named."""
        target = path or self.order
        target.parent.mkdir(parents=True, exist_ok=True)
        base = {"repository": str(self.root), "revision": self.base}
        order = {"id": "wo-p", "content": "x", "workspace": "..", "base": base}
        target.write_text(yaml.safe_dump({**order, "verification": {"checks": [CHECK]}, **fields}))
        return target

    def trust(self, path: Path | None = None, *, part: bool = False, **options: Any) -> Pin:
        found = candidate(path or self.order, self.settings, NO_POLICY, Options(**options), part=part)
        return trust(found, consent(), self.settings, self.trail)

    def admit(self, path: Path | None = None, **options: Any) -> Admitted:
        return admit_order(path or self.order, self.settings, NO_POLICY, Options(**options))

    def refused(self, path: Path | None = None, **options: Any) -> Refused:
        with pytest.raises(Refused) as caught:
            self.admit(path, **options)
        assert caught.value.code == "order_changed"
        return caught.value


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    root = repository(tmp_path / "p")
    base = commit(root, "tests/test_a.py", "def test_a(): pass\n")
    monkeypatch.setenv("COUNTERSIGN_STATE_DIR", str(tmp_path / "state"))
    made = Project(root, load_settings(root), MemoryTrail(), base)
    made.write()
    return made


def test_an_order_in_the_tree_counts_once_a_person_has_trusted_it(project: Project) -> None:
    refused = project.refused()
    assert f"countersign trust {project.order}" in refused.next_step
    pin = project.trust()
    admitted = project.admit()
    assert (admitted.pin, admitted.note, admitted.beside) == (pin.digest, "", {})
    assert admitted.file == str(project.order)


def test_a_pin_is_for_its_owner_alone_and_recorded_first(project: Project) -> None:
    pin = project.trust()
    (file,) = (project.settings.state_dir / "pins").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    (row,) = project.trail.rows()
    assert (row.session, row.todo_id, row.action) == ("local", "wo-p", "order_trusted")
    assert (row.payload["pin"], row.payload["established"], row.payload["replaces"]) == (pin.digest, "said", "")
    assert problems(TrailEntry.model_validate(row.model_dump())) == ()
    project.write(content="y")
    project.trust()
    assert [row.payload["replaces"] for row in project.trail.rows()] == ["", pin.digest]


def test_a_pin_that_is_taken_back_counts_no_more(project: Project) -> None:
    revoke(project.trust(), consent(), project.settings, project.trail)
    assert "no person has trusted it" in project.refused().reason
    assert [row.action for row in project.trail.rows()] == ["order_trusted", "order_trust_revoked"]
    assert problems(TrailEntry.model_validate(list(project.trail.rows())[1].model_dump())) == ()


def test_what_has_changed_is_shown(project: Project) -> None:
    project.trust()
    project.write(verification={"checks": [{**CHECK, "command": "true"}]})
    refused = project.refused()
    assert "\n-  - command: python -m pytest -q tests\n+  - command: 'true'\n" in refused.diff
    assert "since ann trusted it" in refused.reason
    project.trust()
    assert project.admit().pin


def test_an_order_outside_the_tree_needs_no_pin(project: Project, tmp_path: Path) -> None:
    out = project.write(tmp_path / "orders" / "order.yaml", workspace="../p")
    assert project.admit(out) == Admitted(project.admit(out).order, str(out))


def test_an_order_beside_its_trees_in_one_repository_needs_no_pin(project: Project) -> None:
    """As examples/is_prime: base and work are folders, and the order is in neither."""
    for folder in ("work", "base"):
        (project.root / "example" / folder).mkdir(parents=True)
    order = project.write(project.root / "example" / "order.yaml", workspace="work", base="base")
    assert project.admit(order).pin == ""
    project.trust()
    assert "within" in project.refused(order).reason, "by now it is known that a worker has the whole repository"


def changed_workspace(project: Project) -> Path:
    (project.root / "src").mkdir()
    return project.write(workspace="../src")


def changed_trees(project: Project) -> Path:
    """Neither the workspace nor the base that it names is where the order is."""
    for folder in ("work", "base"):
        (project.root.parent / folder).mkdir()
    return project.write(workspace="../../work", base="../../base")


def own_commit_as_base(project: Project) -> Path:
    mine = commit(project.root, "tests/test_a.py", "import pytest\npytestmark = pytest.mark.skip\n")
    return project.write(base={"repository": "..", "revision": mine})


def link_in_its_place(project: Project) -> Path:
    elsewhere = project.write(project.root.parent / "evil.yaml", verification={"checks": []})
    project.order.unlink()
    project.order.symlink_to(elsewhere)
    return project.order


def link_in_the_folder_s_place(project: Project) -> Path:
    """The same text, with which `..` leads elsewhere: its relative base, too."""
    evil = repository(project.root.parent / "evil")
    folder = project.order.parent
    text = project.order.read_text()
    project.order.unlink()
    folder.rmdir()
    (evil / ".countersign").mkdir()
    (evil / ".countersign" / "order.yaml").write_text(text)
    folder.symlink_to(evil / ".countersign")
    return project.order


def link_to_another_trusted_order(project: Project) -> Path:
    """A pin of the one says nothing of the other."""
    weaker = project.write(project.root / ".countersign" / "weaker.yaml", verification={"checks": []})
    project.trust(weaker)
    project.order.unlink()
    project.order.symlink_to("weaker.yaml")
    return project.order


def alias_to_another_trusted_order(project: Project) -> Path:
    link_to_another_trusted_order(project)
    (project.root.parent / "alias").symlink_to(project.root)
    return project.root.parent / "alias" / ".countersign" / "order.yaml"


def json_beside_it(project: Project) -> Path:
    found = yaml.safe_load(project.order.read_text())
    found["verification"]["checks"] = []
    (project.root / ".countersign" / "order.json").write_text(json.dumps(found))
    return project.root / ".countersign" / "order.json"


def the_same_bytes_in_another_place(project: Project) -> Path:
    (project.root / "order.yaml").write_text(project.order.read_text())
    return project.root / "order.yaml"


def hard_link_outside(project: Project) -> Path:
    outside = project.root.parent / "outside"
    outside.mkdir()
    (outside / "order.yaml").hardlink_to(project.order)
    return outside / "order.yaml"


def no_order_any_more(project: Project) -> Path:
    project.order.write_text("a: {")
    return project.order


def only_a_carriage_return(project: Project) -> Path:
    project.order.write_bytes(project.order.read_bytes().replace(b"\n", b"\r\n"))
    return project.order


@pytest.mark.parametrize(
    "way",
    [
        changed_workspace,
        changed_trees,
        own_commit_as_base,
        link_in_its_place,
        link_in_the_folder_s_place,
        link_to_another_trusted_order,
        alias_to_another_trusted_order,
        json_beside_it,
        the_same_bytes_in_another_place,
        hard_link_outside,
        no_order_any_more,
        only_a_carriage_return,
    ],
)
@pytest.mark.parametrize("trusted", [True, False])
def test_a_way_to_move_the_pen_is_refused(project: Project, way: Callable[[Project], Path], trusted: bool) -> None:
    if trusted:
        project.trust()
    project.refused(way(project))


def test_another_base_or_workspace_by_option_is_trusted_with_that_option(project: Project) -> None:
    project.trust()
    head = commit(project.root, "a.txt", "one")
    (project.root / "src").mkdir()
    for options in ({"base": head}, {"workspace": project.root / "src"}):
        refused = project.refused(**options)
        (value,) = options.values()
        assert str(value) in refused.reason
        assert refused.next_step.endswith(f"--{next(iter(options))} {value}")
    project.trust(base=head)
    assert project.admit(base=head).pin
    assert "base" in project.refused().reason
    assert project.base in project.refused().reason


def test_the_file_s_own_workspace_counts_where_another_is_named(project: Project, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    order = project.write(project.root / "order.yaml", workspace=".", base=str(tmp_path / "base"))
    (tmp_path / "base").mkdir()
    project.refused(order, workspace=tmp_path / "elsewhere")


def test_another_state_directory_has_no_pins(project: Project, tmp_path: Path) -> None:
    project.trust()
    moved_away = project.settings.model_copy(update={"state_dir": tmp_path / "fresh"})
    with pytest.raises(Refused, match="no person has trusted it"):
        admit_order(project.order, moved_away, NO_POLICY, Options())


def test_where_no_order_is_named_it_is_the_one_that_init_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for root in (tmp_path, repository(tmp_path / "repository")):
        monkeypatch.chdir(root)
        with pytest.raises(Malformed, match="ORDER: is missing"):
            default_order()
        order = root / ".countersign/order.yaml"
        order.parent.mkdir()
        order.touch()
        assert default_order() == Path(".countersign/order.yaml")
    (root / "src").mkdir()
    monkeypatch.chdir(root / "src")
    assert default_order() == order


def test_a_pin_that_cannot_be_read_is_no_pin_and_says_so(project: Project) -> None:
    project.trust()
    (file,) = (project.settings.state_dir / "pins").iterdir()
    file.write_text("{}")
    with pytest.raises(Malformed, match="remove the file, then trust the order again"):
        project.admit()


@pytest.fixture
def beside(project: Project) -> Path:
    """An order of a part of the repository, with tests of its own beside it."""
    (project.root / "src").mkdir()
    own = project.root / ".countersign" / "own"
    own.mkdir()
    (own / "test_own.py").write_text("def test_own(): assert 1\n")
    project.write(workspace="../src", verification={"checks": [CHECK], "tests": ["own"]})
    return own


def edited(own: Path) -> None:
    (own / "test_own.py").write_text("def test_own(): pass\n")


def added(own: Path) -> None:
    (own / "conftest.py").write_text("")


def gone(own: Path) -> None:
    (own / "test_more.py").unlink()


@pytest.mark.parametrize("change", [edited, added, gone])
def test_the_files_beside_it_are_pinned_with_it(project: Project, beside: Path, change: Callable[[Path], None]) -> None:
    (beside / "test_more.py").write_text("def test_more(): pass\n")
    project.trust()
    assert set(project.admit().beside) == {"own/test_own.py", "own/test_more.py"}
    change(beside)
    assert "beside it has changed" in project.refused().reason


def test_between_the_look_at_the_pin_and_the_reading_nothing_can_be_put_in(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes that were compared are those that are read as an order."""
    project.trust()
    find = Pins.find

    def found_late(pins: Pins, *arguments: Any) -> Any:
        found = find(pins, *arguments)
        project.write(verification={"checks": [{**CHECK, "command": "true"}]})
        return found

    monkeypatch.setattr(Pins, "find", found_late)
    assert [check.command for check in project.admit().order.verification.checks] == [CHECK["command"]]


def test_the_base_commit_s_order_stands_in_where_it_is_the_trusted_one(project: Project) -> None:
    committed = commit(project.root, ".countersign/order.yaml", project.order.read_text())
    text = project.order.read_text()
    project.trust(base=committed)
    project.order.write_text(text.replace("python -m pytest -q tests", "true"))
    admitted = project.admit(base=committed)
    assert [check.command for check in admitted.order.verification.checks] == [CHECK["command"]]
    assert committed in admitted.note
    project.refused(), "and with another base it is another order"


def test_an_order_that_nobody_trusted_is_taken_from_a_commit_that_the_caller_names(project: Project) -> None:
    committed = commit(project.root, ".countersign/order.yaml", project.order.read_text())
    own_commit_as_base(project)
    with pytest.raises(Malformed, match="--base COMMIT"):
        project.admit(from_base=True)
    admitted = project.admit(from_base=True, base=committed)
    assert admitted.order.base is not None
    assert (admitted.order.base.revision, admitted.pin) == (committed, "")  # type: ignore[union-attr] # it is a commit
    assert [check.command for check in admitted.order.verification.checks] == [CHECK["command"]]
    with pytest.raises(Malformed, match="has no order at"):
        project.admit(from_base=True, base=project.base)


def test_a_repository_that_was_made_around_the_order_is_not_asked(project: Project) -> None:
    """Its root would make another file of the commit the order."""
    committed = commit(project.root, ".countersign/order.yaml", project.order.read_text())
    commit(project.root, "order.yaml", "content: weaker\n")
    weaker = commit(project.root, "a", "b")
    (project.order.parent / ".git").symlink_to(project.root / ".git")
    admitted = project.admit(from_base=True, base=weaker)
    assert [check.command for check in admitted.order.verification.checks] == [CHECK["command"]], committed


def test_files_beside_an_order_of_a_commit_are_the_commit_s(project: Project, beside: Path) -> None:
    commit(project.root, ".countersign/own/test_own.py", (beside / "test_own.py").read_text())
    committed = commit(project.root, ".countersign/order.yaml", project.order.read_text())
    assert set(project.admit(from_base=True, base=committed).beside) == {"own/test_own.py"}
    edited(beside)
    assert "is not what the commit" in project.refused(from_base=True, base=committed).reason


def test_a_stored_order_counts_as_the_pin_that_it_was_verified_by(project: Project) -> None:
    pin = project.trust()
    stored = project.admit().order

    def again(pinned: str, order: Any = stored) -> Admitted:
        return admit_stored(order, str(project.order), pinned, project.settings, Options())

    project.write(verification={"checks": []})
    assert again(pin.digest).pin == pin.digest, "whatever the file has become"
    assert again("").pin == pin.digest, "by the order's own digest"
    weaker = stored.model_copy(update={"content": "less"})
    with pytest.raises(Refused, match="the stored order is not the one that was trusted"):
        again("", weaker)
    with pytest.raises(Refused, match="its workspace is"):
        again(pin.digest, stored.model_copy(update={"workspace": "/elsewhere"}))
    revoke(pin, consent(), project.settings, project.trail)
    with pytest.raises(Refused, match="no person has trusted it"):
        again(pin.digest)


def session(project: Project, command: str = "true") -> Path:
    path = project.root / "session.yaml"
    base = {"repository": str(project.root), "revision": project.base}
    check = {"name": "tests", "command": command}
    todo = {"id": "a", "content": "x", "verification": {"checks": [check]}}
    path.write_text(yaml.safe_dump({"id": "s", "defaults": {"workspace": ".", "base": base}, "todos": [todo]}))
    return path


def test_a_session_s_file_is_the_same_pen(project: Project, tmp_path: Path) -> None:
    path = session(project)
    with pytest.raises(Refused, match="no person has trusted it"):
        admitted_session(path, project.settings)
    pin = project.trust(path)
    loaded = admitted_session(path, project.settings)
    assert (pin.kind, loaded.plan.authority.pin) == ("session", pin.digest)
    assert {todo.authority.pin for todo in loaded.todos} == {pin.digest}
    session(project, "false")
    with pytest.raises(Refused) as caught:
        admitted_session(path, project.settings)
    assert "+" in caught.value.diff
    outside = tmp_path / "outside.yaml"
    outside.write_text(session(project).read_text().replace("workspace: .", f"workspace: {project.root}"))
    assert admitted_session(outside, project.settings).plan.authority.pin == ""


def test_a_session_s_todos_carry_the_files_beside_that_were_trusted(project: Project, beside: Path) -> None:
    path = project.root / ".countersign" / "session.yaml"
    base = {"repository": str(project.root), "revision": project.base}
    defaults = {"workspace": "../src", "base": base, "verification": {"tests": ["own"]}}
    path.write_text(yaml.safe_dump({"id": "s", "defaults": defaults, "todos": [{"id": "a", "content": "x"}]}))
    project.trust(path)
    loaded = admitted_session(path, project.settings)
    assert [set(todo.beside) for todo in loaded.todos] == [{"own/test_own.py"}]
    assert set(loaded.plan.beside) == {"own/test_own.py"}
    edited(beside)
    with pytest.raises(Refused, match="beside it has changed"):
        admitted_session(path, project.settings)


def test_a_file_with_a_part_of_a_todo_is_the_same_pen(project: Project) -> None:
    path = project.root / "part.yaml"
    path.write_text("content: y\n")
    project.trust()
    order = project.admit().order

    def admit() -> tuple[str, dict[str, str]]:
        return admit_file(path, bytes_of_session(path), [order], project.settings, part=True)

    with pytest.raises(Refused) as caught:
        admit()
    assert caught.value.next_step.endswith("--part")
    pin = project.trust(path, part=True)
    assert admit() == (pin.digest, {})
    path.write_text("content: z\n")
    with pytest.raises(Refused, match="its text has changed"):
        admit()


def test_a_pin_is_named_by_what_it_holds_fast(project: Project) -> None:
    first = project.trust()
    again = project.trust()
    assert (first.digest, first.at == again.at) == (again.digest, False)
    project.write(content="y")
    assert project.trust().digest != first.digest
    assert moved(first.facts, again.facts) == ()


def test_where_only_signed_acts_count_a_pin_without_a_signature_is_none(project: Project) -> None:
    project.trust()
    project.settings = project.settings.model_copy(update={"human_acts": "signed"})
    refused = project.refused()
    assert "without a signature" in refused.reason
    assert refused.next_step.endswith(f"countersign trust {project.order} --key FILE")


def test_a_difference_is_cut_and_a_huge_one_not_made() -> None:
    long = "\n".join(map(str, range(MOST_DIFF_LINES * 2)))
    assert difference("", long, "order.yaml").endswith("lines more")
    assert "not shown" in difference("", "\n" * 10_000, "order.yaml")
    assert difference("same", "same", "order.yaml") == ""


def test_a_name_that_no_text_can_have_is_refused(project: Project) -> None:
    odd = project.root / os.fsdecode(b"\xff.yaml")
    project.write(odd, workspace=".")
    with pytest.raises(Malformed, match="UTF-8"):
        candidate(odd, project.settings, NO_POLICY, Options())
