"""Starts the workflows that tell people, as children that outlive what started them. It waits for none of them."""

from __future__ import annotations

from temporalio import workflow
from temporalio.common import SearchAttributePair, TypedSearchAttributes, WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError, WorkflowAlreadyStartedError

with workflow.unsafe.imports_passed_through():
    from domain.notifications import NotificationInput, heading
    from workflows import options
    from workflows.board import summary_of


async def start_telling(request: NotificationInput) -> None:
    """Start it; return when the server has it."""
    try:
        await workflow.start_child_workflow(
            "NotificationWorkflow",
            request,
            id=request.workflow_id,
            task_queue=options.WORKFLOWS_QUEUE,
            id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
            cancellation_type=workflow.ChildWorkflowCancellationType.ABANDON,
            parent_close_policy=workflow.ParentClosePolicy.ABANDON,
            search_attributes=TypedSearchAttributes(
                [SearchAttributePair(options.SESSION_ATTRIBUTE, request.notice.session)]
            ),
            static_summary=summary_of(f"{request.notice.kind}: {heading(request.notice)}"),
        )
    except WorkflowAlreadyStartedError:
        workflow.logger.warning("there is a workflow %r already: people are not told twice", request.workflow_id)


async def end_telling(workflow_id: str) -> None:
    """Let nobody be reminded any more. One that has ended need not know."""
    try:
        await workflow.get_external_workflow_handle(workflow_id).signal("over")
    except ApplicationError as error:
        workflow.logger.info("%s is over already: %s", workflow_id, error)
