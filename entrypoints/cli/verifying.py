"""A round of `countersign verify`, followed to its end, and what is said of it. The order was found by `verify`."""

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
from domain.messages import RoundInput, RoundResult
from domain.ports import Trail
from domain.report import Report
from entrypoints import rounds
from entrypoints.cli import common, saving
from entrypoints.cli.render import Watcher, show_report
from entrypoints.cli.stages import Stages
from entrypoints.names import LOCAL_SESSION

EXIT_CODES = {
    RoundOutcome.VERIFIED: 0,
    RoundOutcome.CHANGES_REQUESTED: 1,
    RoundOutcome.FAILED: 1,
    RoundOutcome.INCONCLUSIVE: 3,
    RoundOutcome.NEEDS_HUMAN: 4,
}
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


def verify(work: rounds.Work, begun: Popen[bytes] | None, wanted: Wanted) -> int:
    """Run the round and say what came of it; the exit code. Raises `Unavailable`."""
    trail = _open_trail(begun)
    page: list[str] = []
    inputs: list[RoundInput] = []

    def started(request: RoundInput, server: rounds.Server) -> None:
        inputs.append(request)
        page.append(server.page(request.workflow_id))
        common.err(f"{request.workflow_id}  {page[0]}")
        if wanted.verbose:
            watcher.stages = Stages(trail, request.session, request.todo, request.attempt)

    with Watcher(common.stderr) as watcher:
        try:
            result = asyncio.run(rounds.verify(common.settings(), trail, work, started, watcher.see, begun))
        except KeyboardInterrupt:
            common.err("cancelled: the round was ended and nothing was decided")
            return CANCELLED
        watcher.tell_stages()
    report = _report(result)
    if wanted.output is not None:
        _write(wanted.output, report)
    if wanted.as_json:
        common.emit_json(report)
    else:
        folder = common.open_evidence().place_of(LOCAL_SESSION, work.order.id, inputs[0].attempt)
        show_report(common.stdout, report, folder, page[0], wanted.verbose)
    if wanted.save_into is not None:
        saving.save(wanted.save_into, trail, inputs[0])
    return EXIT_CODES[result.decision.outcome]


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


def _report(result: RoundResult) -> Report:
    return Report.model_validate_json(common.open_evidence().get(result.report))
