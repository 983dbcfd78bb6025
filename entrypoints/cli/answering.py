"""Says what a round came to: the report, on the screen and in a file, and the exit code of its outcome.

A round that was decided before answers here, too, and nothing is started for it.
"""

from __future__ import annotations

import errno
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from adapters.sandbox.present import PresentImages, id_on
from adapters.trail.reading import SqliteRows
from domain.decision import RoundOutcome
from domain.errors import Cause, Unavailable
from domain.report import Report
from entrypoints.cli import common
from entrypoints.cli.render import show_report
from entrypoints.names import IMAGES_DIR, LOCAL_SESSION, trail_file
from entrypoints.remembered import Forgotten, Memory, request_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from adapters.config.order_writing import OrderText
    from domain.authority import Authority
    from domain.claims.claim import Claim
    from domain.order import Order
    from entrypoints.remembered import ImagesThere, Rows

EXIT_CODES = {
    RoundOutcome.VERIFIED: 0,
    RoundOutcome.CHANGES_REQUESTED: 1,
    RoundOutcome.FAILED: 1,
    RoundOutcome.INCONCLUSIVE: 3,
    RoundOutcome.NEEDS_HUMAN: 4,
}


@dataclass(frozen=True)
class Wanted:
    """How the report is wanted: also in a file, with everything that was printed, as JSON.

    `save_into`: the file that drafted criteria are saved into, None for none.
    """

    output: Path | None
    verbose: bool
    as_json: bool
    save_into: OrderText | None = None


def from_memory(
    order: Order,
    order_file: str,
    claim: Claim | None,
    authority: Authority,
    beside: Mapping[str, str],
    wanted: Wanted,
) -> int | None:
    """Tell the verdict of an earlier round about the same; its exit code, None where there is none."""
    found = Memory(common.settings(), _rows(), common.open_evidence(), _images).answer(
        request_of(order, order_file, claim, authority, beside)
    )
    if isinstance(found, Forgotten):
        common.err(common.visible(f"run again: round {found.attempt} was on the same work, but {found.why}"))
    if not isinstance(found, Report):
        return None
    tell(found, "", wanted)
    return EXIT_CODES[found.outcome]


def _rows() -> Rows:
    """The trail, read as directly as its database lets."""
    file = trail_file(common.settings())
    return SqliteRows(file) if file else common.open_trail()


def _images() -> ImagesThere:
    """The engine's images, as the worker would find them."""
    settings = common.settings()
    return PresentImages(id_on(settings.docker_host), IMAGES_DIR, settings.base_image)


def tell(report: Report, page: str, wanted: Wanted) -> None:
    """Write and show `report` as it is wanted; `page`: where its round is in the Web UI, if that is known."""
    if wanted.output is not None:
        _write(wanted.output, report)
    if wanted.as_json:
        common.emit_json(report)
    else:
        folder = common.open_evidence().place_of(LOCAL_SESSION, report.work_order_id, report.attempt)
        show_report(common.stdout, report, folder, page, wanted.verbose)


def _write(output: Path, report: Report) -> None:
    try:
        output.write_text(json.dumps(report.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n")
    except OSError as error:
        raise Unavailable(
            Cause.DISK_FULL if error.errno == errno.ENOSPC else Cause.STORE_UNAVAILABLE,
            f"the verdict is {report.verdict}, but the report cannot be written to {output}: {error.strerror}",
            f"countersign evidence show {report.work_order_id} --json prints it",
        ) from error
