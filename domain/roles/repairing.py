"""What a fix builder is given: the order, what may be edited, and the feedback of the round whose work it repairs.

Nothing of what the worker says about its work is in it. Source: seed `fix loop` 1 "Step D", DESIGN 4 "RetryContext".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pydantic import JsonValue

from domain.feedback import RetryContext
from domain.order import Order
from domain.roles.packet import Packet, criteria_shown, one_line, paths_shown


def repair_packet(
    todo: str, order: Order, tree: str, paths: Iterable[str], changed: Iterable[str], feedback: RetryContext
) -> Packet:
    """The whole packet. `tree`: the manifest that the checks ran on, by digest, and its `paths`.

    `changed`: which of them the work has otherwise than the base.
    """
    fields: dict[str, JsonValue] = {
        "todo_id": todo,
        "todo_content": order.content,
        "domain": order.domain,
        "acceptance_criteria": criteria_shown(order),
        "checks": [
            {"name": check.name, "command": check.command, "cwd": check.cwd, "required": check.required}
            for check in order.verification.checks
        ],
        "repo_path": f"snapshot:{tree}",
        "paths": paths_shown(paths),
        "files_changed": paths_shown(changed),
        "scope": [*_scope(order)],
        "feedback": _feedback(feedback),
    }
    return Packet(fields=fields, pieces=())


def _scope(order: Order) -> Iterator[str]:
    """What may be edited, a sentence each; patterns are gitignore's."""
    scope, tests, inputs = order.scope, order.verification.tests, order.environment.inputs
    yield f"Files that match one of {_listed(scope.allow)} may be edited, if nothing below takes them out."
    if scope.deny:
        yield f"Files that match one of {_listed(scope.deny)} may not."
    yield (
        "Tests, and what configures tests, linters, builds and continuous integration, are protected, and so are the"
        " scripts that the checks run as tests: they may not be edited."
    )
    if scope.protect:
        yield f"So are files that match one of {_listed(scope.protect)}."
    if scope.unprotect:
        yield f"Not protected, whatever else is said, are files that match one of {_listed(scope.unprotect)}."
    if tests:
        yield f"The order's own tests are the order's: {_listed(tests)}."
    if inputs:
        yield f"What the environment is set up from may not be edited: {_listed(inputs)}."


def _feedback(given: RetryContext) -> dict[str, JsonValue]:
    """As the worker would be told it, texts line by line.

    Where the claim was contradicted is left out: it is about what was said of the work.
    """
    return {
        "human_feedback": given.human_feedback,
        "specific_failures": [*given.specific_failures],
        "verifier_feedback": given.verifier_feedback,
        "outputs": {name: [*text.split("\n")] for name, text in given.outputs.items()},
        "restored_paths": paths_shown(given.restored_paths),
        "dropped_paths": [{"path": one.path, "reason": one.reason} for one in given.dropped_paths],
        "prior_attempts": [*given.prior_attempts],
        "prior_diff": [*given.prior_diff.split("\n")],
    }


def _listed(patterns: Iterable[str]) -> str:
    return ", ".join(repr(one_line(pattern)) for pattern in patterns)
