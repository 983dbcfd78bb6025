"""How a round ends, and how the fix loop of one that stands alone begins. A todo begins its own.

Source: DESIGN 4 "Vocabulary", seed `fix loop` 1 and 2.
"""

from __future__ import annotations

from temporalio import workflow
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError

with workflow.unsafe.imports_passed_through():
    from domain import fixing
    from domain.confidence import confidence_of, remarks
    from domain.facts import passed
    from domain.fix_messages import FixLoopInput
    from domain.messages import FiledReport, RoundInput, RoundRecord, RoundResult
    from workflows import options
    from workflows.board import summary_of
    from workflows.children import found_by


def result_of(record: RoundRecord, filed: FiledReport) -> RoundResult:
    """What the round answers."""
    results, scope, decision = record.results, record.scope, record.decision
    not_passed, all_passed = passed(record)
    answered = RoundResult(
        decision=decision,
        report=filed.report,
        retry_context=filed.retry_context,
        not_passed=not_passed,
        passed=all_passed,
        timed_out=any(result.code == "verification_timeout" for result in results),
    )
    if not record.input.order.fix_loop.enabled:
        return answered
    seen = {
        "confidence": confidence_of(decision, results, record.notices),
        "remarks": remarks(decision, results),
        "frozen": record.frozen,
        "scope": scope,
    }
    return answered.model_copy(update=seen)


async def followed_by_fixes(request: RoundInput, result: RoundResult) -> RoundResult:
    """The result, with the id of the fix loop that goes on from it: only of a round of a worker's that stands alone."""
    if request.todo_workflow or request.loop or not fixing.begins(request.order, result):
        return result
    loop = FixLoopInput(round=request, result=result, budget=fixing.budget_of(request.order))
    try:
        await workflow.start_child_workflow(
            "FixLoopWorkflow",
            loop,
            id=loop.workflow_id,
            task_queue=options.WORKFLOWS_QUEUE,
            id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
            parent_close_policy=workflow.ParentClosePolicy.ABANDON,
            search_attributes=found_by(request),
            static_summary=summary_of(request.order.title),
        )
    except WorkflowAlreadyStartedError:
        workflow.logger.warning("there is a workflow %r that this round did not start", loop.workflow_id)
        return result
    return result.model_copy(update={"fix": loop.workflow_id})
