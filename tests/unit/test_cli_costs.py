"""What models have cost a todo, where people look: `todo show` and `inbox`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from adapters.config.settings import Settings
from domain.read_model import SessionView, State, TodoView
from domain.roles.spending import CapsInMicros, Reservation, Settled
from entrypoints.cli import common, inbox
from entrypoints.cli.costs import NOTHING, cost_of, costs_of, told
from entrypoints.cli.todo_show import facts_of
from entrypoints.state_dir import prepare_state_dir
from entrypoints.stores import build_ledger

NOW = datetime(2026, 1, 15, 10, 0, tzinfo=UTC)


def view(todo: str, **fields: Any) -> TodoView:
    given = {"session": "one", "attempt": 1, "created_at": NOW, "updated_at": NOW}
    return TodoView.model_validate({"todo": todo, **given, **fields})


@pytest.fixture
def spent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A project in which `a` had one request that was settled, and one that was lost."""
    settings = Settings(project=tmp_path, state_dir=tmp_path / "state")
    monkeypatch.setattr(common, "settings", lambda: settings)
    prepare_state_dir(settings.state_dir)
    ledger = build_ledger(settings)
    of_a = {"session": "one", "todo": "a", "attempt": 1, "role": "auditor", "model": "m"}
    for key, micros in (("k1", 20_000), ("k2", 5_000)):
        ledger.reserve(Reservation.model_validate({"key": key, "micros": micros, **of_a}), CapsInMicros())
    ledger.settle(Settled(key="k1", input_tokens=1000, output_tokens=200, micros=12_300))
    yield
    ledger.close()


@pytest.mark.usefixtures("spent")
def test_a_todo_shows_what_it_cost() -> None:
    cost = cost_of(view("a"))
    assert cost.model_dump() == {"requests": 2, "tokens": 1200, "cost_usd": 0.0123, "lost_usd": 0.005}
    assert told(cost).startswith("$0.0123, 2 requests to models, 1,200 tokens; at most $0.0050 more")
    assert facts_of(view("a"))["cost"] == cost.model_dump()
    assert cost_of(view("b")) == NOTHING
    assert told(NOTHING) == ""


@pytest.mark.usefixtures("spent")
def test_what_waits_says_what_it_cost(capsys: pytest.CaptureFixture[str]) -> None:
    waits = {"status": "needs_human", "trigger": "cost_cap_exceeded", "order_digest": "o"}
    state = State(
        sessions=(SessionView(session="one", created_at=NOW),), todos=(view("a", **waits), view("b", **waits))
    )
    found = inbox.with_costs(inbox.waiting(state), state)
    assert [each.cost_usd for each in found] == [0.0123, 0.0]
    inbox.tell(found)
    assert capsys.readouterr().out.count("models have cost $0.0123") == 1


def test_who_never_had_a_round_opens_no_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("entrypoints.stores.build_ledger", lambda settings: pytest.fail("it was opened"))
    assert costs_of([view("a", attempt=0)]) == {}
