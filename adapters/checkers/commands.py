"""Checks what a command prints, compared here and not where it ran; asks the sandbox for a command, for every checker.

Codes: those of `domain.checks.classify`, `output_mismatch`, `output_truncated`, `search_failed`.
"""

from __future__ import annotations

from adapters.checkers.facts import seen
from adapters.checkers.search import SearchFailed, search
from domain.checks import Item, Observation, Outcome, classify
from domain.command_criteria import CliCase, CommandOutput, CommandOutputParams, CommandParams
from domain.ports import CheckContext, Finding, RunRequest, Sandbox

SHOWN = 200  # characters of an output in a text
BEFORE = 40  # of them before the first difference

Expected = CommandOutputParams | CliCase
Verdict = tuple[Outcome, str, str]


class CommandOutputChecker:
    """A command prints what it should, exactly or by pattern, and ends with the exit code that is expected."""

    type = "command_output"

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def check(self, item: Item, context: CheckContext) -> Finding:
        """What the exit code and the outputs say. Raises `Unavailable`."""
        criterion = item.criterion
        assert isinstance(criterion, CommandOutput)
        observed = await self._sandbox.run(request(item, context, criterion.params))
        verdict = await judge_output(observed, criterion.params, criterion.timeout)
        return finding(item, context, observed, verdict, out_of_process=True)


def request(item: Item, context: CheckContext, params: CommandParams, *, tree: str = "", name: str = "") -> RunRequest:
    """`params` as a request to the sandbox, whose key is the item's own in all rounds, on each tree and each time.

    `tree` is another one than the context's, by digest; `name` tells runs on the same tree apart.
    """
    tree = tree or context.tree
    again = f"again-{context.run}" if context.run else ""
    return RunRequest(
        key="/".join(part for part in (context.round, item.id, tree[:16], name, again) if part),
        round=context.round,
        tree=tree,
        image=context.image,
        command=params.command,
        cwd=params.cwd,
        env=params.env,
        build=context.build,
        build_rules=context.build_rules,
        timeout=item.criterion.timeout,
        resources=context.resources,
    )


async def judge_output(observed: Observation, expected: Expected, limit: float) -> Verdict:
    """Outcome, code and text of a command whose exit code and outputs are expected.

    `limit` in seconds is the one that the command had, and that of each search.
    """
    verdict = classify(observed, limit, expected.exit_code)
    if verdict[0] is not Outcome.PASSED:
        return verdict
    return _compared(observed, expected) or await _searched(observed, expected, limit) or verdict


def finding(
    item: Item, context: CheckContext, observed: Observation, verdict: Verdict, *, out_of_process: bool
) -> Finding:
    """`verdict` (outcome, code, text) with what was observed."""
    outcome, code, text = verdict
    return Finding(
        outcome=outcome,
        code=code,
        text=text,
        exit_code=observed.exit_code,
        stdout=observed.stdout,
        stderr=observed.stderr,
        duration_ms=observed.duration_ms,
        out_of_process=out_of_process,
        seen=seen(item, context, observation=observed.model_dump(mode="json")),
    )


def _compared(observed: Observation, params: Expected) -> Verdict | None:
    """The first exact output that is not as expected."""
    for name, expected, got in (
        ("stdout", params.stdout, observed.stdout),
        ("stderr", params.stderr, observed.stderr),
    ):
        if expected is None:
            continue
        if observed.truncated:
            text = f"the output is longer than what is kept of it, so {name} cannot be compared exactly"
            return Outcome.FAILED, "output_truncated", text
        if got != expected:
            return Outcome.FAILED, "output_mismatch", difference(name, expected, got)
    return None


async def _searched(observed: Observation, params: Expected, limit: float) -> Verdict | None:
    """The first pattern that the output, or what is kept of it, does not match."""
    for name, pattern, got in (
        ("stdout", params.stdout_pattern, observed.stdout),
        ("stderr", params.stderr_pattern, observed.stderr),
    ):
        if pattern is None:
            continue
        try:
            match = await search(pattern, got.encode(), limit)
        except TimeoutError:
            text = f"still searching {name} for {pattern!r:.300} after {limit:g} s"
            return Outcome.FAILED, "verification_timeout", text
        except SearchFailed as error:
            text = f"searching {name} for {pattern!r:.300} ended without an answer: {error}"
            return Outcome.FAILED, "search_failed", text
        if match is None:
            kept = " in what is kept of it" if observed.truncated else ""
            text = f"{name} has no match of {pattern!r:.300}{kept}: {got[-SHOWN:]!r}"
            return Outcome.FAILED, "output_mismatch", text
    return None


def difference(name: str, expected: str, got: str) -> str:
    """How two texts differ, escaped, both shown from a little before the first difference where they are long."""
    if max(len(expected), len(got)) <= SHOWN:
        return f"{name}: expected {expected!r}, seen {got!r}"
    pairs = enumerate(zip(expected, got, strict=False))
    place = next((n for n, (a, b) in pairs if a != b), min(len(expected), len(got)))
    start = max(0, place - BEFORE)
    end = start + SHOWN
    return f"{name} differs at character {place}: expected ...{expected[start:end]!r}, seen ...{got[start:end]!r}"
