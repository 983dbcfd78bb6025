"""A round of `countersign verify` and its fix loop, followed to their end, and what is said of them.

The order was found by `verify`.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from subprocess import Popen

from domain.decision import RoundOutcome
from domain.errors import CountersignError
from domain.fix_report import fix_loop_report
from domain.messages import RoundInput
from domain.ports import Trail
from domain.report import Report, with_fix_loop
from entrypoints import rounds
from entrypoints.cli import common, saving, waits
from entrypoints.cli.answering import EXIT_CODES, Wanted, tell
from entrypoints.cli.render import Watcher
from entrypoints.cli.stages import Stages
from entrypoints.cli.watching_fix import LoopWatcher
from entrypoints.following import LoopSeen
from entrypoints.names import LOCAL_SESSION

LOOP_CODES = {"checks_could_not_run": 3, "system_error": 3, "hard_fail": 1}
"""What a fix loop escalated for that is no question to a human first: could not tell, or failed."""

CANCELLED = 130


@dataclass
class Begun:
    """The round of this command, once it is there, and whether its fix loop runs."""

    request: RoundInput | None = None
    server: rounds.Server | None = None
    looping: bool = False


def verify(work: rounds.Work, begun: Popen[bytes] | None, wanted: Wanted) -> int:
    """Run the round and its fix loop, and say what came of them; the exit code. Raises `Unavailable`."""
    trail = _open_trail(begun)
    there = Begun()

    def started(request: RoundInput, server: rounds.Server) -> None:
        there.request, there.server = request, server
        common.err(f"{request.workflow_id}  {server.page(request.workflow_id)}")
        if wanted.verbose:
            watcher.stages = Stages(trail, request.session, request.todo, request.attempt)

    def repaired(seen: LoopSeen) -> None:
        there.looping = True
        looking.see(seen)

    with Watcher(common.stderr) as watcher:
        looking = LoopWatcher(watcher, trail)
        try:
            ended = asyncio.run(rounds.verify(common.settings(), trail, work, started, watcher.see, begun, repaired))
        except KeyboardInterrupt:
            common.err(_cancelled(there))
            return CANCELLED
        watcher.tell_stages()
        looking.end(ended.loop)
    assert there.request is not None, "it has ended"
    assert there.server is not None, "as above"
    report = _report(ended, there.request)
    if exit_code(ended) == EXIT_CODES[RoundOutcome.NEEDS_HUMAN]:
        report = report.model_copy(update={"next": _decisions(trail, there.request)})
    tell(report, there.server.page(f"round/{report.session}/{report.work_order_id}/{report.attempt}"), wanted)
    if wanted.save_into is not None:
        saving.save(wanted.save_into, trail, there.request)
    return exit_code(ended)


def _decisions(trail: Trail, request: RoundInput) -> tuple[str, ...]:
    """The commands by which a person decides about the round, as the inbox has them."""
    found = waits.waiting(trail.state(request.session, request.todo))
    return tuple(command for entry in found for command in entry.next)


def exit_code(ended: rounds.Ended) -> int:
    """By what the fix loop came to, where there was one, else by the round."""
    loop = ended.loop
    if loop is None:
        return EXIT_CODES[ended.result.decision.outcome]
    if loop.ending == "escalated":
        return LOOP_CODES.get(loop.trigger, EXIT_CODES[RoundOutcome.NEEDS_HUMAN])
    return 1 if loop.ending == "aborted" else 0


def _cancelled(there: Begun) -> str:
    if there.looping:
        return "cancelled: the fix loop was ended, and nothing of it goes into the workspace"
    return "cancelled: the round was ended and nothing was decided"


def _open_trail(begun: Popen[bytes] | None) -> Trail:
    """Without a trail there is no round, and nothing for a host that was started for it to do."""
    try:
        return common.open_trail()
    except CountersignError:
        if begun is not None:
            begun.terminate()
        raise


def _report(ended: rounds.Ended, request: RoundInput) -> Report:
    """That of the last round, with the loop that ended with it."""
    last = ended.loop.result if ended.loop and ended.loop.result else ended.result
    store = common.open_evidence()
    report = Report.model_validate_json(store.get(last.report))
    if ended.loop is None:
        return report
    folder = store.place_of(LOCAL_SESSION, request.todo, request.attempt)
    return with_fix_loop(report, fix_loop_report(ended.loop, folder))
