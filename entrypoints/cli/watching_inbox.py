"""`countersign inbox --watch`: what waits as it comes and goes, live on a terminal, elsewhere a few lines a change."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from pydantic_core import to_jsonable_python
from rich.console import Group
from rich.text import Text

from adapters.masking.known import KNOWN
from domain.errors import Unavailable
from entrypoints.cli import common
from entrypoints.cli.render_inbox import headline, lines
from entrypoints.cli.waits import Waiting
from entrypoints.cli.watching import Watching

Event = Literal["waiting", "changed", "resolved"]
Key = tuple[str, str]

_ALWAYS_CHANGES: Mapping[str, object] = {"waited": 0, "cost_usd": 0.0}
"""Of an entry, and no reason to show it again."""


class InboxWatcher(Watching):
    """Shows what waits now, and elsewhere than on a terminal only what is otherwise than it was."""

    def __init__(self, *, as_json: bool) -> None:
        super().__init__(common.stdout, per_second=4)
        self._json = as_json
        if as_json:
            self.live = None
        self._known: dict[Key, Waiting] = {}

    def see(self, found: Sequence[Waiting]) -> None:
        """Take in what waits now."""
        if self.live:
            self.live.update(_picture(found))
            return
        now = {(each.session, each.todo): each for each in found}
        for key, entry in self._known.items():
            if key not in now:
                self._tell("resolved", entry)
        for key, entry in now.items():
            before = self._known.get(key)
            if before is None:
                self._tell("waiting", entry)
            elif _lasting(before) != _lasting(entry):
                self._tell("changed", entry)
        self._known = now
        sys.stdout.flush()

    def _tell(self, event: Event, entry: Waiting) -> None:
        if self._json:
            plain = KNOWN.value(to_jsonable_python({"event": event, "entry": entry}))
            sys.stdout.write(json.dumps(plain) + "\n")
            return
        common.out(f"{event}: {headline(entry)}")
        for line in [] if event == "resolved" else list(lines(entry))[1:]:
            common.out(line)


def watch(look: Callable[[], Sequence[Waiting]], watcher: InboxWatcher, wait: Callable[[], None]) -> None:
    """Show what `look` finds, again and again, until `wait` raises; Ctrl-C is how it ends.

    A trail that cannot be read for a while is said on stderr once, and asked again. Raises `Unavailable` only where it
    cannot be read at the start.
    """
    try:
        with watcher:
            watcher.see(look())
            away = False
            while True:
                wait()
                try:
                    watcher.see(look())
                except Unavailable as error:
                    if not away:
                        common.err(common.visible(f"the trail cannot be read now: {error.reason}; asking again"))
                    away = True
                else:
                    if away:
                        common.err("the trail can be read again")
                    away = False
    except KeyboardInterrupt:
        return


def _lasting(entry: Waiting) -> Waiting:
    return entry.model_copy(update=_ALWAYS_CHANGES)


def _picture(found: Sequence[Waiting]) -> Group:
    if not found:
        return Group(Text("nothing waits for a human", "dim"))
    return Group(*(Text(line, "" if line.startswith(" ") else "bold") for entry in found for line in lines(entry)))
