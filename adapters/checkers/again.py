"""Judges stored findings again, from what was seen then: nothing is run and nobody is asked.

What cannot be judged from what is stored is left to the caller, who has the finding itself: answers of code hosts, and
what hung on the time that a search took.
"""

from __future__ import annotations

import base64
from typing import Any

from adapters.checkers import api_response, http_response, pytest_check, python_call
from adapters.checkers.cli_io import CaseResult, all_cases
from adapters.checkers.commands import judge_output
from adapters.checkers.exit_zero import by_exit_code
from adapters.checkers.files import FileContainsChecker, FileExistsChecker
from adapters.checkers.git_commits import GitCommitExistsChecker
from adapters.checkers.remote import Answer
from domain.checks import Item, Observation, Outcome
from domain.command_criteria import CliIo, CommandExitZero, CommandOutput, Pytest
from domain.controls import ControlRuns, judge
from domain.criteria import ApiResponse, FileContains, FileExists, GitCommitExists, HttpResponse
from domain.order import Resources
from domain.ports import CheckContext, EvidenceStore, Finding, Served
from domain.python_criteria import PythonCall
from domain.suite import doctests
from domain.suite.counted import beside

Outcomes = tuple[Outcome, str]
"""An outcome and its code."""

LEAST_SECONDS = 60.0
"""For a search: a machine that is slower today must not look like a drift."""

_TIMED = frozenset({"search_failed", "verification_timeout"})


class Again:
    """Judges findings on blobs of `store`."""

    def __init__(self, store: EvidenceStore) -> None:
        self._store = store

    async def judge(self, item: Item, finding: Finding, tree: str) -> Outcomes | None:
        """What `finding` comes to by what was seen on `tree`; None where what is stored does not tell.

        Raises `Unavailable` for a blob that is missing or damaged.
        """
        criterion = item.criterion
        observed = _observation(finding.seen.get("observation"))
        if isinstance(criterion, CommandExitZero) and observed:
            return _with_its_control(criterion, observed, finding.seen)
        if isinstance(criterion, Pytest):
            return pytest_check.again(criterion, finding)
        if finding.code in _TIMED:
            return None
        match criterion:
            case CommandOutput() if observed:
                return (await judge_output(observed, criterion.params, _least(criterion.timeout)))[:2]
            case PythonCall() if observed:
                return python_call.judge_again(criterion, finding.seen)
            case CliIo():
                return await _cases(criterion, finding.seen)
            case HttpResponse() if "probe" in finding.seen:
                return await _served(criterion, finding.seen)
            case ApiResponse() if isinstance(finding.seen.get("answer"), dict):
                return await _answered(criterion, finding.seen["answer"])
            case FileExists() | FileContains() | GitCommitExists():
                return await self._looked_up(item, finding, tree)
        return None

    async def _looked_up(self, item: Item, finding: Finding, tree: str) -> Outcomes:
        """What the stored tree, or the stored commits, say by themselves."""
        checkers = (
            FileExistsChecker(self._store),
            FileContainsChecker(self._store),
            GitCommitExistsChecker(self._store),
        )
        checker = next(checker for checker in checkers if checker.type == item.criterion.type)
        commits = str(finding.seen.get("commits", ""))
        context = CheckContext(round="", tree=tree, image="", resources=Resources(), commits=commits)
        patient = item.criterion.model_copy(update={"timeout": _least(item.criterion.timeout)})
        found = await checker.check(item.model_copy(update={"criterion": patient}), context)
        return found.outcome, found.code


def _with_its_control(criterion: CommandExitZero, observed: Observation, seen: dict[str, Any]) -> Outcomes:
    verdict = by_exit_code(observed, criterion.params.command, criterion.timeout)[:2]
    stored, lost, base = seen.get("control"), seen.get("lost"), _observation(seen.get("on_base"))
    if verdict[0] is Outcome.PASSED and isinstance(lost, dict) and (without := doctests.verdict(lost)):
        return without[:2]
    if verdict[0] is not Outcome.PASSED:
        return verdict
    objection = judge(ControlRuns.model_validate(stored))[1] if isinstance(stored, dict) else None
    objection = objection or (beside(observed, base, criterion.timeout) if base else None)
    return objection[:2] if objection else verdict


async def _cases(criterion: CliIo, seen: dict[str, Any]) -> Outcomes | None:
    """The first case that did not pass, each judged again."""
    if not isinstance(seen.get("cases"), list):
        return None
    results = [CaseResult.model_validate(case) for case in seen["cases"]]
    asked = all_cases(criterion, seen)
    for result in results:
        outcome, code = result.outcome, result.code
        if result.observation and code not in _TIMED:
            case = asked[result.case - 1]
            outcome, code, _ = await judge_output(result.observation, case, _least(criterion.timeout))
        if outcome is not Outcome.PASSED:
            return outcome, code
    whole = len(results) == len(asked)
    return (Outcome.PASSED, "ok") if whole else (Outcome.FAILED, "cases_missing")


async def _served(criterion: HttpResponse, seen: dict[str, Any]) -> Outcomes | None:
    server, probe = _observation(seen.get("server")), _observation(seen.get("probe"))
    if server is None or probe is None:
        return None
    served = Served(probe=probe, server=server, ended=bool(seen.get("server_ended")))
    document = http_response.document_in(probe.stdout)
    return (await http_response.judge(criterion.params, served, document, _least(criterion.timeout)))[:2]


async def _answered(criterion: ApiResponse, stored: Any) -> Outcomes:
    body = base64.b64decode(stored["body_base64"]) if "body_base64" in stored else stored.get("body", "").encode()
    answer = Answer(
        url=criterion.params.url,
        asked=(),
        asked_at="",
        status=stored["status"],
        headers={},
        body=body,
        truncated=stored.get("truncated", False),
        stopped=stored.get("stopped", ""),
        target=stored.get("target", ""),
    )
    return (await api_response.judge(criterion.params, answer, _least(criterion.timeout)))[:2]


def _observation(stored: Any) -> Observation | None:
    return Observation.model_validate(stored) if isinstance(stored, dict) else None


def _least(limit: float) -> float:
    return max(limit, LEAST_SECONDS)
