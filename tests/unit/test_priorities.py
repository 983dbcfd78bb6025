"""What goes first where work queues, and whose turn it is."""

from __future__ import annotations

import pytest
from temporalio.common import Priority

from workflows import options
from workflows.options import FAIRNESS_KEY_BYTES, priority


def key_of(given: options.ActivityOptions) -> int:
    """The lower goes first."""
    found = given["priority"].priority_key
    assert found is not None
    return found


def test_each_session_has_turns_of_its_own() -> None:
    assert priority("s") == Priority(priority_key=2, fairness_key="s", fairness_weight=10.0)
    assert priority("s").fairness_key != priority("other").fairness_key


def test_the_larger_a_session_the_fewer_its_turns_and_the_small_ones_workflows_go_first() -> None:
    found = [priority("s", todos) for todos in (0, 1, 10, 100, 200, 1000, 2000, 10_000)]
    assert [one.fairness_weight for one in found] == [10.0, 10.0, 10.0, 10.0, 5.0, 1.0, 1.0, 1.0]
    assert [one.priority_key for one in found] == [2, 2, 2, 2, 3, 3, 3, 3]


def test_long_names_of_sessions_have_turns_of_their_own_too() -> None:
    one, other = (priority("é" * FAIRNESS_KEY_BYTES + end).fairness_key for end in "ab")
    assert one is not None
    assert len(one.encode()) <= FAIRNESS_KEY_BYTES
    assert one != other


def test_a_round_that_has_begun_ends_before_others_begin() -> None:
    assert key_of(options.RELEASE) < key_of(options.check(5.0, 3, begun=True)) < key_of(options.check(5.0, 3))


ALL = {
    **{name: given for name, given in vars(options).items() if isinstance(given, dict) and "task_queue" in given},
    "freeze": options.freeze("h"),
    "work": options.work("h", 5.0),
    "check": options.check(5.0, 3),
    "roles": options.roles(5.0),
    "check of a round that has begun": options.check(5.0, 3, begun=True),
}


@pytest.mark.parametrize("name", ALL)
def test_an_activity_says_when_it_goes_and_leaves_whose_turn_it_is_to_its_workflow(name: str) -> None:
    given = ALL[name]["priority"]
    assert given.priority_key is not None, "else it would go as its workflow's tasks do, which have no turns"
    assert (given.fairness_key, given.fairness_weight) == (None, None)


def test_a_pass_of_a_role_has_its_limit_and_waits_half_an_hour_for_a_worker() -> None:
    given = options.roles(5.0)
    waits, lasts = given["schedule_to_start_timeout"], given["start_to_close_timeout"]
    assert (waits.total_seconds(), lasts.total_seconds()) == (1800, 65)
    retries = given["retry_policy"]
    assert retries.non_retryable_error_types == ["TemporalTimeout:StartToClose"], "its time is not had twice"
    assert 5 < retries.maximum_attempts < 100
    assert key_of(given) == key_of(options.check(5.0, 3, begun=True))


def test_claims_wait_for_rounds_that_have_begun() -> None:
    assert key_of(options.ASSESS) == key_of(options.TRAIL) < key_of(options.ADMIT) == key_of(options.freeze("h"))
