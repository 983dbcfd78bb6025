"""Holds a designer's and a strategist's answer against what was asked of them: why it may not stand, in words.

Whether a check may count, its lint says, which runs it. The shape is `designed`'s. Source: DESIGN 4, seed `pipeline`
"Designer", "Strategist".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from domain.command_criteria import ExitParams
from domain.criteria import files_of
from domain.drafts.record import Rejected
from domain.fields import quoted
from domain.roles.citations import some_of
from domain.roles.designed import DraftedCheck, Specification, TestPlan

LONGEST_SECONDS = 120.0
"""That a drafted check may take."""


def faults_of_specification(spec: Specification) -> tuple[str, ...]:
    """Why it may not stand: ids that are given twice or mean nothing, requirements that no criterion is of."""
    requirements = [one.id for one in spec.requirements]
    found = [*_twice(requirements, "requirement"), *_twice((one.id for one in spec.criteria), "criterion")]
    for criterion in spec.criteria:
        unknown = [id for id in criterion.requirements if id not in requirements]
        found += (
            f"criterion {quoted(criterion.id)} is of {quoted(id)}, and no requirement has that id" for id in unknown
        )
    covered = {id for criterion in spec.criteria for id in criterion.requirements}
    found += (
        f"no criterion is of requirement {quoted(id)}: say how one sees that it is met"
        for id in dict.fromkeys(requirements)
        if id not in covered
    )
    return some_of(found)


def faults_of_plan(plan: TestPlan, spec: Specification, rejected: Sequence[Rejected] = ()) -> tuple[str, ...]:
    """Why it may not stand. After `rejected` checks it is about exactly their criteria, else about all testable."""
    testable = [one.id for one in spec.criteria if one.testable]
    wanted = list(dict.fromkeys(one.criterion for one in rejected)) or testable
    known = wanted if rejected else [one.id for one in spec.criteria]
    told = Counter([*(check.id for check in plan.checks), *(one.criterion for one in plan.untestable)])
    found: list[str] = []
    for id in dict.fromkeys((*wanted, *(id for id in told if id in known))):
        if told[id] != 1:
            times = f"there {told[id]} times" if told[id] else "not there"
            found.append(f"criterion {quoted(id)} is {times}: one check for it, or one entry in untestable")
    for id in told:
        if id not in known:
            expected = (
                f"the criteria of the rejected checks alone: {', '.join(known)}" if rejected else ", ".join(known)
            )
            found.append(f"{quoted(id)} is no criterion that is asked for, expected {expected}")
    for check in plan.checks:
        found += _of_check(check)
    return some_of(found)


def _of_check(check: DraftedCheck) -> Iterator[str]:
    where = f"the check of {quoted(check.id)}"
    for path in files_of(check):
        yield f"{where} names the file {quoted(path)}, and there is none beside the order: put what it needs into it"
    if isinstance(check.params, ExitParams) and check.params.control:
        yield f"{where} has a control: leave it out"
    if not check.required:
        yield f"{where} is not required: leave `required` out"
    if check.timeout > LONGEST_SECONDS:
        yield f"{where} may take {check.timeout:g} s: at most {LONGEST_SECONDS:g}"


def _twice(ids: Iterable[str], what: str) -> Iterator[str]:
    return (
        f"there are {times} of {what} {quoted(id)}: each id once" for id, times in Counter(ids).items() if times > 1
    )
