"""A session as people see it: its todos as a tree, one line a todo; live on a terminal, else a line a change."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

from rich.console import Console, Group
from rich.text import Text

from domain.messages import Progress
from domain.read_model import TodoView
from domain.status import SessionStatus, TodoStatus
from entrypoints.cli.output import visible
from entrypoints.cli.watching import Watching
from entrypoints.standings import Standing, in_tree_order, time_left

MARKS: dict[TodoStatus, tuple[str, str]] = {
    TodoStatus.PENDING: ("·", "dim"),
    TodoStatus.IN_PROGRESS: ("▸", "cyan"),
    TodoStatus.CLAIMED: ("▹", "cyan"),
    TodoStatus.VERIFIED: ("✓", "green"),
    TodoStatus.NEEDS_HUMAN: ("!", "bold yellow"),
    TodoStatus.BLOCKED: ("?", "yellow"),
    TodoStatus.FAILED: ("✗", "red"),
    TodoStatus.CANCELLED: ("-", "dim"),
}
SESSION_STYLES: dict[SessionStatus, str] = {
    SessionStatus.RUNNING: "cyan",
    SessionStatus.PAUSED: "bold yellow",
    SessionStatus.STOPPED: "red",
    SessionStatus.TIMED_OUT: "red",
    SessionStatus.COMPLETED: "green",
}
UNFINISHED = frozenset({TodoStatus.PENDING, TodoStatus.IN_PROGRESS, TodoStatus.CLAIMED, TodoStatus.BLOCKED})
TITLE_CHARACTERS = 60
MOST_LINES = 40
"""Of a live tree; a screen holds no more, so those that are done or have not begun are counted instead."""


def nested(standing: Standing) -> dict[str, Any]:
    """The same as JSON: the session, and its todos with their subtasks in them."""
    roots: list[dict[str, Any]] = []
    way: list[dict[str, Any]] = []
    for depth, view in in_tree_order(standing.todos):
        made = {
            **view.model_dump(mode="json", exclude={"content"}),
            "time_left": time_left(view, standing.now, standing.halts),
            "node": standing.nodes.get(view.todo, ""),
            "fix_loop": standing.loops.get(view.todo, ""),
            "subtasks": [],
        }
        (way[depth - 1]["subtasks"] if depth else roots).append(made)
        way[depth:] = [made]
    return {"session": standing.session.model_dump(mode="json"), "todos": roots}


def running_nodes(progress: Progress) -> str:
    """What of a round runs now: its items, else its nodes, and why it stands still if it does."""
    running = [step for step in progress.steps if step.status == "running"]
    named = [step.id for step in running if step.parent] or [step.id for step in running]
    return f"waits: {progress.waits}" if progress.waits else ", ".join(named)


def headline(standing: Standing) -> Text:
    """The session in a line: where it stands, why it is paused, how its todos stand, how long it has."""
    session = standing.session
    text = Text(f"session {visible(session.session)}  ", "bold")
    text.append(session.status.replace("_", " "), SESSION_STYLES[session.status])
    if session.status is SessionStatus.PAUSED and session.paused_for:
        by_human = session.paused_for == "human"
        text.append(f" by {'a human' if by_human else f'the escalation of {visible(session.paused_for)}'}", "yellow")
    counts: defaultdict[TodoStatus, int] = defaultdict(int)
    for view in standing.todos:
        counts[view.status] += 1
    told = ", ".join(f"{counts[status]} {status.replace('_', ' ')}" for status in TodoStatus if counts[status])
    if told:
        text.append(f"  {told}", "dim")
    if session.deadline is not None and session.ended_at is None:
        text.append(f"  {duration((session.deadline - standing.now).total_seconds())} left", "dim")
    return text


def line(view: TodoView, standing: Standing, depth: int = 0, *, clock: bool = True) -> Text:
    """One todo: where it stands, its counters, what runs, what it waits for. `clock`: with the time it has left."""
    mark, style = MARKS[view.status]
    text = Text("  " * depth)
    text.append(f"{mark} {visible(view.todo)}", style)
    text.append(f"  {view.status.replace('_', ' ')}", style)
    if view.review_status != "not_requested":
        text.append(f" ({view.review_status.replace('_', ' ')})", "dim")
    if view.attempt:
        text.append(f"  attempt {view.attempt}")
        text.append(f"  audits {view.audits}/{view.audit_cap}  revisions {view.revisions}/{view.revision_cap}", "dim")
    for running in (standing.loops.get(view.todo), standing.nodes.get(view.todo)):
        if running:
            text.append(f"  {one_line(running)}", "cyan")
    for word, said in (("trigger", view.trigger), ("asked", view.question), ("flag", view.flag)):
        if said:
            text.append(f"  {word}: {one_line(said)}", "yellow")
    if clock and view.status in UNFINISHED and (view.deadline or view.time_left):
        text.append(f"  {duration(time_left(view, standing.now, standing.halts))} left", "dim")
    text.append(f"  {one_line(view.title, TITLE_CHARACTERS)}", "dim")
    return text


def show(console: Console, standing: Standing) -> None:
    """All of it."""
    console.print(headline(standing).append(f"  version {standing.session.version}", "dim"))
    for depth, view in in_tree_order(standing.todos):
        console.print(line(view, standing, depth + 1))


class TreeWatcher(Watching):
    """Shows a session as it comes along: a live tree on a terminal, a line a change elsewhere."""

    def __init__(self, console: Console) -> None:
        super().__init__(console, per_second=4)

    def see(self, standing: Standing) -> None:
        """Take in how things stand."""
        if self.live:
            self.live.update(_picture(standing))
            return
        self._tell("", _plain_headline(standing))
        for _, view in in_tree_order(standing.todos):
            stands = line(view, replace(standing, nodes={}), clock=False)
            if view.status is not TodoStatus.PENDING or view.todo in self.last:
                self._tell(view.todo, stands)
            if node := standing.nodes.get(view.todo):
                self._tell(f"{view.todo}/", Text(f"    {visible(view.todo)}: {one_line(node)}", "dim"))

    def _tell(self, key: str, text: Text) -> None:
        if self.last.get(key) != text.plain:
            self.last[key] = text.plain
            self.console.print(text)


def _plain_headline(standing: Standing) -> Text:
    """Without what changes with every second, and with every todo, which has a line of its own."""
    return headline(replace(standing, session=standing.session.model_copy(update={"deadline": None}), todos=()))


def _picture(standing: Standing) -> Group:
    listed = list(in_tree_order(standing.todos))
    shown = listed if len(listed) <= MOST_LINES else [(0, view) for _, view in listed if _at_work(view)][:MOST_LINES]
    lines = [line(view, standing, depth + 1) for depth, view in shown]
    if len(shown) < len(listed):
        lines.append(Text(f"  and {len(listed) - len(shown)} more: countersign session show", "dim"))
    return Group(headline(standing), *lines)


def _at_work(view: TodoView) -> bool:
    return view.status not in (TodoStatus.PENDING, TodoStatus.VERIFIED, TodoStatus.CANCELLED)


def duration(seconds: float) -> str:
    """`1h05m`, `4m30s`, `12s`."""
    whole = max(0, int(seconds))
    hours, minutes, rest = whole // 3600, whole % 3600 // 60, whole % 60
    if hours:
        return f"{hours}h{minutes:02}m"
    return f"{minutes}m{rest:02}s" if minutes else f"{rest}s"


def one_line(text: str, most: int = 100) -> str:
    """`text` on one line, cut, with nothing in it that steers a terminal."""
    flat = visible(" ".join(text.split()))
    return flat if len(flat) <= most else flat[: most - 1] + "…"
