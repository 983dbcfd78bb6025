"""A round of `countersign verify` and its fix loop, followed to their end, and what is said of them.

The order was found by `verify`.
"""

from __future__ import annotations

import asyncio
import errno
import json
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen

from adapters.config.order_writing import OrderText
from domain.decision import RoundOutcome
from domain.errors import Cause, CountersignError, Unavailable
from domain.fix_report import fix_loop_report
from domain.messages import RoundInput
from domain.ports import Trail
from domain.report import Report, with_fix_loop
from entrypoints import rounds
from entrypoints.cli import common, saving
from entrypoints.cli.render import Watcher, show_report
from entrypoints.cli.stages import Stages
from entrypoints.cli.watching_fix import LoopWatcher
from entrypoints.following import LoopSeen
from entrypoints.names import LOCAL_SESSION

EXIT_CODES = {
    RoundOutcome.VERIFIED: 0,
    RoundOutcome.CHANGES_REQUESTED: 1,
    RoundOutcome.FAILED: 1,
    RoundOutcome.INCONCLUSIVE: 3,
    RoundOutcome.NEEDS_HUMAN: 4,
}
LOOP_CODES = {"checks_could_not_run": 3, "system_error": 3, "hard_fail": 1}
"""What a fix loop escalated for that is no question to a human first: could not tell, or failed."""

CANCELLED = 130


@dataclass(frozen=True)
class Wanted:
    """How the report is wanted: also in a file, with everything that was printed, as JSON.

    `save_into`: the file that drafted criteria are saved into, None for none.
    """

    output: Path | None
    verbose: bool
    as_json: bool
    save_into: OrderText | None = None


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
    _tell(report, there.server.page(f"round/{report.session}/{report.work_order_id}/{report.attempt}"), wanted)
    if wanted.save_into is not None:
        saving.save(wanted.save_into, trail, there.request)
    return exit_code(ended)


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


def _tell(report: Report, page: str, wanted: Wanted) -> None:
    if wanted.output is not None:
        _write(wanted.output, report)
    if wanted.as_json:
        common.emit_json(report)
    else:
        folder = common.open_evidence().place_of(LOCAL_SESSION, report.work_order_id, report.attempt)
        show_report(common.stdout, report, folder, page, wanted.verbose)


def _open_trail(begun: Popen[bytes] | None) -> Trail:
    """Without a trail there is no round, and nothing for a host that was started for it to do."""
    try:
        return common.open_trail()
    except CountersignError:
        if begun is not None:
            begun.terminate()
        raise


def _write(output: Path, report: Report) -> None:
    try:
        output.write_text(json.dumps(report.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n")
    except OSError as error:
        raise Unavailable(
            Cause.DISK_FULL if error.errno == errno.ENOSPC else Cause.STORE_UNAVAILABLE,
            f"the verdict is {report.verdict}, but the report cannot be written to {output}: {error.strerror}",
            f"countersign evidence show {report.work_order_id} --json prints it",
        ) from error


def _report(ended: rounds.Ended, request: RoundInput) -> Report:
    """That of the last round, with the loop that ended with it."""
    last = ended.loop.result if ended.loop and ended.loop.result else ended.result
    store = common.open_evidence()
    report = Report.model_validate_json(store.get(last.report))
    if ended.loop is None:
        return report
    folder = store.place_of(LOCAL_SESSION, request.todo, request.attempt)
    return with_fix_loop(report, fix_loop_report(ended.loop, folder))
