"""Waits for what becomes of a claim, and says it. The claim stands whether anybody waits or not."""

from __future__ import annotations

import asyncio
import time

from domain.read_model import TodoView
from domain.status import TodoStatus
from entrypoints.cli import asking, common
from entrypoints.cli.todo_show import facts_of, show_todo
from entrypoints.host_files import Files
from entrypoints.imports import without_collecting

POLL_SECONDS = 0.3
HOST_SECONDS = 5.0


def wait_for_verdict(session: str, todo: str) -> TodoView:
    """The todo once its claim was judged, or the auditor asks. A host that dies meanwhile is started again.

    Raises `Unavailable` when the trail cannot be read, or the host does not come back.
    """
    trail = common.open_trail()
    looked = time.monotonic()
    while True:
        (view,) = trail.state(session, todo).todos
        if view.status is not TodoStatus.CLAIMED or view.question:
            return view
        if time.monotonic() - looked > HOST_SECONDS:
            _keep_up()
            looked = time.monotonic()
        time.sleep(POLL_SECONDS)


def _keep_up() -> None:
    settings = common.settings()
    if not settings.remote and Files(settings.state_dir).alive() is None:
        asyncio.run(without_collecting("entrypoints.host_state").ensure_up(settings))


def tell_verdict(view: TodoView, *, as_json: bool) -> int:
    """Say where the todo stands; the exit code, as `verify` has it. An open question is no verdict: 1."""
    if as_json:
        common.emit_json(facts_of(view))
    else:
        show_todo(view)
    return asking.exit_code_of(view)
