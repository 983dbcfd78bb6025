"""The lifecycle as a page of Markdown, for `docs/lifecycle.md`: made from its table, so that it cannot lag."""

from __future__ import annotations

from collections.abc import Iterator

from domain.lifecycle import TRANSITIONS, Command, Party, Transition
from domain.status import LIVE, TodoStatus

_HEAD = """# The lifecycle of a todo

`make docs` writes this page from the table in `domain/lifecycle.py`, by which every command is allowed or refused; a
test holds them together. What is not in the table is refused with `illegal_transition`, or with `forbidden` where a
party never has the command, and recorded.

*worker* is the agent that does the work, *human* whoever acts for themselves (without a signature recorded as
`unattributed`), *system* the rounds, clocks, caps and the session: those commands nobody can send. What a command needs
beyond its place in the table (evidence, caps, an open question, the override policy, the session's word on pauses,
dependencies and subtasks) is in `domain/acts/`.

Whatever a human asks may name the version of the todo (`stale_version` where it is another one by now; `edit` and
`reorder` have to) and the tree that they looked at (`stale_snapshot` where another one is claimed), and may be a trial,
which is answered and neither done nor recorded. An `override` says why (`reason_required`; of the kind `check` not
where `check_override_requires_reason` is false), is of the kind that is needed, and of the kind `check` names all that
did not pass (`not_acknowledged`) and nothing else (`unknown_check`).
"""

_TABLE = """## Every command

The event is the row of the trail that says that it was done, as in [events.md](events.md). A dash: as it was. *any*:
all but `cancelled`, which nothing leaves.
"""

_PARTIES: tuple[Party, ...] = ("worker", "human", "system")


def page() -> str:
    """The whole page."""
    head = "| who | command | from | to | review status | event |\n| --- | --- | --- | --- | --- | --- |\n"
    live = ", ".join(f"`{status}`" for status in TodoStatus if status in LIVE)
    picture = f"```mermaid\n{diagram()}\n```\n\nDrawn without `delete`. Live are {live}.\n"
    return "\n".join((_HEAD, picture, _TABLE, head + "".join(_rows())))


def diagram() -> str:
    """The moves between statuses as a state diagram of Mermaid's; deleting, from anywhere, is left out."""
    moves: dict[tuple[TodoStatus, TodoStatus], list[str]] = {}
    for (status, command, party), moved in TRANSITIONS.items():
        if moved.status and moved.status is not status and command is not Command.DELETE:
            moves.setdefault((status, moved.status), []).append(f"{party} {command}")
    lines = ["stateDiagram-v2", "    [*] --> pending: create"]
    lines += [f"    {start} --> {end}: {', '.join(names)}" for (start, end), names in sorted(moves.items())]
    return "\n".join([*lines, "    verified --> [*]", "    failed --> [*]"])


def _rows() -> Iterator[str]:
    for party in _PARTIES:
        for command in Command:
            found = {
                status: moved for (status, asked, by), moved in TRANSITIONS.items() if (asked, by) == (command, party)
            }
            if found:
                yield _row(party, command, found)


def _row(party: Party, command: Command, found: dict[TodoStatus, Transition]) -> str:
    moved = next(iter(found.values()))
    anywhere = set(found) == set(TodoStatus) - {TodoStatus.CANCELLED}
    begins = "any" if anywhere else ", ".join(f"`{status}`" for status in TodoStatus if status in found)
    ends = (f"`{value}`" if value else "-" for value in (moved.status, moved.review, moved.event))
    return f"| {party} | `{command}` | {begins} | {' | '.join(ends)} |\n"
