"""How a round looks at its workspace: what a freeze is asked for. Pure, so that a command asks for exactly the same."""

from __future__ import annotations

import posixpath

from domain.checks import items_of
from domain.criteria import GitCommitExists
from domain.messages import FreezeInput, RoundInput


def freeze_input(request: RoundInput, frozen_base: str = "") -> FreezeInput:
    """The freeze of the round `request`. `frozen_base` as in `FreezeInput`."""
    order = request.order
    commits = any(isinstance(item.criterion, GitCommitExists) for item in items_of(order))
    return FreezeInput(
        round=request.workflow_id,
        workspace=order.workspace,
        base=order.resolved_base,
        include=tuple(order.snapshot.include),
        commits=order.verification.asks_auditor or commits,
        secrets=tuple(order.environment.secrets),
        order_folder=posixpath.dirname(request.order_file),
        order_files=order.files_beside,
        frozen_base=frozen_base,
        beside=request.beside,
    )
