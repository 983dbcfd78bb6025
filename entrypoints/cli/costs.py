"""What models have cost a todo, as the ledger has it. Nothing is opened for a todo that never had a round."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing

from domain.base import Message
from domain.read_model import TodoView
from domain.roles.spending import MICROS, Spent
from entrypoints.cli import common
from entrypoints.cli.output import counted


class Cost(Message):
    """In US dollars. `lost_usd`: the estimates of requests under way, and of those that were never heard of again."""

    requests: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    lost_usd: float = 0.0


NOTHING = Cost()


def cost_of(view: TodoView) -> Cost:
    """Of one todo, over all its attempts. Raises `Unavailable`."""
    return costs_of([view]).get((view.session, view.todo), NOTHING)


def costs_of(views: Iterable[TodoView]) -> dict[tuple[str, str], Cost]:
    """Of each todo for which a model was asked, by session and id. Raises `Unavailable`."""
    asked = [view for view in views if view.attempt]
    if not asked:
        return {}
    from entrypoints.stores import build_ledger  # noqa: PLC0415 - SQLAlchemy: not every command needs it

    with closing(build_ledger(common.settings())) as ledger:
        paying = {session for session in {view.session for view in asked} if ledger.spent(session).requests}
        spent = {
            (view.session, view.todo): ledger.spent(view.session, view.todo) for view in asked if view.session in paying
        }
    return {key: _cost(each) for key, each in spent.items() if each.requests}


def told(cost: Cost) -> str:
    """In a few words, empty where nobody was asked."""
    if not cost.requests:
        return ""
    text = f"${cost.cost_usd:.4f}, {counted((cost.requests, 'request'))} to models, {cost.tokens:,} tokens"
    return f"{text}; at most ${cost.lost_usd:.4f} more for requests that were lost" if cost.lost_usd else text


def _cost(spent: Spent) -> Cost:
    return Cost(
        requests=spent.requests,
        tokens=spent.input_tokens + spent.output_tokens,
        cost_usd=spent.micros / MICROS,
        lost_usd=spent.lost / MICROS,
    )
