"""What a process of ours tells of itself: its log on stderr, and the runtime that serves metrics.

`observers` measures what activities take, `tracing` makes spans; `docs/operating.md` says what an operator sees.
"""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Mapping, MutableMapping
from types import TracebackType
from typing import Any, TextIO

import structlog
from structlog.typing import Processor, WrappedLogger
from temporalio import activity, workflow
from temporalio.plugin import SimplePlugin
from temporalio.runtime import (
    LogForwardingConfig,
    LoggingConfig,
    PrometheusConfig,
    Runtime,
    TelemetryConfig,
    TelemetryFilter,
)

from adapters.config.settings import Settings
from domain.errors import Malformed, Problem
from entrypoints.observers import BUCKETS, place_of

OURS = ("__main__", "activities", "adapters", "domain", "entrypoints", "worker", "workflows")
"""Loggers that follow the level of the settings. Temporal's say no more than `info`, other libraries only warn."""

CORE = "temporalio.core"
SEVERAL_LINES = ("exception", "stack")

log = structlog.get_logger("entrypoints.telemetry")


def _context_of_record(_: WrappedLogger, __: str, event: MutableMapping[str, Any]) -> Mapping[str, Any]:
    """What the SDK says beside its records: which workflow, which activity, and the core's own fields."""
    record = event.get("_record")
    said: dict[str, Any] = {}
    for name in ("temporal_workflow", "temporal_activity"):
        info = getattr(record, name, None) or {}
        said |= place_of(info.get("workflow_id") or "")
        if "activity_type" in info:
            said |= {"activity": info["activity_type"], "activity_try": info["attempt"]}
    core = getattr(record, "temporal_log", None)
    if core is not None:
        said |= {"target": core.target, **core.fields}
    for name, value in said.items():
        event.setdefault(name, value)
    return event


PROCESSORS: tuple[Processor, ...] = (
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.stdlib.ExtraAdder(allow=["outcome"]),
    structlog.stdlib.PositionalArgumentsFormatter(),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    _context_of_record,
    structlog.processors.StackInfoRenderer(),
    structlog.processors.format_exc_info,
)
"""What every record goes through, ours, the libraries' and the SDK's: the end of it sees all that will be printed."""


def _visible(_: WrappedLogger, __: str, event: MutableMapping[str, Any]) -> Mapping[str, Any]:
    """Nothing that could steer a terminal or look like another record: names and outputs come from workers."""
    for name, value in event.items():
        if isinstance(value, str):
            kept = "\n\t" if name in SEVERAL_LINES else ""
            event[name] = "".join(c if c.isprintable() or c in kept else f"\\x{ord(c):02x}" for c in value)
    return event


def _in_order(_: WrappedLogger, __: str, event: MutableMapping[str, Any]) -> Mapping[str, Any]:
    """When, how bad and what before everything else, for people who read the lines as they are."""
    first = {name: event.pop(name) for name in ("timestamp", "level", "event") if name in event}
    return {**first, **dict(sorted(event.items()))}


def configure_logs(level: str, log_format: str, stream: TextIO | None = None) -> None:
    """Everything that is logged, one format, to `stream` (default: stderr).

    `auto` is `console` on a terminal and `json`, one record a line whatever is in it, everywhere else.
    """
    stream = stream or sys.stderr
    as_json = log_format == "json" or (log_format == "auto" and not stream.isatty())
    renderers: list[Processor] = [structlog.stdlib.ProcessorFormatter.remove_processors_meta]
    if as_json:
        renderers += [_in_order, structlog.processors.JSONRenderer()]
    else:
        plain = structlog.dev.plain_traceback  # the default shows local variables, secrets among them
        renderers += [
            _visible,
            structlog.dev.ConsoleRenderer(colors=stream.isatty(), exception_formatter=plain, pad_event_to=0),
        ]
    handler = logging.StreamHandler(stream)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(foreign_pre_chain=PROCESSORS, processors=renderers))
    number = logging.getLevelNamesMapping()[level.upper()]
    logging.basicConfig(handlers=[handler], level=max(number, logging.WARNING), force=True)
    for name in OURS:
        logging.getLogger(name).setLevel(number)
    logging.getLogger("temporalio").setLevel(max(number, logging.INFO))  # below, it prints whole payloads
    logging.captureWarnings(True)
    # They are fields of the record already.
    workflow.logger.workflow_info_on_message = activity.logger.activity_info_on_message = False
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *PROCESSORS,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )


def log_errors() -> None:
    """For a command, which prints by itself what it has to say: only errors are logged."""
    configure_logs("error", "auto")
    Runtime.set_default(Runtime(telemetry=_config(None)))


def start(settings: Settings) -> None:
    """For a worker, before its first client: logs, metrics, traces.

    Raises `Malformed` when traces are asked for and the packages are missing. An address that is taken is logged
    as an error, and work goes on without metrics: a verdict does not depend on who watches.
    """
    configure_logs(settings.log_level, settings.log_format)
    sys.excepthook = _log_defect
    Runtime.set_default(_runtime(settings.metrics_address))
    if settings.otel:
        _tracing().start()


def stop(settings: Settings) -> None:
    """Send what was not sent yet; for a process that ends without `atexit`."""
    if settings.otel:
        _tracing().stop()


def plugins(settings: Settings) -> list[SimplePlugin]:
    """What a client and its workers need for traces. Raises `Malformed` like `start`."""
    made: list[SimplePlugin] = _tracing().plugins() if settings.otel else []
    return made


def require_extras(settings: Settings) -> None:
    """Say now what a process that is about to be started would end with. Raises `Malformed` like `start`."""
    if settings.otel:
        _tracing()


def _runtime(address: str | None) -> Runtime:
    if address is None:
        return Runtime(telemetry=_config(None))
    served = PrometheusConfig(bind_address=address, durations_as_seconds=True, histogram_bucket_overrides=BUCKETS)
    try:
        runtime = Runtime(telemetry=_config(served))
    except ValueError as error:
        log.error(
            "metrics are not served",
            address=address,
            reason=str(error),
            next_step="end what listens there or set another COUNTERSIGN_METRICS_ADDRESS, then start the worker again",
        )
        return Runtime(telemetry=_config(None))
    log.info("metrics are served", url=f"http://{address}/metrics")
    return runtime


def _config(metrics: PrometheusConfig | None) -> TelemetryConfig:
    """Without forwarding, the core would write to stdout by itself."""
    forwarding = LogForwardingConfig(
        logger=logging.getLogger(CORE),
        append_target_to_name=False,
        prepend_target_on_message=False,
        append_log_fields_to_message=False,
    )
    levels = TelemetryFilter(core_level="WARN", other_level="ERROR")
    return TelemetryConfig(
        logging=LoggingConfig(filter=levels, forwarding=forwarding), metrics=metrics, attach_service_name=False
    )


def _tracing() -> Any:
    """The module that makes spans; its packages are an extra, and nothing imports them while traces are off."""
    try:
        return importlib.import_module("entrypoints.tracing")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "opentelemetry":
            raise
        problem = Problem(
            file="settings",
            line=1,
            field="otel",
            what=f"is on, and the package {error.name} is not installed",
            expected="expected pip install 'countersign[otel]', or COUNTERSIGN_OTEL=off",
        )
        raise Malformed([problem]) from error


def _log_defect(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """What nobody caught, as a record: a traceback over many lines would be many records to whoever collects them."""
    log.critical("the process broke", exc_info=(kind, error, trace))
