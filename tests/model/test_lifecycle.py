"""The lifecycle's table against DESIGN 3, written out once more by hand: every (status, command, party) there is."""

from __future__ import annotations

import itertools

import pytest

from domain.event_kinds import KINDS
from domain.events import Role
from domain.lifecycle import PARTIES, TRANSITIONS, Command, Party, allowed, ever, transition
from domain.status import AFTER_A_ROUND, LIVE, ReviewStatus, TodoStatus

EVERYWHERE = "pending in_progress claimed verified needs_human blocked failed"
SAME = "="

DESIGN = """
worker add_evidence in_progress,claimed                   =           =                 evidence_added
worker start        pending                               in_progress =                 todo_started
worker claim        in_progress                           claimed     auditing          todo_claimed
worker respond      claimed                               =           =                 follow_up_answered
worker block        in_progress                           blocked     =                 todo_blocked
human  unblock      blocked                               in_progress =                 todo_unblocked
human  approve      claimed,needs_human                   verified    approved          approved
human  override     claimed,needs_human,failed            verified    overridden        human_override
human  reject       claimed,needs_human,verified          in_progress changes_requested changes_requested
human  return       needs_human,failed                    in_progress not_requested     returned
human  edit         *                                     =           =                 edited
human  note         *                                     =           =                 noted
human  reorder      *                                     =           =                 reordered
human  subtask      *                                     =           =                 todo_created
human  delete       *                                     cancelled   not_requested     deleted
system audit        claimed                               =           auditing          audit_started
system repair       claimed                               =           auditing          fix_loop_started
system ask          claimed                               =           =                 follow_up_asked
system give_up      claimed                               =           =                 follow_up_expired
system verify       claimed                               verified    approved          approved
system revise       claimed                               in_progress changes_requested changes_requested
system fail         claimed                               failed      escalated         failed
system escalate     pending,in_progress,claimed,blocked   needs_human escalated         escalated
system exhaust      claimed,needs_human,verified          needs_human escalated         escalated
system reopen       claimed,verified                      in_progress not_requested     reopened
"""
"""A row a command: who, what, from where (`*`: any but cancelled), status and review after (`=`: as it was), event."""


def stated() -> dict[tuple[str, str, str], tuple[str, str, str]]:
    table = {}
    for line in DESIGN.strip().splitlines():
        party, command, where, status, review, event = line.split()
        for begin in EVERYWHERE.split() if where == "*" else where.split(","):
            table[begin, command, party] = (status, review, event)
    return table


STATED = stated()
ROLES: tuple[Role, ...] = tuple(PARTIES)


@pytest.mark.parametrize("role", ROLES)
def test_every_triple_is_as_the_design_says(role: Role) -> None:
    for status, command in itertools.product(TodoStatus, Command):
        expected = STATED.get((status.value, command.value, PARTIES[role]))
        found = transition(status, command, role)
        if expected is None:
            assert found is None, (status, command, role)
        else:
            assert found is not None, (status, command, role)
            assert (found.status or SAME, found.review or SAME, found.event) == expected


def test_nothing_is_stated_of_what_does_not_exist() -> None:
    statuses, commands, parties = ({part[at] for part in STATED} for at in range(3))
    assert statuses <= set(TodoStatus)
    assert commands == set(Command)
    assert parties == set(PARTIES.values())
    assert len(STATED) == len(TRANSITIONS)


def test_an_agent_never_verifies_deletes_or_overrules() -> None:
    mine = {command for status, command, party in TRANSITIONS if party == "worker"}
    assert mine == {Command.START, Command.ADD_EVIDENCE, Command.CLAIM, Command.RESPOND, Command.BLOCK}
    ends = {moved.status for (_, _, party), moved in TRANSITIONS.items() if party == "worker"}
    assert ends.isdisjoint({TodoStatus.VERIFIED, TodoStatus.CANCELLED, TodoStatus.FAILED, TodoStatus.NEEDS_HUMAN})


def test_cancelled_is_the_end() -> None:
    assert not [key for key in TRANSITIONS if key[0] is TodoStatus.CANCELLED]


def test_verified_comes_only_from_what_was_looked_at() -> None:
    ways = {(status, command) for (status, command, _), moved in TRANSITIONS.items() if moved.status == "verified"}
    assert {command for _, command in ways} == {Command.APPROVE, Command.OVERRIDE, Command.VERIFY}
    assert {status for status, _ in ways} == {TodoStatus.CLAIMED, TodoStatus.NEEDS_HUMAN, TodoStatus.FAILED}


def test_every_way_can_be_gone_to_its_end() -> None:
    """From every live status there are ways to verified and to cancelled: nothing is stuck for ever."""
    ways: dict[TodoStatus, set[TodoStatus]] = {status: {status} for status in TodoStatus}
    for _ in TodoStatus:
        for (status, _, _), moved in TRANSITIONS.items():
            if moved.status:
                ways[status] |= ways[moved.status]
    for status in LIVE:
        assert {TodoStatus.VERIFIED, TodoStatus.CANCELLED} <= ways[status]


PARTY_ROLES: dict[Party, tuple[Role, ...]] = {
    party: tuple(role for role in ROLES if PARTIES[role] == party) for party in ("worker", "human", "system")
}


@pytest.mark.parametrize(("status", "command", "party"), sorted(TRANSITIONS))
def test_whoever_may_move_may_write_the_row(status: TodoStatus, command: Command, party: Party) -> None:
    event = TRANSITIONS[status, command, party].event
    assert set(KINDS[event].actors) & set(PARTY_ROLES[party])


@pytest.mark.parametrize("command", Command)
@pytest.mark.parametrize("role", ROLES)
def test_what_a_role_may_ever_ask_it_may_ask_somewhere(role: Role, command: Command) -> None:
    assert ever(command, role) is any(command in allowed(status, role) for status in TodoStatus)


def test_rounds_leave_a_todo_where_the_table_has_it() -> None:
    ends = {
        "verified": (TodoStatus.VERIFIED, ReviewStatus.APPROVED),
        "changes_requested": (TodoStatus.IN_PROGRESS, ReviewStatus.CHANGES_REQUESTED),
        "failed": (TodoStatus.FAILED, ReviewStatus.ESCALATED),
        "needs_human": (TodoStatus.NEEDS_HUMAN, ReviewStatus.ESCALATED),
    }
    commands = (Command.VERIFY, Command.REVISE, Command.FAIL, Command.ESCALATE)
    for (outcome, end), command in zip(ends.items(), commands, strict=True):
        moved = transition(TodoStatus.CLAIMED, command, "system")
        assert moved is not None
        assert (moved.status, moved.review) == end
        assert {o.value: where for o, where in AFTER_A_ROUND.items()}[outcome] == end
