"""Rounds as children of what asks for them, and what any child is found by. Source: DESIGN 6 "Search attributes"."""

from __future__ import annotations

from temporalio import workflow
from temporalio.common import SearchAttributePair, TypedSearchAttributes, WorkflowIDReusePolicy

with workflow.unsafe.imports_passed_through():
    from domain.messages import RoundInput, RoundResult
    from workflows import options
    from workflows.board import summary_of

RoundHandle = workflow.ChildWorkflowHandle[object, RoundResult]


async def start_round(request: RoundInput) -> RoundHandle:
    """Start the round. A parent that ends by force takes it along, which then still cleans up.

    Raises `WorkflowAlreadyStartedError` where its number is taken.
    """
    return await workflow.start_child_workflow(
        "VerificationWorkflow",
        request,
        id=request.workflow_id,
        task_queue=options.WORKFLOWS_QUEUE,
        result_type=RoundResult,
        id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
        cancellation_type=workflow.ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
        parent_close_policy=workflow.ParentClosePolicy.REQUEST_CANCEL,
        search_attributes=found_by(request),
        static_summary=summary_of(request.order.title),
    )


def found_by(request: RoundInput) -> TypedSearchAttributes:
    """What a workflow about the round's todo is found by from its start."""
    return TypedSearchAttributes(
        [
            SearchAttributePair(options.SESSION_ATTRIBUTE, request.session),
            SearchAttributePair(options.DOMAIN_ATTRIBUTE, request.order.domain),
        ]
    )
