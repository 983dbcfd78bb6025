"""The form of one act: what has to be typed, a trial that says what would change, and only then the act itself.

What was typed is never lost: not by a refusal, not while nobody answers, not when the form is closed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Checkbox, Input, Static, TextArea
from textual.worker import Worker

from domain.errors import CountersignError
from domain.requests import Answer, HumanRequest
from domain.shown_text import one_line
from entrypoints.cli.asking import Sender
from entrypoints.review.acts import Act, Field, request_of
from entrypoints.review.answers import failed, told
from entrypoints.review.asking import Asker
from entrypoints.review.page import Page

Stage = Literal["typing", "trying", "tried", "doing"]

Sign = Callable[[Page, Act, HumanRequest], HumanRequest]


class Tick(Checkbox):
    """A box that is seen to be ticked without colours, too."""

    @property
    def BUTTON_INNER(self) -> str:  # type: ignore[override] # noqa: N802 - the toolkit's name, which it reads from the box
        """What is in the box."""
        return "X" if self.value else " "


class ActForm(ModalScreen[Text | None]):
    """Ends with what the todo answered once the act was asked for; None where it was closed before.

    `typed` has what stood in the fields when it was last closed, and is changed.
    """

    BINDINGS = [
        Binding("escape", "back", "Back"),
        Binding("ctrl+s", "go", "Try, then do"),
        Binding("y", "yes", "Do it"),
    ]

    def __init__(self, page: Page, act: Act, asker: Asker, sender: Sender, sign: Sign, typed: dict[str, Any]) -> None:
        super().__init__()
        self._page = page
        self._act = act
        self._asker = asker
        self._sender = sender
        self._sign = sign
        self._typed = typed
        self._request: HumanRequest | None = None
        self._asking: Worker[None] | None = None
        self._asked: Text | None = None
        self.stage: Stage = "typing"

    def compose(self) -> ComposeResult:
        """Title, fields, what was answered, two buttons."""
        name = self._page.name if self._act.command else f"session {self._page.todo.session}"
        title = Text(f"{self._act.title}: {one_line(name)}", "bold")
        if self._act.command is not None:
            title.append(f"  version {self._page.todo.version}", "not bold")
        if self._act.looks:
            title.append(f", tree {self._page.snapshot[:12] or 'none'}", "not bold")
        with VerticalScroll(id="form"):
            yield Static(title)
            if self._act.name == "override":
                yield Static(Text(f"kind: {self._page.needed.kind}"))
            for field in self._act.fields:
                yield from self._compose_field(field)
            yield Static(id="answer")
            with Horizontal(id="buttons"):
                yield Button("Try it (ctrl+s)", variant="primary", id="go")
                yield Button("Back (escape)", id="back")

    def _compose_field(self, field: Field) -> ComposeResult:
        if field.sort == "ticks" and not self._page.needed.names:
            return
        yield Static(Text(field.label), classes="label")
        typed = self._typed.get(field.name, field.default)
        if field.sort == "ticks":
            for number, name in enumerate(self._page.needed.names):
                yield Tick(Text(one_line(name)), value=name in typed, compact=True, id=f"tick-{number}")
        elif field.sort == "text":
            yield TextArea(str(typed), id=f"field-{field.name}")
        else:
            yield Input(str(typed), id=f"field-{field.name}")

    def values(self) -> dict[str, Any]:
        """What stands in the fields."""
        found: dict[str, Any] = {}
        for field in self._act.fields:
            if field.sort == "ticks":
                ticked = {int((box.id or "").removeprefix("tick-")) for box in self.query(Checkbox) if box.value}
                found[field.name] = tuple(n for place, n in enumerate(self._page.needed.names) if place in ticked)
            elif field.sort == "text":
                found[field.name] = self.query_one(f"#field-{field.name}", TextArea).text
            else:
                found[field.name] = self.query_one(f"#field-{field.name}", Input).value
        return found

    def on_mount(self) -> None:
        """What is typed first has the cursor. There is nothing where the screen ends while the form is put together."""
        for first in list(self.query("Checkbox, TextArea, Input, Button"))[:1]:
            first.focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """The same as the keys."""
        if event.button.id == "go":
            self.action_go()
        else:
            self.action_back()

    def on_input_submitted(self) -> None:
        """Enter in a line."""
        self.action_go()

    def action_go(self) -> None:
        """The next step: the trial, then the act."""
        if self.stage == "typing":
            self._try()
        elif self.stage == "tried":
            self.action_yes()

    def action_yes(self) -> None:
        """The act itself, once the trial said what it would change."""
        if self.stage == "tried" and self._request is not None:
            self._run("doing", self._request.model_copy(update={"dry_run": False}))

    def action_back(self) -> None:
        """One step back: to the fields, then out."""
        if self._asking is not None and self.stage in ("trying", "doing"):
            self._asking.cancel()
            late = "nobody waits for the answer any more: it may be done all the same, the timeline will say so"
            self._to("typing", Text(late if self.stage == "doing" else "the trial was given up", "yellow"))
        elif self.stage == "tried":
            self._to("typing", Text("not done", "yellow"))
        else:
            self._typed.update(self.values())
            self.dismiss(self._asked)

    def _try(self) -> None:
        """Made, signed, and asked as a trial. The same signature is then the act's."""
        try:
            request = request_of(self._act, self._page, self.values(), self._sender)
            self._request = self._sign(self._page, self._act, request)
        except CountersignError as error:
            self._to("typing", failed(error))
            return
        self._run("trying", self._request.model_copy(update={"dry_run": True}))

    def _run(self, stage: Stage, request: HumanRequest) -> None:
        self._to(stage, Text("asking ...", "cyan"))
        self._asking = self.run_worker(self._ask(request), exclusive=True)

    async def _ask(self, request: HumanRequest) -> None:
        try:
            answer = await self._asker.ask(self._page, self._act, request)
        except CountersignError as error:
            self._to("typing", self._kept(failed(error), request))
            return
        self._answered(answer, request)

    def _answered(self, answer: Answer, request: HumanRequest) -> None:
        name = self._page.name if self._act.command else f"session {self._page.todo.session}"
        text = told(name, self._act, answer)
        if answer.refused is not None:
            self._to("typing", self._kept(text, request))
        elif answer.dry_run:
            self._to("tried", text)
        else:
            if request.dry_run:
                text.append("\n(whoever answered knows no trials, and has done it)", "yellow")
            self._typed.clear()
            self.dismiss(text)

    def _kept(self, text: Text, request: HumanRequest) -> Text:
        """Remembered where it was no trial: it stays on the screen after the form, and the page is read anew."""
        if not request.dry_run:
            self._asked = text
        return text

    def _to(self, stage: Stage, text: Text) -> None:
        self.stage = stage
        self.query_one("#answer", Static).update(text)
        for field in self.query("Checkbox, TextArea, Input"):
            field.disabled = stage != "typing"
        go = self.query_one("#go", Button)
        go.label = "Do it (y)" if stage in ("tried", "doing") else "Try it (ctrl+s)"
        go.disabled = stage in ("trying", "doing")
        if stage == "tried":
            go.focus()
        elif stage != "typing":
            self.query_one("#back", Button).focus()
        go.scroll_visible(animate=False)
