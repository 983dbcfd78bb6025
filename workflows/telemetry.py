"""What an ended round tells operators: one log line, and counts. Replays tell nothing.

Durations are the checks' own, in seconds.
"""

from __future__ import annotations

from collections.abc import Iterable

from temporalio import workflow
from temporalio.common import MetricCounter, MetricMeter

with workflow.unsafe.imports_passed_through():
    from domain.checks import CheckResult
    from domain.decision import RoundOutcome

CHECK_SECONDS = "countersign_check_seconds"
ENDS = (*(outcome.value for outcome in RoundOutcome), "cancelled", "error")
"""What `decide` can say, and what keeps it from saying anything."""

CHECK_SECONDS_BUCKETS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600)


def counters(meter: MetricMeter) -> tuple[MetricCounter, MetricCounter]:
    """Rounds that ended, and checks; the same name with another description would be another counter."""
    rounds = meter.create_counter("countersign_rounds_total", "Rounds that ended.")
    checks = meter.create_counter("countersign_checks_total", "Checks and criteria of rounds that were decided.")
    return rounds, checks


def round_ended(outcome: str, results: Iterable[CheckResult] = ()) -> None:
    """A round has come to `outcome`, one of `ENDS`."""
    meter = workflow.metric_meter()
    rounds, checks = counters(meter)
    rounds.add(1, {"outcome": outcome})
    seconds = meter.create_histogram_float(CHECK_SECONDS, "What checks and criteria took by themselves.", "s")
    for result in results:
        checks.add(1, {"outcome": result.outcome.value, "type": result.type})
        if result.isolation != "not_run":
            seconds.record(result.duration_ms / 1000, {"type": result.type})
    workflow.logger.info("round ended", extra={"outcome": outcome})
