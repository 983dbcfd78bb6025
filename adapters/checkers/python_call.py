"""Checks what a function returns or raises: it runs in containers, values are compared here. Types are strict.

Arguments go in and plain data comes out; no expected value ever enters. So a tuple is no list, True is not 1, 1 is not
1.0, and an instance of a subclass of int equals nothing.

Codes: those of `domain.checks.classify`; `wrong_result` (returned or raised something else), `import_failed`,
`no_function`, `no_result` (the process ended, was killed or was talked over before it answered), `result_too_large`,
`cases_too_large`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adapters.checkers import plain_data
from adapters.checkers.calls import COMMAND, PART, PARTS, CaseResult, Document, answer_of, document_in, environment
from adapters.checkers.commands import Verdict, finding, request
from adapters.checkers.facts import seen
from adapters.checkers.references import References
from adapters.checkers.trials import (
    Failure,
    Raises,
    Returns,
    Trial,
    failure,
    out_of_order,
    reference_calls,
    second,
    seeds,
    trials,
)
from domain.checks import Item, Observation, Outcome, classify
from domain.command_criteria import CommandParams
from domain.generation import derived_seed
from domain.ports import CheckContext, EvidenceStore, Finding, RunRequest, Sandbox
from domain.python_criteria import PythonCall, PythonCallParams

LEAST = 0.1  # seconds that are always left for the second calls

TOO_LARGE: Verdict = (
    Outcome.FAILED,
    "cases_too_large",
    f"the arguments of all cases together are more than {PART * PARTS} bytes of JSON",
)


class PythonCallChecker:
    """A function does what each case and each property says, compared outside the process that runs it."""

    type = "python_call"

    def __init__(self, sandbox: Sandbox, store: EvidenceStore) -> None:
        self._sandbox = sandbox
        self._references = References(sandbox, store)

    async def check(self, item: Item, context: CheckContext) -> Finding:
        """What became of the cases: all first calls in one container, all second ones in another. Raises `Unavailable`.

        The criterion's limit is for both together; a reference has as much time again.
        """
        criterion = item.criterion
        assert isinstance(criterion, PythonCall)
        params = criterion.params
        derived = derived_seed(context.tree, item.id, context.order_files)
        expected = await self._expected(item, context, params, derived)
        asked = trials(params, derived, expected)
        command = _command(params, asked)
        if command is None:
            return _unasked(item, context)
        first = await self._sandbox.run(request(item, context, command))
        again = None
        if (more := list(follow_ups(asked, first, criterion.timeout).values())) and (command := _command(params, more)):
            again = await self._sandbox.run(_second(request(item, context, command), first))
        verdict, culprit = judge(asked, first, criterion.timeout, again)
        found = finding(item, context, first, verdict, out_of_process=True)
        facts = _facts(derived, expected, again)
        used = seeds(params, derived)
        return found.model_copy(
            update={
                "stdout": culprit.stdout if culprit else "",
                "stderr": culprit.stderr if culprit else found.stderr,
                "duration_ms": first.duration_ms + (again.duration_ms if again else 0),
                "seed": used[0] if used else None,
                "seen": {**found.seen, **(facts if used else {})},
            }
        )

    async def _expected(
        self, item: Item, context: CheckContext, params: PythonCallParams, derived: int
    ) -> Sequence[Returns | Raises]:
        if params.generate is None:
            return ()
        calls = reference_calls(params, derived)
        return await self._references.of_calls(item, context, params.generate.reference, calls)


def judge_again(criterion: PythonCall, stored: Mapping[str, Any]) -> tuple[Outcome, str]:
    """Outcome and code from what a finding's `seen` has."""
    expected = [
        Raises(entry["raises"]) if "raises" in entry else Returns(plain_data.decode(entry["returns"]))
        for entry in stored.get("expected", [])
    ]
    asked = trials(criterion.params, stored.get("seed", 0), expected)
    again = stored.get("second")
    verdict, _ = judge(
        asked,
        Observation.model_validate(stored["observation"]),
        criterion.timeout,
        Observation.model_validate(again) if again else None,
    )
    return verdict[:2]


def judge(
    asked: Sequence[Trial], first: Observation, limit: float, again: Observation | None = None
) -> tuple[Verdict, CaseResult | None]:
    """Outcome, code and text from what was observed, and the case that the text is about. Pure; `limit` in seconds.

    `again` is what was observed of the calls that `follow_ups` has, None where they were too large to be asked.
    """
    results, verdict = _results(asked, first, limit)
    if verdict:
        return verdict, None
    answers = [answer_of(result) for result in results]
    failures = out_of_order(asked, answers)
    failures |= {n: f for n, (t, a) in enumerate(zip(asked, answers, strict=True)) if (f := failure(t, a))}
    named = dict(enumerate(asked))
    if more := follow_ups(asked, first, limit):
        if again is None:
            return TOO_LARGE, None
        named |= more
        further, verdict = _results(list(more.values()), again, limit)
        if verdict:
            return verdict, None
        results = list(results)
        for number, result in zip(more, further, strict=True):
            results[number] = result
            if told := failure(more[number], answer_of(result)):
                failures[number] = told
    return _counted(named, results, failures)


def follow_ups(asked: Sequence[Trial], first: Observation, limit: float) -> dict[int, Trial]:
    """The second calls, by the number of the trial that each belongs to; none where the first ones tell nothing."""
    results, verdict = _results(asked, first, limit)
    if verdict:
        return {}
    found = {n: second(t, answer_of(r)) for n, (t, r) in enumerate(zip(asked, results, strict=True))}
    return {number: trial for number, trial in found.items() if trial}


def _results(
    asked: Sequence[Trial], observed: Observation, limit: float
) -> tuple[Sequence[CaseResult], Verdict | None]:
    """What the driver wrote of each call; or why that is nothing."""
    verdict = classify(observed, limit)
    document = document_in(observed.stdout)
    if verdict[1] == "verification_timeout" and document and (trial := _at(asked, document)):
        return (), (verdict[0], verdict[1], f"{trial}: {verdict[2]}")
    if verdict[0] is not Outcome.PASSED:
        return (), verdict
    if document is None:
        text = "what was written to standard output is not the one document that the driver writes"
        return (), (Outcome.FAILED, "no_result", text)
    if document.full:
        text = f"the results of {len(asked)} cases together are more than is kept of them"
        return (), (Outcome.FAILED, "result_too_large", text)
    if document.running is not None or len(document.results) != len(asked):
        text = f"results for {len(document.results)} of {len(asked)} cases: the run was cut short"
        return (), (Outcome.FAILED, "no_result", text)
    return document.results, None


def _at(asked: Sequence[Trial], document: Document) -> Trial | None:
    number = document.running
    return asked[number] if number is not None and 0 <= number < len(asked) else None


def _counted(
    asked: Mapping[int, Trial], results: Sequence[CaseResult], failures: Mapping[int, Failure]
) -> tuple[Verdict, CaseResult | None]:
    count = f"{len(results) - len(failures)} of {len(results)} cases passed"
    if not failures:
        return (Outcome.PASSED, "ok", count), None
    number = min(failures)
    code, text = failures[number]
    return (Outcome.FAILED, code, f"{asked[number]}: {text}; {count}"), results[number]


def _command(params: PythonCallParams, asked: Sequence[Trial]) -> CommandParams | None:
    env = environment(params.path, [trial.call for trial in asked])
    return None if env is None else CommandParams(command=COMMAND, env=env)


def _second(asked: RunRequest, first: Observation) -> RunRequest:
    left = max(LEAST, asked.timeout - first.duration_ms / 1000)
    return asked.model_copy(update={"key": f"{asked.key}/second", "timeout": left})


def _unasked(item: Item, context: CheckContext) -> Finding:
    outcome, code, text = TOO_LARGE
    return Finding(outcome=outcome, code=code, text=text, out_of_process=True, seen=seen(item, context))


def _facts(derived: int, expected: Sequence[Returns | Raises], again: Observation | None) -> dict[str, Any]:
    """What the random cases follow from: enough to make them again."""
    told = [{"raises": e.name} if isinstance(e, Raises) else {"returns": plain_data.encode(e.value)} for e in expected]
    return {"seed": derived, "expected": told, "second": again.model_dump(mode="json") if again else None}
