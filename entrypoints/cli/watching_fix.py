"""What `verify` says while a fix loop runs: a line as each step begins and ends. Its rounds are told as any is."""

from __future__ import annotations

from rich.text import Text

from domain.fix_messages import FixLoopResult, FixProgress, Iteration
from domain.ports import Trail
from domain.roles.spending import MICROS
from entrypoints.cli.output import counted, one_line
from entrypoints.cli.render import Watcher, waits_text
from entrypoints.cli.render_fix import ENDINGS, came_to
from entrypoints.cli.stages import Stages
from entrypoints.following import LoopSeen

DOING = {
    "repairing": "the fix builder repairs the work",
    "applying": "the verified repair is written to the workspace",
    "paused": "paused: nothing new begins",
}
"""What is told of what a loop does; that it decides takes no time, and its end has a line of its own."""


def doing_of(progress: FixProgress) -> str:
    """What a loop does now, in a line; empty for what is not told."""
    said = DOING.get(progress.doing, "")
    if progress.doing == "verifying":
        said = f"round {progress.round.rpartition('/')[2]} verifies the repair"
    return f"fix loop {progress.loop} of {progress.of}: {one_line(said)}" if said else ""


class LoopWatcher:
    """Tells the steps of a fix loop on the console of `watcher`, which tells those of its rounds."""

    def __init__(self, watcher: Watcher, trail: Trail) -> None:
        self._watcher = watcher
        self._trail = trail
        self._told = 0
        self._doing = ""
        self._waits = ""
        self._round = ""

    def see(self, seen: LoopSeen) -> None:
        """Take in how it stands. A round that it names is watched from its beginning."""
        progress = seen.progress
        self._tell_ended(progress.iterations, progress.of)
        doing = doing_of(progress)
        if doing and doing != self._doing:
            self._print(Text(f"▸ {doing}", "cyan"))
        self._doing = doing
        if seen.waits and seen.waits != self._waits:
            self._print(waits_text(seen.waits))
        self._waits = seen.waits
        if self._watcher.live:
            self._watcher.live.update(Text(f"▸ {doing}", "cyan") if doing else "")
        if progress.round and progress.round != self._round:
            self._begin_round(progress.round)

    def end(self, loop: FixLoopResult | None) -> None:
        """Tell what was not told yet of one that has ended, if there was one."""
        if loop is None:
            return
        self._tell_ended(loop.iterations, loop.of)
        word, style = ENDINGS[loop.ending]
        self._print(Text(f"fix loop: {word}, {loop.loops} of {counted((loop.of, 'loop'))} used", style))

    def _begin_round(self, workflow_id: str) -> None:
        """What was told last of the steps was of another round."""
        self._round = workflow_id
        self._watcher.last.clear()
        if self._watcher.stages is not None:
            self._watcher.tell_stages()
            _, session, todo, attempt = workflow_id.split("/")
            self._watcher.stages = Stages(self._trail, session, todo, int(attempt))

    def _tell_ended(self, iterations: tuple[Iteration, ...], of: int) -> None:
        for each in iterations[self._told :]:
            mark, style = ("✓", "green") if each.outcome == "verified" else ("✗", "red")
            text = Text(f"{mark} fix loop {each.loop} of {of}", style)
            cost = f"${each.micros / MICROS:.4f}"
            said = came_to(each.answer, each.edits, each.refused, each.attempt, each.outcome, each.why)
            self._print(text.append(f"  {said}, {cost}", "default"))
        self._told = max(self._told, len(iterations))

    def _print(self, text: Text) -> None:
        self._watcher.console.print(text)
