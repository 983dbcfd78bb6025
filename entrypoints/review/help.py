"""The review's help: every key, what it does, and why it cannot be used now where it cannot."""

from __future__ import annotations

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from domain.shown_text import one_line
from entrypoints.review.acts import ACTS, why_not
from entrypoints.review.page import Page

OTHERS = (
    ("↑ ↓", "the places on the left; tab goes to what is shown, and back"),
    ("[ ]", "the attempt before, and after"),
    ("f", "whole outputs, or only their ends"),
    ("ctrl+r", "read everything anew"),
    ("q", "quit"),
)


class HelpScreen(ModalScreen[None]):
    """Closed by escape, and by the key that opened it."""

    BINDINGS = [Binding("escape,question_mark,q", "dismiss", "Close")]

    def __init__(self, page: Page) -> None:
        super().__init__()
        self._page = page

    def compose(self) -> ComposeResult:
        """One text."""
        with VerticalScroll(id="help"):
            yield Static(help_text(self._page))


def help_text(page: Page) -> Text:
    """Keys and words."""
    text = Text("Keys\n", "bold")
    for act in ACTS:
        why = why_not(act, page)
        text.append(f"\n  {act.key:8}{act.title}", "dim" if why else "bold")
        text.append(f"  {one_line(why, 500)}" if why else "", "yellow")
    for key, what in OTHERS:
        text.append(f"\n  {key:8}{what}")
    text.append("\n\nAn act is tried first: you see what would change, and then ")
    return text.append("y does it. Escape goes back, and keeps what you have typed.")
