"""The project's policy floor: what no order goes below, at each of its doors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.config.defaults import NO_POLICY, load_policy
from adapters.config.order_file import load_order
from adapters.config.session_file import load_session
from adapters.config.settings import load_settings
from adapters.config.worker_written import refuse_authority_within
from adapters.snapshot.matching import matcher
from domain.acts.editing import edit
from domain.acts.step import Step
from domain.errors import Malformed
from domain.order import Order
from domain.policy_floor import PolicyFloor, below, negations, raised
from domain.requests import Edit, Refusal
from tests.model.todos import ALICE, NOON, todo

# What the floor asks for, where an order has it, what is just enough, and what is too little.
RULES: list[tuple[str, Any, str, Any, Any]] = [
    ("audit_attempts", 2, "safeguards.audit_attempts", 2, 3),
    ("revisions", 1, "safeguards.revisions", 1, 2),
    ("tool_retries", 0, "safeguards.tool_retries", 0, 1),
    ("follow_ups", 2, "safeguards.follow_ups", 2, 3),
    ("todo_timeout", 60, "safeguards.todo_timeout", 60, 61),
    ("on_exhausted", "fail", "safeguards.on_exhausted", "fail", "escalate"),
    ("direct_approval_allowed", False, "override_policy.direct_approval_allowed", False, True),
    ("check_override_allowed", False, "override_policy.check_override_allowed", False, True),
    ("verifier_override_allowed", False, "override_policy.verifier_override_allowed", False, True),
    ("check_override_requires_reason", True, "override_policy.check_override_requires_reason", True, False),
    ("signatures", "required", "override_policy.signatures", "required", "optional"),
    ("without_checks", "needs_human", "verification.without_checks", "needs_human", "warn"),
    ("require_all_pass", True, "verification.require_all_pass", True, False),
    ("max_fail_rate", 0.1, "verification.max_fail_rate", 0.1, 0.2),
    ("min_criteria", 3, "verification.min_criteria", 3, 2),
    ("retries_on_failure", 0, "verification.retries_on_failure", 0, 1),
    ("on_flaky", "fail", "verification.on_flaky", "fail", "pass"),
    ("probe", "revert", "verification.probe", "mutate", "off"),
    ("auditor_enabled", True, "verification.auditor.enabled", True, False),
    ("auditor_enabled", True, "verification.objective_only", False, True),
    ("adversarial", "auto", "verification.adversarial", "always", "never"),
    ("adversarial", "always", "verification.adversarial", "always", "auto"),
    ("adversarial", "auto", "verification.objective_only", False, True),
    ("adversarial", "auto", "verification.auditor.enabled", True, False),
    ("draft", "never", "verification.draft", "never", "auto"),
    ("draft", "auto", "verification.draft", "auto", "never"),
]
CHECK = {"name": "lint", "command": "ruff check src"}


def written(place: str, value: Any) -> dict[str, Any]:
    """`{"safeguards": {"revisions": 2}}` for `safeguards.revisions`."""
    for name in reversed(place.split(".")):
        value = {name: value}
    assert isinstance(value, dict)
    return value


def order(**fields: Any) -> Order:
    return Order.model_validate({"content": "x", **fields})


class TestBelow:
    def test_every_field_of_the_floor_has_a_case_here(self) -> None:
        elsewhere = {"session_timeout", "protect", "checks"}
        assert {name for name, *_ in RULES} | elsewhere == set(PolicyFloor.model_fields)

    @pytest.mark.parametrize(("name", "asked", "place", "enough", "less"), RULES)
    def test_enough_and_less(self, name: str, asked: Any, place: str, enough: Any, less: Any) -> None:
        floor = PolicyFloor.model_validate({name: asked})
        assert below(floor, order(**written(place, enough))) == ()
        (said,) = below(floor, order(**written(place, less)))
        shown = str(less).lower() if isinstance(less, bool) else f"{less:g}" if name == "todo_timeout" else less
        assert said.startswith(f"{place} is {shown}, and the project's policy floor asks for ")

    def test_no_floor_asks_for_nothing(self) -> None:
        assert below(PolicyFloor(), order()) == ()
        assert raised(PolicyFloor()) == {}

    def test_what_is_raised_is_only_what_is_stricter_than_built_in(self) -> None:
        floor = PolicyFloor(audit_attempts=9, revisions=1, probe="revert", min_criteria=0, todo_timeout=7200.0)
        assert raised(floor) == {("safeguards", "revisions"): 1, ("verification", "probe"): "revert"}

    def test_what_asks_no_auditor_is_told_once(self) -> None:
        floor = PolicyFloor(auditor_enabled=True, adversarial="always")
        verification = {"adversarial": "always", "objective_only": True, "auditor": {"enabled": False}}
        places = [line.partition(" is ")[0] for line in below(floor, order(verification=verification))]
        assert sorted(places) == ["verification.auditor.enabled", "verification.objective_only"]

    def test_an_argument_that_nobody_asked_for_is_raised(self) -> None:
        assert raised(PolicyFloor(adversarial="always")) == {("verification", "adversarial"): "always"}
        assert raised(PolicyFloor(adversarial="auto", draft="auto")) == {}
        assert raised(PolicyFloor(draft="never")) == {("verification", "draft"): "never"}

    def test_patterns_and_checks_are_in_the_order(self) -> None:
        floor = PolicyFloor.model_validate({"protect": ["ci/"], "checks": [CHECK]})
        fine = {"scope": {"protect": ["a", "ci/"]}, "verification": {"checks": [CHECK]}}
        assert below(floor, order(**fine)) == ()
        assert below(floor, order()) == (
            "scope.protect is empty, and the project's policy floor asks for ci/ in it",
            "verification.checks is empty, and the project's policy floor asks for the check lint in it",
        )
        for change in ({"command": "true"}, {"required": False}, {"timeout": 1}, {"cwd": "docs"}):
            (said,) = below(floor, order(**fine | {"verification": {"checks": [CHECK | change]}}))
            assert said.startswith("verification.checks.0 is another lint")
        opened = fine | {"scope": {"protect": ["ci/"], "unprotect": ["**"]}}
        assert "asks for !**/ci/** at its end" in below(floor, order(**opened))[0]

    @given(
        protect=st.sampled_from(["src", "src/", "a/b/", "a/b", "*.py", "**/ci/**", "a/*", "keep.txt", "a/**/x"]),
        unprotect=st.lists(
            st.sampled_from(["**", "*", "a/", "src/", "src/**", "*.py", "/a", "b/", "**/x", "keep.txt", "ci"]),
            min_size=1,
        ),
        path=st.lists(st.sampled_from(["src", "a", "b", "ci", "x", "x.py", "keep.txt"]), min_size=1, max_size=4),
    )
    def test_nothing_that_the_floor_protects_is_opened(
        self, protect: str, unprotect: list[str], path: list[str]
    ) -> None:
        floor, name = PolicyFloor(protect=[protect]), "/".join(path)
        assert not (matcher([protect])(name) and matcher([*unprotect, *negations(floor)])(name))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COUNTERSIGN_PROJECT", str(tmp_path))
    for name in ("work", "base"):
        (tmp_path / name).mkdir()
    return tmp_path


def load(project: Path, floor: str, text: str) -> Order:
    (project / "countersign.toml").write_text(floor)
    (project / "order.yaml").write_text("content: x\nbase: base\nworkspace: work\n" + text)
    return load_order(project / "order.yaml", policy=load_policy(load_settings(project)))


def problems(project: Path, floor: str, text: str) -> list[str]:
    with pytest.raises(Malformed) as caught:
        load(project, floor, text)
    return str(caught.value).replace(f"{project}/", "").splitlines()


class TestAtTheDoors:
    def test_what_is_not_written_is_raised(self, project: Path) -> None:
        floor = (
            "[policy_floor]\nrevisions = 1\nprobe = 'revert'\nprotect = ['ci/']\n"
            "checks = [{name = 'lint', command = 'ruff check src'}]\n"
        )
        text = "scope: {unprotect: ['Makefile']}\nverification: {checks: [{name: own, command: x}]}\n"
        found = load(project, floor, text)
        assert (found.safeguards.revisions, found.verification.probe) == (1, "revert")
        assert [check.name for check in found.verification.checks] == ["lint", "own"]
        assert (found.scope.protect, found.scope.unprotect) == (["ci/"], ["Makefile", "!**/ci/**"])
        assert below(load_policy(load_settings(project)).floor, found) == ()

    @pytest.mark.parametrize(
        ("floor", "text", "said"),
        [
            ("revisions = 1", "safeguards:\n  revisions: 2\n", "order.yaml:5: safeguards.revisions: the number 2, the"),
            ("probe = 'mutate'", "verification: {probe: revert}\n", "order.yaml:4: verification.probe: revert, the"),
            (
                "auditor_enabled = true",
                "verification:\n  verifier: {enabled: false}\n",
                "order.yaml:5: verification.verifier.enabled: false, the project's policy floor asks for true",
            ),
            (
                "checks = [{name = 'lint', command = 'x'}]",
                "verification:\n  checks:\n    - {name: lint, command: 'true'}\n",
                "order.yaml:6: verification.checks[0]: another lint, the project's policy floor asks for its own check",
            ),
            (
                "checks = [{name = 'AC-1', command = 'x'}]",
                "acceptance_criteria: [{type: file_exists, params: {path: a}}]\n",
                "countersign.toml:2: policy_floor.checks[0].name: 'AC-1' names two criteria or checks",
            ),
            (
                "revisions = 1\n[thresholds]\nrevisions = 3",
                "",
                "countersign.toml:4: thresholds.revisions: the number 3, the project's policy floor asks for at most 1",
            ),
        ],
    )
    def test_what_asks_for_less_is_malformed_where_it_is_written(
        self, floor: str, text: str, said: str, project: Path
    ) -> None:
        (line,) = problems(project, f"[policy_floor]\n{floor}\n", text)
        assert line.startswith(said)

    def test_sessions_their_defaults_and_their_time(self, project: Path) -> None:
        (project / "countersign.toml").write_text("[policy_floor]\nfollow_ups = 1\nsession_timeout = 60\n")
        file = project / "session.yaml"
        file.write_text(
            "session_timeout: 61\ndefaults:\n  base: base\n  workspace: work\n  safeguards: {follow_ups: 2}\n"
            "todos:\n  - content: x\n  - content: y\n    safeguards: {follow_ups: 3}\n"
        )
        with pytest.raises(Malformed) as caught:
            load_session(file, load_settings(project))
        assert [(problem.line, problem.field) for problem in caught.value.problems] == [
            (1, "session_timeout"),
            (5, "defaults.safeguards.follow_ups"),
            (9, "todos[1].safeguards.follow_ups"),
        ]

    def test_without_a_file_or_a_table_nothing_changes(self, project: Path) -> None:
        plain = load(project, "", "")
        policy = load_policy(load_settings(project))
        assert (policy.layers, policy.floor) == (NO_POLICY.layers, NO_POLICY.floor)
        assert load(project, "[temporal]\n[policy_floor]\n", "") == plain

    def test_dependencies_and_subtasks_are_for_sessions(self, project: Path) -> None:
        assert problems(project, "", "depends_on: [a]\nsubtasks: [{content: y}]\n") == [
            "order.yaml:4: depends_on: is for todos of a session, expected it in a session file only",
            "order.yaml:5: subtasks: is for todos of a session, expected it in a session file only",
        ]
        (project / "order.yaml").write_text("content: x\nbase: base\nworkspace: work\ndepends_on: [a]\n")
        assert load_order(project / "order.yaml", of_session=True).depends_on == ["a"]
        assert load(project, "", "worker: {command: x}\n").worker is not None

    def test_a_person_s_edit(self) -> None:
        at = todo().model_copy(update={"floor": PolicyFloor(revisions=2)})
        asked = Edit(actor=ALICE, expected_version=1, changes={"safeguards": {"revisions": 3}})
        refusal = edit(at, asked, NOON)
        assert isinstance(refusal, Refusal)
        assert refusal.code == "below_floor"
        assert refusal.reason.startswith("safeguards.revisions is 3, and the project's policy floor asks for at most 2")
        assert isinstance(edit(at, asked.model_copy(update={"changes": {"content": "y"}}), NOON), Step)


class TestAuthority:
    @pytest.mark.parametrize(
        ("text", "field"),
        [
            ("[verification_defaults]\nprobe = 'off'\n", "verification_defaults"),
            ("[thresholds]\nmax_fail_rate = 1.0\n", "thresholds"),
            ("[override_policy]\ndirect_approval_allowed = true\n", "override_policy"),
            ("[policy_floor]\nchecks = [{name = 'a', command = 'true'}]\n", "policy_floor.checks"),
            ("[policy_floor]\nprotect = ['src/']\n", "policy_floor.protect"),
            ("[policy_floor]\ndraft = 'auto'\n", "policy_floor.draft"),
            ("[policy_floor]\non_exhausted = 'fail'\n", "policy_floor.on_exhausted"),
        ],
    )
    def test_a_worker_s_file_does_not_change_orders(self, text: str, field: str, project: Path) -> None:
        (project / "countersign.toml").write_text(text)
        settings = load_settings(project)
        with pytest.raises(Malformed, match=f"countersign.toml:.: {field}: is set in a file that the worker can write"):
            refuse_authority_within(settings, project)
        refuse_authority_within(settings, project / "work")

    def test_a_stricter_floor_is_nobody_s_harm(self, project: Path) -> None:
        (project / "countersign.toml").write_text("[policy_floor]\nrevisions = 0\n[thresholds]\n")
        refuse_authority_within(load_settings(project), project)
        assert load_policy(load_settings(project)).floor.revisions == 0, "it holds"

    def test_a_session_in_whose_workspace_the_file_is(self, project: Path) -> None:
        (project / "countersign.toml").write_text("[thresholds]\nrevisions = 9\n")
        (project / "work" / "base").mkdir()
        outside = project.parent / f"{project.name}-base"
        outside.mkdir()
        file = project / "session.yaml"
        file.write_text(f"todos: [{{content: x, workspace: ., base: {outside}}}]\n")
        with pytest.raises(Malformed, match="thresholds: is set in a file that the worker can write"):
            load_session(file, load_settings(project))
