"""The review's screen: places on the left, what is there on the right, keys for everything a person may do below.

It shows a page and asks for acts; reading and asking are given to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from rich.text import Text
from textual.app import App, ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.events import Resize
from textual.widgets import OptionList, RichLog, Static
from textual.widgets.option_list import Option

from domain.errors import CountersignError
from domain.requests import HumanRequest
from domain.shown_text import one_line
from entrypoints.cli.asking import Sender
from entrypoints.review.acts import ACTS, Act, why_not
from entrypoints.review.answers import failed
from entrypoints.review.asking import Asker
from entrypoints.review.form import ActForm
from entrypoints.review.help import HelpScreen
from entrypoints.review.page import Page
from entrypoints.review.reading import Load
from entrypoints.review.sections import Section, headline, sections

CSS = """
#head { height: auto; padding: 0 1; background: $panel; }
#places { width: 38; border: none; }
#shown { padding: 0 1; }
#said { height: auto; max-height: 8; padding: 0 1; }
#keys { height: auto; padding: 0 1; background: $panel; }
ActForm, HelpScreen { align: center middle; }
#form, #help { width: 90%; max-width: 110; height: auto; max-height: 90%; padding: 1 2; border: round $primary;
  background: $surface; }
#form TextArea { height: 6; }
#form .label { margin-top: 1; }
#answer { margin-top: 1; height: auto; }
#buttons { height: 3; margin-top: 1; }
#buttons Button { margin-right: 2; }
"""


class ReviewApp(App[None]):
    """One todo. `load` reads the page of an attempt, None for the last; it is called off the screen's own thread."""

    CSS = CSS
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(act.key, f"act('{act.name}')", act.title) for act in ACTS),
        Binding("left_square_bracket", "turn(-1)", "Earlier attempt"),
        Binding("right_square_bracket", "turn(1)", "Later attempt"),
        Binding("f", "full", "Whole outputs"),
        Binding("ctrl+r", "reload", "Read it anew"),
        Binding("question_mark", "help", "Help"),
        Binding("q", "quit", "Quit"),
        Binding("ctrl+c", "quit", "Quit", priority=True),
    ]

    def __init__(self, page: Page, load: Load, asker: Asker, sender: Sender) -> None:
        super().__init__()
        self.page = page
        self._load = load
        self._asker = asker
        self._sender = sender
        self._full = False
        self._sections: tuple[Section, ...] = ()
        self._place = "summary"
        self.typed: dict[str, dict[str, Any]] = {}

    def compose(self) -> ComposeResult:
        """Head, places and what is there, what was answered last, keys."""
        yield Static(id="head")
        with Horizontal():
            yield OptionList(id="places")
            yield RichLog(id="shown", wrap=True, min_width=0, auto_scroll=False)
        yield Static(id="said")
        yield Static(id="keys")

    def on_mount(self) -> None:
        """The page that was read before the screen was there."""
        self.title = "countersign review"
        self._show(self.page)

    def on_resize(self, _: Resize) -> None:
        """Lines are wrapped for the width that there is."""
        self.call_after_refresh(self._show_place)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Another place."""
        if event.option_id is not None and event.option_id != self._place:
            self._place = event.option_id
            self._show_place()

    def say(self, text: Text) -> None:
        """What came of something, until something else does."""
        self.query_one("#said", Static).update(text)

    def action_act(self, name: str) -> None:
        """Open the form of an act, or say why it cannot be asked."""
        act = next(one for one in ACTS if one.name == name)
        if why := why_not(act, self.page):
            self.say(Text(f"{act.title}: {one_line(why, 500)}", "yellow"))
            return
        form = ActForm(self.page, act, self._asker, self._sender, self._signed, self.typed.setdefault(act.name, {}))

        def closed(answered: Text | None) -> None:
            if answered is not None:
                self.say(answered)
            self._read(None if self.page.current or answered is not None else self.page.attempt)

        self.push_screen(form, closed)

    def action_turn(self, step: int) -> None:
        """The attempt before, or after."""
        numbers = self.page.numbers
        place = numbers.index(self.page.attempt) + step if self.page.attempt in numbers else -1
        if not 0 <= place < len(numbers):
            self.say(Text(f"there is no {'later' if step > 0 else 'earlier'} attempt", "yellow"))
            return
        self.say(Text())
        self._read(numbers[place])

    def action_full(self) -> None:
        """Whole outputs, or their ends."""
        self._full = not self._full
        self._show(self.page)

    def action_reload(self) -> None:
        """As it is now: the same attempt if it is an earlier one, else whatever is the last claim by then."""
        self._read(None if self.page.current else self.page.attempt)

    def action_help(self) -> None:
        """All keys, and why those that are dim cannot be used."""
        self.push_screen(HelpScreen(self.page))

    def _read(self, attempt: int | None) -> None:
        self.run_worker(self._reread(attempt), exclusive=True, group="reading")

    async def _reread(self, attempt: int | None) -> None:
        try:
            page = await asyncio.to_thread(self._load, attempt)
        except CountersignError as error:
            self.say(failed(error))
            return
        self._show(page)

    def _show(self, page: Page) -> None:
        self.page = page
        self._sections = sections(page, full=self._full)
        head = headline(page)
        if page.todo.question:
            head.append(f"\nopen question: {one_line(page.todo.question, 500)}", "bold yellow")
        self.query_one("#head", Static).update(head)
        self.query_one("#keys", Static).update(keys(page))
        places = self.query_one("#places", OptionList)
        if self._place not in [each.id for each in self._sections]:
            self._place = "difference" if self._place.startswith("file-") else "summary"
        at = [each.id for each in self._sections].index(self._place)
        places.clear_options()
        places.add_options(Option(_place(each), each.id) for each in self._sections)
        places.highlighted = at
        self._show_place()

    def _show_place(self) -> None:
        log = self.query_one("#shown", RichLog)
        section = next((each for each in self._sections if each.id == self._place), None)
        if section is None:
            return
        log.clear()
        log.write(Text(section.title, "bold underline"))
        for line in section.lines:
            log.write(line)
        log.scroll_home(animate=False)

    def _signed(self, page: Page, act: Act, request: HumanRequest) -> HumanRequest:
        """A key may ask for its passphrase, or to be touched: it has the terminal meanwhile."""
        if not self._asker.signs(act):
            return request
        with self._lent_terminal():
            return self._asker.signed(page, act, request)

    @contextmanager
    def _lent_terminal(self) -> Iterator[None]:
        try:
            suspended = self.suspend()
            suspended.__enter__()
        except SuspendNotSupported:  # no terminal to lend
            yield
            return
        try:
            yield
        finally:
            suspended.__exit__(None, None, None)


def keys(page: Page) -> Text:
    """The keys in a line; those that cannot be used now are dim."""
    text = Text()
    for act in ACTS:
        off = bool(why_not(act, page))
        text.append(f" {act.key} ", "dim" if off else "bold reverse").append(f" {act.name}  ", "dim" if off else "")
    return text.append(" [ ] attempt   f whole outputs   ? help   q quit", "dim")


def _place(section: Section) -> Text:
    name = section.short or section.title
    return Text(f"{'  ' if section.below else ''}{name}", section.style, no_wrap=True, overflow="ellipsis")
