"""Which `countersign.toml` files are in force, and what several of them come to: an inner one takes nothing away."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from adapters.config.agent_todo import plan_for_agent
from adapters.config.configuration import project_root
from adapters.config.defaults import Policies, load_policy
from adapters.config.in_force import authority_of
from adapters.config.order_file import load_order
from adapters.config.places import folders_above, is_within
from adapters.config.session_file import load_session
from adapters.config.session_todos import Joining
from adapters.config.settings import Settings, load_settings
from adapters.config.signers import load_signers
from adapters.config.worker_written import refuse_authority_within
from domain.authority import NO_AUTHORITY
from domain.base import sha256_hex
from domain.errors import Malformed
from domain.order import Order, OverridePolicy
from domain.planning import Template
from domain.policy_floor import OVERRIDES, PolicyFloor, conflicts, joined, raised, shortfalls, stricter
from domain.requests import Refusal
from tests.signing import make_key

STRICT = "[policy_floor]\nprobe = 'mutate'\n"
LAX = "[policy_floor]\nprobe = 'revert'\n"


@pytest.fixture(autouse=True)
def _an_empty_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith(("COUNTERSIGN_", "TEMPORAL_", "DOCKER_", "GITHUB_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def outer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an order, its trees and a folder below them, in which one stands."""
    folder = tmp_path / "outer"
    for name in ("work", "base", "sub/deep"):
        (folder / name).mkdir(parents=True)
    (folder / "order.yaml").write_text("content: x\nbase: base\nworkspace: work\n")
    monkeypatch.chdir(folder / "sub" / "deep")
    return folder


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "countersign.toml").write_text(text)
    return folder


def told(*arguments: Any) -> str:
    with pytest.raises(Malformed) as caught:
        load_settings(*arguments)
    return str(caught.value)


def order_of(file: Path, settings: Settings | None = None) -> Order:
    """As a command reads it: what the worker could have written is refused."""
    settings = settings or load_settings()
    policies = Policies(settings)
    found = load_order(file, policy=policies)
    refuse_authority_within(settings, Path(found.workspace), policies.last.files)
    return found


class TestTheRoot:
    def test_a_nearer_mark_takes_nothing_away(self, outer: Path) -> None:
        write(outer, STRICT)
        (outer / "sub" / ".git").mkdir()
        write(outer / "sub" / "deep", "")
        assert load_settings().project == outer
        assert order_of(outer / "order.yaml").verification.probe == "mutate"

    def test_marks_in_a_folder_that_anybody_writes(self, outer: Path) -> None:
        (outer / "sub").chmod(0o1777)
        (outer / "sub" / ".git").mkdir()
        assert project_root(Path.cwd()) == outer / "sub" / "deep", "such a .git is none"
        write(outer / "sub", "")
        assert "countersign.toml:1: file: is in" in (said := told())
        assert "where anybody can write, expected a folder that only its owner can write" in said

    @pytest.mark.parametrize(
        ("make", "said"),
        [
            (lambda path: path.symlink_to(path.parent / "other.toml"), "is a link, expected a file with TOML"),
            (lambda path: path.symlink_to("nowhere"), "is a link, expected"),
            (lambda path: path.symlink_to(path), "is a link, expected"),
            (lambda path: path.mkdir(), "is a directory, expected a file with TOML"),
            (os.mkfifo, "is no regular file, expected a file with TOML"),
            (lambda path: path.write_bytes(b"\xff"), "is not UTF-8, expected TOML"),
        ],
    )
    @pytest.mark.parametrize("where", ["sub", "sub/deep", "."])
    def test_what_is_no_file_is_never_passed_over(self, outer: Path, make: Any, said: str, where: str) -> None:
        (outer / where / "other.toml").write_text("")
        make(outer / where / "countersign.toml")
        assert said in told()

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
    def test_what_cannot_be_read_is_never_passed_over(self, outer: Path) -> None:
        write(outer, STRICT)
        (outer / "countersign.toml").chmod(0)
        assert "cannot be read: Permission denied" in told()

    def test_above_links_on_the_way(self, tmp_path: Path) -> None:
        for name in ("a/b", "c/d", "e"):
            (tmp_path / name).mkdir(parents=True)
        (tmp_path / "a" / "b" / "link").symlink_to("../../c/d/other")
        (tmp_path / "c" / "d" / "other").symlink_to(tmp_path / "e")
        found = set(folders_above([tmp_path / "a" / "b" / "link" / "order.yaml"]))
        assert {tmp_path / name for name in ("a/b", "c/d", "e")} <= found

    @pytest.mark.parametrize(
        ("path", "within"),
        [
            ("work/state", True),
            ("work", True),
            ("state", False),
            ("works", False),
            ("into", True),
            ("work/out", True),
            ("work/../state", True),
            ("round/x", True),
        ],
    )
    def test_within_by_the_end_or_a_link_on_the_way(self, tmp_path: Path, path: str, within: bool) -> None:
        (tmp_path / "work").mkdir()
        (tmp_path / "into").symlink_to("work/x")
        (tmp_path / "work" / "out").symlink_to("../state")
        (tmp_path / "round").symlink_to("round")
        assert is_within(tmp_path / path, tmp_path / "work") is within


class TestTogether:
    def test_plain_settings_are_the_innermost_s(self, outer: Path) -> None:
        write(outer, "[sandbox]\nparallelism = 2\n[limits]\nmax_files = 5\n[evidence]\ndir = 'kept'\n")
        write(outer / "sub", "[sandbox]\nparallelism = 3\n[secrets]\nnames = ['A_KEY']\n")
        write(outer / "sub" / "deep", "[secrets]\nnames = ['B_KEY']\n")
        found = load_settings()
        assert (found.parallelism, found.max_files, found.evidence_dir) == (3, 5, outer / "kept")
        assert found.secrets == ("A_KEY", "B_KEY")

    def test_a_host_gets_the_same_from_the_files_that_it_is_given(
        self, outer: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(outer, "[sandbox]\nparallelism = 2\n")
        write(outer / "sub", "[sandbox]\nparallelism = 3\n")
        files = load_settings().files
        monkeypatch.chdir("/")
        monkeypatch.setenv("COUNTERSIGN_PROJECT", str(outer))
        assert load_settings().parallelism == 2
        monkeypatch.setenv("COUNTERSIGN_CONFIGURATION", os.pathsep.join(str(one.path) for one in files))
        assert load_settings().parallelism == 3

    @pytest.mark.parametrize("where", ["cwd", "order", "workspace", "link to the order", "session"])
    def test_a_floor_above_only_one_of_them(
        self, where: str, outer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        here, order, workspace = (tmp_path / name for name in ("here", "order", "tree"))
        for folder in (here, order, workspace / "work"):
            folder.mkdir(parents=True)
        text = f"base: {outer}/base\nworkspace: {workspace}/work\n"
        (order / "order.yaml").write_text(f"content: x\n{text}")
        (order / "session.yaml").write_text(
            f"todos:\n  - content: x\n    base: {outer}/base\n    workspace: {workspace}/work\n"
        )
        file, above = order / "order.yaml", {"cwd": here, "order": order}.get(where, workspace)
        if where == "link to the order":
            (tmp_path / "links").mkdir()
            file, above = tmp_path / "links" / "order.yaml", tmp_path / "links"
            file.symlink_to(order / "order.yaml")
        monkeypatch.chdir(here)
        assert order_of(file).verification.probe == "off"
        write(above, STRICT)
        if where == "session":
            planned = load_session(order / "session.yaml", load_settings())
            assert planned.todos[0].order.verification.probe == "mutate"
            assert planned.plan.floor.probe == "mutate"
        else:
            assert order_of(file).verification.probe == "mutate"

    def test_the_variable_for_the_project_takes_no_floor_away(
        self, outer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(outer, f"{STRICT}[sandbox]\nparallelism = 2\n")
        (tmp_path / "empty").mkdir()
        monkeypatch.setenv("COUNTERSIGN_PROJECT", str(tmp_path / "empty"))
        found = load_settings()
        assert (found.project, found.parallelism != 2) == (tmp_path / "empty", True)
        assert load_policy(found).floor.probe == "mutate"
        assert order_of(outer / "order.yaml").verification.probe == "mutate"

    def test_one_order_cannot_have_what_two_files_ask_for(self, outer: Path) -> None:
        write(outer, "[policy_floor]\non_exhausted = 'fail'\nchecks = [{name = 'lint', command = 'ruff check'}]\n")
        write(outer / "sub", "[policy_floor]\non_exhausted = 'escalate'\n")
        with pytest.raises(Malformed) as caught:
            order_of(outer / "order.yaml")
        expected = f"on_exhausted: is escalate, expected what {outer}/countersign.toml says, or nothing"
        assert str(caught.value) == f"{outer}/sub/countersign.toml:2: policy_floor.{expected}"
        write(outer / "sub", "[policy_floor]\nchecks = [{name = 'lint', command = 'true'}]\n")
        with pytest.raises(Malformed, match=r"policy_floor.checks: the check lint is another one"):
            order_of(outer / "order.yaml")

    def test_overrides_are_the_stricter_of_each(self, outer: Path) -> None:
        write(outer, "[override_policy]\ncheck_override_allowed = false\ndirect_approval_allowed = true\n")
        write(outer / "sub", "[override_policy]\ncheck_override_allowed = true\ndirect_approval_allowed = false\n")
        found = order_of(outer / "order.yaml").override_policy
        assert (found.check_override_allowed, found.direct_approval_allowed) == (False, False)


class TestSigners:
    def test_an_inner_file_names_nobody_else_and_gives_nobody_more(self, outer: Path, tmp_path: Path) -> None:
        key = make_key(tmp_path, "key")
        for folder in (outer, outer / "sub"):
            (folder / "allowed").write_text(f"{key.line('ann@example.org')}{key.line('bob@example.org')}")
        ann = "[signers.roles]\n'ann@example.org' = 'owner'\n[signers.acts]\n"
        write(outer, f"[signers]\nfile = 'allowed'\n{ann}approve = 'owner'\n")
        says = "expected what .*/outer/countersign.toml says, or nothing"
        for inner, wrong in (
            ("[signers]\nfile = 'allowed'\n", "signers.file: names .*/sub/allowed"),
            ("[signers.roles]\n'bob@example.org' = 'owner'\n", "signers.roles.*: is a higher role"),
            ("[signers.acts]\napprove = 'reviewer'\n", "signers.acts.approve: is a lower role"),
            ("[signers.acts]\noverride = 'reviewer'\n", "signers.acts.override: is a lower role"),
        ):
            write(outer / "sub", inner)
            with pytest.raises(Malformed, match=f"sub/countersign.toml:.*{wrong}, {says}"):
                load_signers(load_settings())
        stricter_ones = "[signers.roles]\n'ann@example.org' = 'reviewer'\n[signers.acts]\nreject = 'owner'\n"
        write(outer / "sub", stricter_ones)
        found = load_signers(load_settings())
        assert found is not None
        assert found.roles == {"ann@example.org": "reviewer"}
        assert found.acts == {"approve": "owner", "reject": "owner"}

    def test_those_above_the_order_alone(self, outer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (outer / "allowed").write_text(make_key(tmp_path, "key").line("ann@example.org"))
        write(outer, "[signers]\nfile = 'allowed'\n")
        monkeypatch.chdir(tmp_path)
        settings = load_settings()
        policies = Policies(settings)
        found = load_order(outer / "order.yaml", policy=policies)
        assert found.override_policy.signatures == "required"
        assert load_signers(settings) is None
        assert load_signers(settings, policies.last.files) is not None


class TestTheWorker:
    @pytest.mark.parametrize(
        "text",
        [
            "[policy_floor]\nprotect = ['src/']\n",
            "[policy_floor]\nchecks = [{name = 'a', command = 'true'}]\n",
            "[signers]\nfile = 'allowed'\n",
            "[override_policy]\ndirect_approval_allowed = true\n",
        ],
    )
    @pytest.mark.parametrize("copied", [False, True])
    def test_its_file_says_nothing_that_counts(
        self, text: str, copied: bool, outer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Even where nobody stands in the workspace: that is above the order, or the workspace itself."""
        monkeypatch.chdir(tmp_path)
        write(outer / "work", text)
        if not copied:
            with pytest.raises(Malformed, match=r"work/countersign.toml:.* is set in a file that the worker can write"):
                order_of(outer / "order.yaml")
            return
        (outer / "allowed").write_text(make_key(tmp_path, "key").line("ann@example.org"))
        (outer / "work" / "allowed").write_text("")
        write(outer, text)
        order_of(outer / "order.yaml")  # as a clone of the project has it

    def test_its_floor_holds_and_lowers_nothing(self, outer: Path) -> None:
        write(outer, STRICT)
        write(outer / "work", f"{LAX}min_criteria = 2\n[sandbox]\nparallelism = 1\n[agents]\nmodel = 'script:x.yaml'\n")
        found = order_of(outer / "order.yaml")
        assert (found.verification.probe, found.verification.min_criteria) == ("mutate", 2)
        assert load_settings().parallelism != 1

    @pytest.mark.parametrize(
        ("variable", "value"),
        [
            ("STATE_DIR", "work/state"),
            ("STATE_DIR", "into"),
            ("STATE_DIR", "work/out"),
            ("EVIDENCE_DIR", "work"),
            ("EVIDENCE_DIR", "work/out"),
            ("DATABASE_URL", "sqlite:///{outer}/work/trail.db"),
            ("DATABASE_URL", "sqlite:///{outer}/into/trail.db"),
            ("PAYLOAD_KEY_FILE", "work/key"),
        ],
    )
    def test_nothing_that_is_kept_is_in_its_tree(
        self, variable: str, value: str, outer: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (outer / "into").symlink_to("work/x")
        (outer / "work" / "out").symlink_to("../elsewhere")
        monkeypatch.chdir(outer)
        order_of(outer / "order.yaml")
        monkeypatch.setenv(f"COUNTERSIGN_{variable}", value.format(outer=outer))
        with pytest.raises(Malformed) as caught:
            order_of(outer / "order.yaml")
        assert f"environment:1: COUNTERSIGN_{variable}: " in str(caught.value)
        assert "is where the worker of" in str(caught.value)

    def test_the_usual_state_directory_neither(self, outer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (outer / "work" / "state").symlink_to("../elsewhere")
        monkeypatch.setenv("XDG_STATE_HOME", str(outer / "work" / "state"))
        with pytest.raises(Malformed, match=r"COUNTERSIGN_STATE_DIR: .* is where the worker of"):
            order_of(outer / "order.yaml")

    def test_nor_what_a_file_names_through_a_link_of_its(self, outer: Path) -> None:
        (outer / "work" / "out").symlink_to("../elsewhere")
        write(outer, "[evidence]\ndir = 'work/out'\n")
        with pytest.raises(Malformed, match=r"COUNTERSIGN_EVIDENCE_DIR: .* is where the worker of"):
            order_of(outer / "order.yaml")


class TestInForce:
    def test_the_files_the_signers_and_the_variables(
        self, outer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        allowed = make_key(tmp_path, "key").line("ann@example.org")
        (outer / "allowed").write_text(allowed)
        write(outer, "[signers]\nfile = 'allowed'\n")
        write(outer / "sub", LAX)
        write(outer.parent / "other", STRICT)
        for name, value in {
            "COUNTERSIGN_STATE_DIR": str(tmp_path / "kept"),
            "COUNTERSIGN_DATABASE_URL": "postgresql://me:secret@db/trail",
            "COUNTERSIGN_LOG_LEVEL": "debug",
            "COUNTERSIGN_BASE_IMAGE": "",
            "TEMPORAL_NAMESPACE": "team",
            "TEMPORAL_API_KEY": "secret",
            "TEMPORAL_TLS_CLIENT_KEY_DATA": "secret",
            "DOCKER_HOST": "tcp://engine:2375",
        }.items():
            monkeypatch.setenv(name, value)
        settings = load_settings()
        found = authority_of(settings, Policies(settings).of(outer.parent / "other" / "order.yaml").files)
        texts = ["[signers]\nfile = 'allowed'\n", LAX, STRICT]
        assert [(one.path, one.digest) for one in found.configuration] == [
            (f"{folder}/countersign.toml", sha256_hex(text.encode()))
            for folder, text in zip((outer, outer / "sub", outer.parent / "other"), texts, strict=True)
        ]
        assert found.signers == sha256_hex(allowed.encode())
        assert found.environment == {
            "COUNTERSIGN_DATABASE_URL": sha256_hex(b"postgresql://db/trail"),
            "COUNTERSIGN_STATE_DIR": sha256_hex(str(tmp_path / "kept").encode()),
            "DOCKER_HOST": sha256_hex(b"tcp://engine:2375"),
            "TEMPORAL_NAMESPACE": sha256_hex(b"team"),
        }

    def test_a_session_s_todos_have_it(self, outer: Path) -> None:
        write(outer, STRICT)
        (outer / "session.yaml").write_text(
            "defaults: {base: base, workspace: work}\ntodos:\n  - content: x\n    subtasks: [{content: y}]\n"
        )
        settings = load_settings()
        planned = load_session(outer / "session.yaml", settings)
        authority = authority_of(settings)
        assert authority.configuration
        assert [todo.authority for todo in planned.todos] == [authority, authority]
        template = Template.of_session(planned.plan)
        assert template is not None
        by_an_agent = plan_for_agent("content: z", "x", template, Joining())
        assert not isinstance(by_an_agent, Refusal)
        assert [todo.authority for todo in by_an_agent] == [authority]

    def test_without_any_there_is_none(self, outer: Path) -> None:
        assert authority_of(load_settings()) == NO_AUTHORITY
        assert not load_settings().files


CHECKS = [{"name": name, "command": f"run {name}"} for name in ("lint", "types", "tests")]
VALUES: dict[str, Any] = {
    **dict.fromkeys(("audit_attempts", "revisions", "tool_retries", "follow_ups", "retries_on_failure"), (1, 2, 3)),
    **dict.fromkeys(("todo_timeout", "session_timeout"), (60, 120, 86_401)),
    **{name: (False,) for name in OVERRIDES if name.endswith("_allowed")},
    "check_override_requires_reason": (True,),
    "signatures": ("required",),
    "without_checks": ("needs_human",),
    "require_all_pass": (True,),
    "on_flaky": ("fail",),
    "auditor_enabled": (True,),
    "on_exhausted": ("escalate", "fail"),
    "draft": ("auto", "never"),
    "max_fail_rate": (0, 0.5, 1),
    "min_criteria": (0, 1, 5),
    "probe": ("revert", "mutate"),
    "adversarial": ("auto", "always"),
}
FLOORS = st.fixed_dictionaries(
    {},
    optional={
        **{name: st.sampled_from(values) for name, values in VALUES.items()},
        "protect": st.lists(st.sampled_from(["ci/", "src/", "*.py"]), unique=True),
        "checks": st.lists(st.sampled_from(CHECKS), unique_by=lambda check: check["name"]),
    },
).map(PolicyFloor.model_validate)


def as_sets(floor: PolicyFloor) -> dict[str, Any]:
    found = floor.model_dump(mode="json")
    return found | {name: sorted(map(str, found[name])) for name in ("protect", "checks")}


def lowest(floor: PolicyFloor) -> Order:
    """An order that has what the floor asks for, and no more."""
    data: dict[str, Any] = {"content": "x", "scope": {"protect": floor.protect}}
    for (first, *rest), value in raised(floor).items():
        inner = data.setdefault(first, {})
        for name in rest[:-1]:
            inner = inner.setdefault(name, {})
        inner[rest[-1]] = value
    data.setdefault("verification", {})["checks"] = [check.model_dump() for check in floor.checks]
    return Order.model_validate(data)


class TestJoining:
    def test_every_field_is_tried(self) -> None:
        assert {*VALUES, "protect", "checks"} == set(PolicyFloor.model_fields)

    @given(FLOORS, FLOORS)
    def test_at_least_as_strict_as_each_in_either_order(self, one: PolicyFloor, other: PolicyFloor) -> None:
        assume(not conflicts(one, other))
        both = joined(one, other)
        assert as_sets(joined(other, one)) == as_sets(both)
        assert (joined(one, one), joined(both, one)) == (one, both)
        order = lowest(both)
        assume(not shortfalls(both, order))
        assert not shortfalls(one, order)
        assert not shortfalls(other, order)
        timeouts = [floor.session_timeout for floor in (one, other) if floor.session_timeout is not None]
        assert both.session_timeout == min(timeouts, default=None)
        assert PolicyFloor.model_validate(both.model_dump()) == both

    @given(FLOORS, FLOORS)
    def test_conflicts_are_only_where_neither_value_is_stricter(self, one: PolicyFloor, other: PolicyFloor) -> None:
        told = {name: {getattr(one, name), getattr(other, name)} - {None} for name in ("on_exhausted", "draft")}
        assert set(conflicts(one, other)) == {name for name, values in told.items() if len(values) > 1}
        changed = [check.model_copy(update={"command": "true"}) for check in one.checks]
        assert len(conflicts(one, one.model_copy(update={"checks": changed}))) == len(changed)

    def test_every_field_of_overrides_has_its_order(self) -> None:
        assert set(OVERRIDES) == set(OverridePolicy.model_fields)
        for name, values in OVERRIDES.items():
            weakest, strictest = values[0], values[-1]
            assert stricter({name: weakest}, {name: strictest}) == {name: strictest}
            assert stricter({name: strictest}, {name: weakest}) == {name: strictest}
            assert stricter({}, {name: weakest}) == {name: weakest}
