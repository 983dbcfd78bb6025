"""The review's screen, driven by its keys: every act is tried, then done; nothing typed is lost; nothing is markup."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Checkbox, Input, OptionList, RichLog, Static, TextArea

from domain.errors import Cause, Refused, Unavailable
from domain.events import Actor
from domain.requests import Answer, Changed
from domain.status import SessionStatus, TodoStatus
from entrypoints.cli.asking import Sender
from entrypoints.review.app import ReviewApp
from entrypoints.review.form import ActForm
from entrypoints.review.page import Page
from tests.reviews import SaidAsker, escalated, no, some_page

ANN = Sender(Actor(role="unattributed", identity="ann"))
P = Pilot[None]
ROUNDS = 20
"""More than a key takes to the screen that it opens: by the widget that has the cursor and all around it."""


class Loads:
    """Reads pages by attempt, and remembers which were wanted."""

    def __init__(self, page: Page, trouble: Refused | Unavailable | None = None) -> None:
        self.page = page
        self.wanted: list[int | None] = []
        self.trouble = trouble

    def __call__(self, attempt: int | None) -> Page:
        self.wanted.append(attempt)
        if self.trouble is not None:
            raise self.trouble
        number = attempt or self.page.numbers[-1]
        return self.page.model_copy(update={"attempt": number, "current": number == self.page.numbers[-1]})


@asynccontextmanager
async def screen(
    page: Page, asker: SaidAsker | None = None, loads: Callable[[int | None], Page] | None = None
) -> AsyncIterator[P]:
    app = ReviewApp(page, loads or Loads(page), asker or SaidAsker(), ANN)
    async with app.run_test(size=(120, 50)) as pilot:
        await settled(pilot)
        yield pilot


def shown(pilot: P, name: str) -> str:
    """The text of one part of the screen, or of the form."""
    widget = pilot.app.screen.query_one(f"#{name}")
    if isinstance(widget, RichLog):
        return "\n".join(line.text for line in widget.lines)
    if isinstance(widget, OptionList):
        return "\n".join(str(option.prompt) for option in widget.options)
    assert isinstance(widget, Static)
    return str(widget.visual)


def form(pilot: P) -> ActForm:
    found = pilot.app.screen
    assert isinstance(found, ActForm)
    return found


async def settled(pilot: P) -> None:
    """Whatever has begun has come to where only somebody else can go on.

    The pilot waits until this process seems to have nothing to do, which it also does where others have the processor.
    Each round here ends when every widget has seen to all messages that had come by then; one leads to the next.
    """
    for _ in range(ROUNDS):
        await pilot.pause(0)


async def press(pilot: P, *keys: str) -> None:
    """Each key once what the one before has brought about is there."""
    for key in keys:
        await pilot.press(key)
        await settled(pilot)


async def until(pilot: P, what: Callable[[], bool]) -> None:
    """Until it is so: what runs beside the screen comes to its end when it does."""
    while not what():
        await pilot.pause()
        await asyncio.sleep(0)


async def answered(pilot: P) -> None:
    """Whatever was asked, or read, is over, and what began because it was."""

    def over() -> bool:
        return all(worker.is_finished for worker in pilot.app.workers)

    await until(pilot, over)
    await settled(pilot)
    while not over():
        await until(pilot, over)
        await settled(pilot)


async def type_into(pilot: P, name: str, text: str) -> None:
    field = pilot.app.screen.query_one(f"#field-{name}")
    assert isinstance(field, Input | TextArea)
    if isinstance(field, TextArea):
        field.text = text
    else:
        field.value = text
    await settled(pilot)


def ticks(pilot: P) -> str:
    """What is in the boxes, without colours."""
    return "".join(str(box.BUTTON_INNER) for box in pilot.app.screen.query(Checkbox))


ALL_ACTS = [
    ("a", "approve", TodoStatus.NEEDS_HUMAN, {"reason": "fine"}),
    ("o", "override", TodoStatus.NEEDS_HUMAN, {"reason": "flaky"}),
    ("r", "reject", TodoStatus.NEEDS_HUMAN, {"feedback": "no", "extra_attempts": "1"}),
    ("t", "return", TodoStatus.NEEDS_HUMAN, {"reason": "again", "extra_attempts": "2", "cost_usd": "1.5"}),
    ("u", "unblock", TodoStatus.BLOCKED, {"clarification": "the first"}),
    ("e", "edit", TodoStatus.NEEDS_HUMAN, {"changes": "content=New", "reason": "why"}),
    ("n", "note", TodoStatus.NEEDS_HUMAN, {"content": "look"}),
    ("d", "delete", TodoStatus.NEEDS_HUMAN, {"reason": "done elsewhere"}),
    ("p", "pause", TodoStatus.NEEDS_HUMAN, {"reason": "lunch"}),
    ("s", "resume", TodoStatus.NEEDS_HUMAN, {"reason": "back"}),
]


@pytest.mark.parametrize(("key", "name", "status", "typed"), ALL_ACTS, ids=[each[1] for each in ALL_ACTS])
async def test_every_act_is_tried_then_done(key: str, name: str, status: TodoStatus, typed: dict[str, str]) -> None:
    session = SessionStatus.PAUSED if name == "resume" else SessionStatus.RUNNING
    page, asker = some_page(status, session_status=session), SaidAsker()
    loads = Loads(page)
    async with screen(page, asker, loads) as pilot:
        await press(pilot, key)
        for field, text in typed.items():
            await type_into(pilot, field, text)
        await press(pilot, "ctrl+s")
        await answered(pilot)
        assert form(pilot).stage == "tried"
        assert [one.dry_run for one in asker.asked] == [True]
        assert f"status: {status} → done" in shown(pilot, "answer")
        await press(pilot, "y")
        await answered(pilot)
        assert not isinstance(pilot.app.screen, ActForm)
        assert f"✓ {name}:" in shown(pilot, "said")
        assert loads.wanted == [None], "the page is read anew"
    assert asker.acts == [name, name]
    tried, done = asker.asked
    assert done == tried.model_copy(update={"dry_run": False})
    for field in ("reason", "feedback", "clarification", "content"):
        if field in typed:
            assert getattr(done, field) == typed[field]


async def test_nothing_is_done_that_is_not_confirmed() -> None:
    asker = SaidAsker()
    async with screen(some_page(), asker) as pilot:
        await press(pilot, "a")
        await type_into(pilot, "reason", "fine")
        await press(pilot, "ctrl+s")
        await answered(pilot)
        await press(pilot, "escape")
        assert form(pilot).stage == "typing"
        assert "not done" in shown(pilot, "answer")
        await press(pilot, "escape")
        assert not isinstance(pilot.app.screen, ActForm)
        await press(pilot, "a")
        assert pilot.app.screen.query_one("#field-reason", TextArea).text == "fine", "what was typed is kept"
    assert [one.dry_run for one in asker.asked] == [True]


async def test_each_failed_check_is_ticked_by_name() -> None:
    asker = SaidAsker()
    async with screen(some_page(), asker) as pilot:
        await press(pilot, "o")
        assert [str(box.label) for box in pilot.app.screen.query(Checkbox)] == ["tests", "lint"]
        assert ticks(pilot) == "  "
        await press(pilot, "space")
        assert ticks(pilot) == "X "
        await press(pilot, "ctrl+s")
        await answered(pilot)
        await press(pilot, "escape", "ctrl+s")
        await answered(pilot)
    assert [one.model_dump()["acknowledged"] for one in asker.asked] == [("tests",), ("tests",)]
    assert asker.asked[0].model_dump()["kind"] == "check"


@pytest.mark.parametrize("late", [False, True], ids=["tried", "done"])
async def test_a_refusal_stays_with_its_code_and_next_step(late: bool) -> None:
    trial = Answer(dry_run=True, status="verified")
    asker = SaidAsker([*([trial] if late else []), no("stale_snapshot")])
    loads = Loads(some_page())
    async with screen(some_page(), asker, loads) as pilot:
        await press(pilot, "a")
        await type_into(pilot, "reason", "fine")
        await press(pilot, "ctrl+s")
        await answered(pilot)
        if late:
            await press(pilot, "y")
            await answered(pilot)
        assert form(pilot).stage == "typing"
        said = shown(pilot, "answer")
        assert "(stale_snapshot)" in said
        assert "next: do [b]otherwise[/b]" in said
        assert "[bold]loud[/bold]" in said
        assert "\x1b" not in said
        assert "escape to see it as it is now" in said
        assert pilot.app.screen.query_one("#field-reason", TextArea).text == "fine"
        await press(pilot, "escape")
        await answered(pilot)
        assert ("(stale_snapshot)" in shown(pilot, "said")) is late
        assert len(loads.wanted) == 1


async def test_what_cannot_be_asked_is_said_and_can_be_asked_again() -> None:
    asker = SaidAsker([Unavailable(Cause.NO_WORKER, "nobody polls", "start one"), Answer(dry_run=True)])
    async with screen(some_page(), asker) as pilot:
        await press(pilot, "t")
        await type_into(pilot, "reason", "again")
        await press(pilot, "ctrl+s")
        await answered(pilot)
        assert "could not tell: nobody polls (no_worker)" in shown(pilot, "answer")
        await press(pilot, "ctrl+s")
        await answered(pilot)
        assert form(pilot).stage == "tried"
    assert [one.reason for one in asker.asked] == ["again", "again"]


async def test_nonsense_is_said_and_not_asked() -> None:
    asker = SaidAsker()
    async with screen(some_page(), asker) as pilot:
        await press(pilot, "r")
        await type_into(pilot, "extra_attempts", "many")
        await press(pilot, "ctrl+s")
        assert "'many' is no number" in shown(pilot, "answer")
    assert asker.asked == []


@pytest.mark.parametrize("stage", ["trying", "doing"])
async def test_nobody_has_to_wait_for_an_answer(stage: str) -> None:
    asker = SaidAsker(held=asyncio.Event())
    assert asker.held is not None
    async with screen(some_page(), asker) as pilot:
        await press(pilot, "a")
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: len(asker.asked) == 1)
        if stage == "doing":
            asker.held.set()
            await answered(pilot)
            asker.held.clear()
            await press(pilot, "y")
            await until(pilot, lambda: len(asker.asked) == 2)
        assert form(pilot).stage == stage
        await press(pilot, "escape")
        await answered(pilot)
        assert form(pilot).stage == "typing"
        assert ("it may be done all the same" in shown(pilot, "answer")) is (stage == "doing")


async def test_one_that_knows_no_trials_is_said_to_have_done_it() -> None:
    asker = SaidAsker([Answer(status="verified", version=4)])
    async with screen(some_page(), asker) as pilot:
        await press(pilot, "a", "ctrl+s")
        await answered(pilot)
        assert "knows no trials, and has done it" in shown(pilot, "said")
    assert len(asker.asked) == 1


async def test_a_key_signs_once_for_trial_and_act() -> None:
    answer = Answer(status="verified", dry_run=True, signer="ann", changed={"status": Changed(before="a", after="b")})
    asker = SaidAsker([answer], sign=True)
    async with screen(some_page(), asker) as pilot:
        await press(pilot, "a", "ctrl+s")
        await answered(pilot)
        assert "signed by ann" in shown(pilot, "answer")
        await press(pilot, "y")
        await answered(pilot)
        await press(pilot, "p", "ctrl+s")
        await answered(pilot)
    tried, done, paused = asker.asked
    assert tried.signed is not None
    assert tried.signed == done.signed
    assert paused.signed is None, "no signature is made for a session"


async def test_a_key_that_cannot_sign_is_said() -> None:
    class Broken(SaidAsker):
        def signed(self, *_: Any) -> Any:
            raise Refused("key_unusable", "the key cannot sign", "name another one")

    asker = Broken(sign=True)
    async with screen(some_page(), asker) as pilot:
        await press(pilot, "a", "ctrl+s")
        assert "the key cannot sign (key_unusable)" in shown(pilot, "answer")
    assert asker.asked == []


async def test_a_key_that_does_nothing_says_why() -> None:
    async with screen(some_page(TodoStatus.PENDING)) as pilot:
        await press(pilot, "a")
        assert not isinstance(pilot.app.screen, ActForm)
        assert "not while the todo is pending; now: edit, note, delete" in shown(pilot, "said")
        await press(pilot, "question_mark")
        told = str(pilot.app.screen.query_one("#help Static", Static).visual)
        assert "Approve  not while the todo is pending" in told
        await press(pilot, "escape")
        await press(pilot, "n")
        assert isinstance(pilot.app.screen, ActForm)


async def test_a_screen_may_end_while_a_form_is_put_together() -> None:
    async with screen(some_page()) as pilot:
        assert isinstance(pilot.app, ReviewApp)
        pilot.app.action_act("approve")


async def test_attempts_are_switched() -> None:
    loads = Loads(some_page())
    async with screen(some_page(), None, loads) as pilot:
        await press(pilot, "right_square_bracket")
        assert "there is no later attempt" in shown(pilot, "said")
        await press(pilot, "left_square_bracket")
        await answered(pilot)
        assert "attempt 1 of 2  not what is claimed now" in shown(pilot, "head")
        await press(pilot, "a")
        assert "not what is claimed now" in shown(pilot, "said")
        await press(pilot, "n", "escape")
        await answered(pilot)
        assert "attempt 1 of 2" in shown(pilot, "head"), "a form that was closed leads nowhere"
        await press(pilot, "left_square_bracket")
        assert "there is no earlier attempt" in shown(pilot, "said")
        await press(pilot, "right_square_bracket")
        await answered(pilot)
        assert "not what is claimed now" not in shown(pilot, "head")
    assert loads.wanted == [1, 1, 2]


async def test_what_is_read_anew_is_the_last_claim_or_the_earlier_attempt_that_was_looked_at() -> None:
    loads = Loads(some_page())
    async with screen(some_page(), None, loads) as pilot:
        await press(pilot, "ctrl+r")
        await answered(pilot)
        await press(pilot, "left_square_bracket")
        await answered(pilot)
        await press(pilot, "ctrl+r")
        await answered(pilot)
    assert loads.wanted == [None, 1, 1]


async def test_a_page_that_cannot_be_read_anew_stays() -> None:
    loads = Loads(some_page(), Unavailable(Cause.STORE_UNAVAILABLE, "the trail is away", "bring it back"))
    async with screen(some_page(), None, loads) as pilot:
        await press(pilot, "ctrl+r")
        await answered(pilot)
        assert "the trail is away" in shown(pilot, "said")
        assert "s/a" in shown(pilot, "head")


async def test_all_of_the_page_is_on_the_screen_and_none_of_it_is_markup(tmp_path: Path) -> None:
    todo, _ = await escalated(tmp_path)
    page = todo.page()
    async with screen(page) as pilot:
        places = pilot.app.screen.query_one("#places", OptionList)
        seen = []
        for _ in range(places.option_count):
            seen.append(shown(pilot, "shown"))
            await press(pilot, "down")
        everything = "\n".join(seen)
        for said in ("audit_cap_exceeded", "denied", "restored", "+after 2", "✗ tests", "boom", "TODO_VERIFY"):
            assert said in everything, said
        assert "[bold]loud[/bold]" in everything
        assert "\\x1b[31mred" in everything
        assert "\x1b" not in everything
        assert "\u202e" not in everything
        assert "[restored] ~ tests/test_a.py" in shown(pilot, "places")


async def test_outputs_are_shown_whole_on_demand(tmp_path: Path) -> None:
    todo, _ = await escalated(tmp_path)
    page = todo.page()
    assert page.report is not None
    (check,) = page.report.checks
    long = check.model_copy(update={"output": "\n".join(f"line {number}" for number in range(500))})
    page = page.model_copy(update={"report": page.report.model_copy(update={"checks": (long,)})})
    async with screen(page) as pilot:
        places = pilot.app.screen.query_one("#places", OptionList)
        places.highlighted = places.get_option_index("checks")
        await settled(pilot)
        assert "[... 440 lines before: countersign evidence show" in shown(pilot, "shown")
        assert "line 439\n" not in shown(pilot, "shown")
        await press(pilot, "f")
        assert "| line 0\n" in shown(pilot, "shown")


async def test_an_open_question_and_a_session_without_a_view_are_shown() -> None:
    page = some_page(TodoStatus.BLOCKED, question="which [b]one[/b]?", session=None)
    assert page.session is None
    async with screen(page) as pilot:
        assert "open question: which [b]one[/b]?" in shown(pilot, "head")
        await press(pilot, "q")
