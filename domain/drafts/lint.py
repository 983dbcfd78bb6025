"""Whether a drafted check may count, from what was seen of it on the base and on an empty tree. Pure; it runs nothing.

The work is no part of it: a check that was tried on the work could be fitted to it. It tells what can be told: that a
check fails where nothing is done yet does not say that it fails for the right reason. Source: issue "Designer,
Strategist", 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from domain.base import Message
from domain.checks import CheckResult, Item, Outcome, items_of
from domain.claims.volatile import of_output
from domain.command_criteria import CliIo, CommandExitZero, CommandOutput
from domain.drafts.record import Rejected
from domain.drafts.wording import Told, fault_of_words
from domain.order import Order
from domain.python_criteria import PythonCall
from domain.roles.designed import DraftedCheck, Specification

RUNS = 3
"""How often a drafted check is run on each of the two trees: the same each time, or it is not deterministic."""

MOST_SECONDS = 120.0
"""The longest limit that a drafted check has, whatever its author asked for."""

_SHOWN = 200

_OWN_FAULTS = frozenset({"cases_too_large", "case_too_large", "search_failed"})
"""Codes of a check that no tree could pass: its cases or patterns cannot be run."""

_NO_NETWORK = re.compile(
    r"could not resolve|couldn't resolve|name resolution|name or service not known|getaddrinfo"
    r"|\bEAI_AGAIN\b|\bENOTFOUND\b|network is unreachable|\bENETUNREACH\b|no route to host|no such host"
    r"|temporary failure resolving|nodename nor servname|bad address '",
    re.IGNORECASE,
)
_SHELL_SYNTAX = re.compile(
    r"^(?:/\S*/)?(?:ba|da|k|z)?sh: (?:.*syntax error|.*unterminated quoted|.*unexpected EOF|.*bad substitution)",
    re.IGNORECASE | re.MULTILINE,
)
_CODE_SYNTAX = re.compile(
    r'File "<(?:string|stdin)>", line \d+\n(?:(?!\s*File ).*\n)*?(?:Syntax|Indentation|Tab)Error\b'
)
_NO_PYTEST = re.compile(r"No module named '?pytest'?")
_NOT_FOUND = re.compile(
    r"(?:^|[ :])['\u2018\"]?([^\s:'\u2019\"]+)['\u2019\"]?:"
    r" (?:command )?(?:not found|No such file or directory|Permission denied)",
    re.IGNORECASE | re.MULTILINE,
)


class Observed(Message):
    """What came of a check's runs: on the base, and on an empty tree."""

    base: tuple[CheckResult, ...] = ()
    empty: tuple[CheckResult, ...] = ()


def bounded(check: DraftedCheck) -> DraftedCheck:
    """`check` as it may count: required, with a limit that a round can wait for."""
    return check.model_copy(update={"required": True, "timeout": min(check.timeout, MOST_SECONDS)})


def item_of(order: Order, check: DraftedCheck) -> Item:
    """What runs `check` as `order`'s own criterion would run."""
    (item,) = items_of(order.model_copy(update={"acceptance_criteria": [check]}))
    return item


def on_an_empty_tree(check: DraftedCheck) -> DraftedCheck:
    """`check` from the root: an empty tree has no other folder, and to fail for want of one would tell nothing."""
    if isinstance(check, PythonCall):
        return check
    return check.model_copy(update={"params": check.params.model_copy(update={"cwd": "."})})


def is_new(spec: Specification, criterion: str) -> bool:
    """Whether the base cannot meet the criterion yet: one of its requirements is new, or nobody says which it has."""
    known = {requirement.id: requirement.new for requirement in spec.requirements}
    named = [known[id] for one in spec.criteria if one.id == criterion for id in one.requirements if id in known]
    return any(named) or not named


def fault_before_runs(check: DraftedCheck, spec: Specification, before: Iterable[DraftedCheck] = ()) -> Rejected | None:
    """What is wrong with `check` whatever it does: its words, or that it is not the one check of a criterion.

    `before`: the checks that stand before it in the plan.
    """
    if check.id not in {criterion.id for criterion in spec.criteria}:
        return _rejected(check, ("does_not_run", "the specification has no criterion of this id: use one that it has"))
    if any(one.id == check.id for one in before):
        return _rejected(check, ("does_not_run", "its criterion has a check already: put both into one"))
    told = fault_of_words(check)
    return _rejected(check, told) if told else None


def lint(check: DraftedCheck, spec: Specification, seen: Observed) -> Rejected | None:
    """Why `check` may not count, None where it may. What could not be run is no fault of a check (`unseen`)."""
    new = is_new(spec, check.id)
    told = (
        _does_not_run(seen, new)
        or _asks_the_network((*seen.base, *seen.empty))
        or _flaky(seen.base, "the base")
        or _flaky(seen.empty, "an empty tree")
        or _vacuous(seen.empty)
        or _on_the_base(seen.base, new)
    )
    return _rejected(check, told) if told else None


def unseen(seen: Observed) -> CheckResult | None:
    """The first run that nothing was learned from, for a cause outside the check; None where all were seen."""
    return next((one for one in (*seen.base, *seen.empty) if one.outcome is Outcome.COULD_NOT_RUN), None)


def name_of(check: DraftedCheck) -> str:
    """What people know a check by: its command, or its function."""
    match check:
        case PythonCall(params=params):
            return f"{params.module}.{params.function}"
        case CommandExitZero(params=params) | CommandOutput(params=params) | CliIo(params=params):
            return params.command if len(params.command) <= _SHOWN else f"{params.command[: _SHOWN - 3]}..."


def uncovered(spec: Specification, counting: Iterable[str]) -> tuple[str, ...]:
    """The requirements that no check which counts covers; `counting`: the ids of the criteria that have one."""
    having = frozenset(counting)
    covered = {id for one in spec.criteria if one.id in having for id in one.requirements}
    return tuple(dict.fromkeys(r.id for r in spec.requirements if r.id not in covered))


def _rejected(check: DraftedCheck, told: Told) -> Rejected:
    return Rejected(criterion=check.id, check=name_of(check), code=told[0], reason=told[1])


def _does_not_run(seen: Observed, new: bool) -> Told | None:
    for one in seen.base:
        output = f"{one.stderr}\n{one.stdout}"
        if one.code in ("command_not_found", "command_not_executable") and not (new and _of_the_tree(one)):
            return "does_not_run", f"{_said(one)}: call what the image has, or a file of the work by its path"
        if _SHELL_SYNTAX.search(one.stderr):
            return "does_not_run", f"the shell does not understand it: {_last(one.stderr)}"
        if _CODE_SYNTAX.search(f"{output}\n"):
            return "does_not_run", f"the code in it does not compile: {_last(one.stderr)}"
        if one.code in _OWN_FAULTS:
            return "does_not_run", f"no tree could pass it: {one.text}"
        if one.outcome is Outcome.FAILED and _NO_PYTEST.search(output):
            return "does_not_run", "the image has no pytest: use python, or a program that the image has"
    everywhere = [one.code for one in (*seen.base, *seen.empty)]
    if everywhere and all(code == "verification_timeout" for code in everywhere):
        return "does_not_run", f"it does not end: {seen.base[0].text if seen.base else ''}; bound what it waits for"
    return None


def _of_the_tree(result: CheckResult) -> bool:
    """Whether what was not found would be a file of the tree, which the work is to bring."""
    names = [name for name in _NOT_FOUND.findall(result.stderr) if name not in ("sh", "/bin/sh")]
    return bool(names) and "/" in names[-1] and not names[-1].startswith("/")


def _asks_the_network(results: Iterable[CheckResult]) -> Told | None:
    for one in results:
        if one.outcome is Outcome.FAILED and (found := _NO_NETWORK.search(f"{one.stderr}\n{one.stdout}\n{one.text}")):
            return "needs_network", f"it asks the network ({found[0]}), and checks run without one"
    return None


def _flaky(results: tuple[CheckResult, ...], where: str) -> Told | None:
    """The same tree, several times: another outcome, exit code or result of one of them."""
    told = [(one.outcome, one.code, one.exit_code, one.tests, of_output(one.text)) for one in results]
    if len({repr(each) for each in told}) <= 1:
        return None
    ends = ", ".join(f"{one.outcome} ({one.text[:60]})" for one in results)
    return "flaky", f"{len(results)} runs on {where} came to different ends: {ends}"


def _vacuous(results: tuple[CheckResult, ...]) -> Told | None:
    if not any(one.passed for one in results):
        return None
    return "vacuous", "it passes on an empty tree, so it says nothing of the work: check what only the work can do"


def _on_the_base(results: tuple[CheckResult, ...], new: bool) -> Told | None:
    if new and any(one.passed for one in results):
        return "passes_on_base", "what it checks is new, and it passes without the work: check what the work adds"
    if not new and (failed := next((one for one in results if not one.passed), None)):
        return "fails_on_base", f"what it checks is there already, and it fails on the base: {_said(failed)}"
    return None


def _said(result: CheckResult) -> str:
    last = _last(result.stderr)
    return f"{result.text}: {last}" if last else result.text


def _last(output: str) -> str:
    """The last line that says something, cut."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1][:_SHOWN] if lines else ""
