"""What is shown as it comes along: live on a terminal, a line a change elsewhere. What that is, is not here."""

from __future__ import annotations

from typing import Self

from rich.console import Console
from rich.live import Live


class Watching:
    """`live` on a terminal; elsewhere `last` keeps what was said last of each thing, by a key."""

    def __init__(self, console: Console, per_second: int) -> None:
        self.console = console
        self.last: dict[str, str] = {}
        self.live = (
            Live(console=console, refresh_per_second=per_second, transient=True) if console.is_terminal else None
        )

    def __enter__(self) -> Self:
        if self.live:
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live:
            self.live.stop()
