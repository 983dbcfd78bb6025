"""The lint of drafted checks over whatever was seen: it always has a word, the same one, and lets through only what
behaves as a check of its requirements must."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from domain.checks import CheckResult, Outcome
from domain.drafts.effective import joining, numbered
from domain.drafts.lint import Observed, fault_before_runs, lint, on_an_empty_tree, uncovered
from domain.drafts.shell import parts_in
from domain.order import Order
from domain.roles.designed import DraftedCheck, Specification

CHECK: TypeAdapter[DraftedCheck] = TypeAdapter(DraftedCheck)
OUTPUTS = (
    "",
    "sh: 1: x: not found\n",
    "sh: 1: ./x: not found\n",
    "Could not resolve host",
    'File "<string>", line 1\n',
)
CODES = ("ok", "exit_code", "command_not_found", "command_not_executable", "verification_timeout", "output_mismatch")
IDS = tuple(f"AC-{n}" for n in range(1, 6))

results = st.builds(
    CheckResult,
    id=st.just("AC-1"),
    spelling=st.just("criterion"),
    type=st.just("command_exit_zero"),
    outcome=st.sampled_from([Outcome.PASSED, Outcome.FAILED]),
    code=st.sampled_from(CODES),
    exit_code=st.sampled_from([None, 0, 1, 126, 127]),
    stderr=st.sampled_from(OUTPUTS),
    text=st.sampled_from(["", "exit code 1", "case 1: returned 3"]),
)
runs = st.lists(results, max_size=3).map(tuple)
same = st.builds(lambda one, n: (one,) * n, results, st.integers(1, 3))
observed = st.builds(Observed, base=runs | same, empty=runs | same)
commands = st.text(st.sampled_from("ab ;&|()\"'`$<>\n#=-/.:0"), min_size=1).filter(str.strip) | st.sampled_from(
    ["true", "python x.py", "curl x", "a || true", "test $RANDOM = 1"]
)


def shell(criterion: str, command: str) -> DraftedCheck:
    return CHECK.validate_python({"id": criterion, "type": "command_exit_zero", "params": {"command": command}})


@st.composite
def specifications(draw: st.DrawFn) -> Specification:
    new = draw(st.lists(st.booleans(), min_size=1, max_size=4))
    requirements = [{"id": f"R{n}", "text": "r", "new": each} for n, each in enumerate(new, 1)]
    of = st.lists(st.sampled_from([each["id"] for each in requirements] + ["R99"]), min_size=1, max_size=3)
    ids = draw(st.lists(st.sampled_from(IDS), min_size=1, max_size=6))
    criteria: list[Any] = [
        {"id": id, "text": draw(st.sampled_from(["t", " "])), "requirements": draw(of)} for id in ids
    ]
    return Specification.model_validate({"summary": "s", "requirements": requirements, "criteria": criteria})


@given(specifications(), observed, st.sampled_from(IDS))
def test_what_counts_fails_on_nothing_and_is_as_its_requirements_say(
    spec: Specification, seen: Observed, id: str
) -> None:
    check = shell(id, "./run")
    rejected = lint(check, spec, seen)
    assert rejected == lint(check, spec, seen)
    if rejected is not None:
        assert (rejected.criterion, rejected.check) == (id, "./run")
        assert rejected.reason
        return
    assert not any(one.passed for one in seen.empty)
    assert len({one.outcome for one in seen.base}) <= 1
    news = {requirement.id: requirement.new for requirement in spec.requirements}
    named = [news[r] for c in spec.criteria if c.id == id for r in c.requirements if r in news]
    new = any(named) or not named
    assert all(one.passed is not new for one in seen.base)


@given(commands)
def test_any_command_is_read_to_its_end(command: str) -> None:
    spec = Specification.model_validate(
        {
            "summary": "s",
            "requirements": [{"id": "R1", "text": "r"}],
            "criteria": [{"id": "AC-1", "text": "t", "requirements": ["R1"]}],
        }
    )
    check = shell("AC-1", command)
    assert fault_before_runs(check, spec) == fault_before_runs(check, spec)
    assert all(program or words for program, words in parts_in(command))
    assert on_an_empty_tree(check).id == "AC-1"


@given(specifications(), st.sets(st.sampled_from(IDS)), st.lists(st.sampled_from(IDS), unique=True))
def test_every_criterion_joins_once_and_an_order_takes_them(
    spec: Specification, taken: set[str], having: list[str]
) -> None:
    mine = [{"id": id, "type": "subjective", "description": "d"} for id in sorted(taken)]
    order = Order.model_validate({"content": "x", "acceptance_criteria": mine})
    given_ids = numbered(spec, order)
    joined = joining(given_ids, [shell(id, "./run") for id in having])
    assert len(joined) == len(spec.criteria)
    whole = Order.model_validate(order.with_criteria(joined).model_dump(mode="json"))
    assert [c.id for c in whole.acceptance_criteria] == [*sorted(taken), *(c.id for c in joined)]
    assert all(c.required for c in joined)
    checked = {c.id for c in joined if c.type == "command_exit_zero"}
    assert checked == {c.id for c in joined} & set(having)
    assert set(uncovered(given_ids, checked)) <= {r.id for r in spec.requirements}
