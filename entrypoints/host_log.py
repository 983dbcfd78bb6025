"""The host's own log: records like those of `telemetry`, written without its libraries."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime

_LEVELS = ("debug", "info", "warning", "error", "critical")
_LOGGER = "entrypoints.embedded"


class HostLog:
    """Writes to stderr: JSON, one record a line, unless `log_format` is `console`."""

    def __init__(self, level: str, log_format: str) -> None:
        self._written = _LEVELS[_LEVELS.index(level) :]
        self._json = log_format == "json" or (log_format == "auto" and not sys.stderr.isatty())

    def info(self, event: str, **fields: object) -> None:
        """Something that an operator expects."""
        self._write("info", event, fields)

    def warning(self, event: str, **fields: object) -> None:
        """Something that passed, or will."""
        self._write("warning", event, fields)

    def error(self, event: str, **fields: object) -> None:
        """Something that a person has to see to."""
        self._write("error", event, fields)

    def _write(self, level: str, event: str, fields: dict[str, object]) -> None:
        if level not in self._written:
            return
        now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        if self._json:
            text = json.dumps({"event": event, **fields, "level": level, "logger": _LOGGER, "timestamp": now})
        else:
            said = " ".join(f"{name}={value!r}" for name, value in fields.items())
            text = f"{now} [{level:8}] {event} {said} [{_LOGGER}]"
        print(text, file=sys.stderr, flush=True)
