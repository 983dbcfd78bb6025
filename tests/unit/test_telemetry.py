"""Logs: one format for everything, one record a line, nothing that steers a terminal. What a wrong setting is told."""

from __future__ import annotations

import io
import json
import logging
import os
import socket
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from temporalio import workflow

from adapters.config.project_file import read_project_file
from domain.errors import Malformed
from entrypoints.observers import place_of
from entrypoints.telemetry import configure_logs

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    """A process configures its logs once; these tests do it many times."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    logging.captureWarnings(False)
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def logged(write: Callable[[], None], level: str = "info", log_format: str = "json") -> list[str]:
    """The lines that come out of it."""
    stream = io.StringIO()
    configure_logs(level, log_format, stream)
    write()
    return stream.getvalue().splitlines()


def record(write: Callable[[], None]) -> dict[str, Any]:
    """The one record that comes out of it, which is one line."""
    (line,) = logged(write)
    found: dict[str, Any] = json.loads(line)
    return found


def broken() -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError:
        structlog.get_logger("entrypoints.x").exception("it broke", path="a\nb")


class TestJson:
    def test_a_record_of_ours(self) -> None:
        found = record(lambda: structlog.get_logger("entrypoints.x").info("worker polls", queues=["a"]))
        assert found.pop("timestamp").endswith("Z"), "in UTC"
        assert found == {"level": "info", "event": "worker polls", "logger": "entrypoints.x", "queues": ["a"]}

    def test_a_traceback_is_one_line(self) -> None:
        found = record(broken)
        assert found["path"] == "a\nb"
        assert found["exception"].startswith("Traceback (most recent call last):\n")
        assert found["exception"].endswith("ValueError: two\nlines")

    def test_a_library_s_records_look_the_same(self) -> None:
        def library() -> None:
            logging.getLogger("docker.api").warning("slow: %s", "x", exc_info=ValueError("why"))

        found = record(library)
        assert (found["level"], found["event"], found["logger"]) == ("warning", "slow: x", "docker.api")
        assert "ValueError: why" in found["exception"]

    def test_a_warning_of_python_is_a_record(self) -> None:
        def warn() -> None:
            with warnings.catch_warnings():
                warnings.simplefilter("always")
                warnings.warn("old", UserWarning, stacklevel=1)

        assert "UserWarning: old" in record(warn)["event"]

    def test_what_the_sdk_says_beside_its_records_are_fields(self) -> None:
        info = {"workflow_id": "round/local/wo/3", "activity_type": "check.run", "attempt": 2}
        found = record(lambda: logging.getLogger("temporalio.activity").warning("x", extra={"temporal_activity": info}))
        assert {name: found[name] for name in ("session", "todo", "attempt", "activity", "activity_try")} == {
            "session": "local",
            "todo": "wo",
            "attempt": 3,
            "activity": "check.run",
            "activity_try": 2,
        }

    def test_the_context_of_an_activity_is_in_its_records(self) -> None:
        def within() -> None:
            with structlog.contextvars.bound_contextvars(todo="wo", activity="check.run"):
                structlog.get_logger("entrypoints.x").info("seen")

        assert record(within).items() >= {"todo": "wo", "activity": "check.run"}.items()

    def test_the_outcome_that_a_workflow_logs(self) -> None:
        def ended() -> None:
            logging.getLogger("temporalio.workflow").info("round ended", extra={"outcome": "verified", "other": 1})

        found = record(ended)
        assert found["outcome"] == "verified"
        assert "other" not in found


class TestConsole:
    def test_is_one_line_without_colours_off_a_terminal(self) -> None:
        def seen() -> None:
            structlog.get_logger("entrypoints.x").info("seen \x1b[31m\n2026 [critical] forged", path="\x1b]0;x\x07")

        (line,) = logged(seen, log_format="console")
        assert "\x1b" not in line
        assert "\\x1b[31m\\x0a2026 [critical] forged" in line

    def test_a_traceback_shows_no_local_variable(self) -> None:
        def with_a_secret() -> None:
            secret = "hunter" + "2"
            try:
                int("x", base=len(secret) + 4)
            except ValueError:
                structlog.get_logger("entrypoints.x").exception("it broke")

        text = "\n".join(logged(with_a_secret, log_format="console"))
        assert "ValueError" in text
        assert "hunter2" not in text

    def test_auto_is_json_off_a_terminal_and_console_on_one(self) -> None:
        class Terminal(io.StringIO):
            def isatty(self) -> bool:
                return True

        terminal = Terminal()
        configure_logs("info", "auto", terminal)
        structlog.get_logger("entrypoints.x").info("seen")
        assert not terminal.getvalue().startswith("{")
        assert logged(lambda: structlog.get_logger("entrypoints.x").info("seen"), log_format="auto")[0].startswith("{")


class TestLevels:
    @pytest.mark.parametrize(
        ("level", "seen"),
        [
            ("debug", ["entrypoints debug", "entrypoints info", "temporalio.worker info"]),
            ("info", ["entrypoints info", "temporalio.worker info"]),
            ("warning", []),
        ],
    )
    def test_ours_follow_the_setting_and_libraries_only_warn(self, level: str, seen: list[str]) -> None:
        def say() -> None:
            for name in ("entrypoints", "httpx", "temporalio.worker"):
                structlog.get_logger(name).debug(f"{name} debug")
                logging.getLogger(name).info(f"{name} info")

        assert [json.loads(line)["event"] for line in logged(say, level)] == seen

    def test_the_sdk_says_nothing_twice(self) -> None:
        configure_logs("info", "json", io.StringIO())
        assert workflow.logger.workflow_info_on_message is False


@pytest.mark.parametrize(
    ("workflow_id", "place"),
    [
        ("", {}),
        ("session/s", {"session": "s"}),
        ("todo/s/t", {"session": "s", "todo": "t"}),
        ("round/s/t/12", {"session": "s", "todo": "t", "attempt": 12}),
        ("fix/s/t/12", {"session": "s", "todo": "t", "attempt": 12}),
        ("todo/s/12", {"session": "s", "todo": "12"}),
        ("another", {}),
    ],
)
def test_a_workflow_s_id_says_where_it_belongs(workflow_id: str, place: dict[str, object]) -> None:
    assert place_of(workflow_id) == (place | {"workflow": workflow_id} if workflow_id else {})


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("log_format = 'text'", "the text 'text', expected one of auto, json, console"),
        ("log_level = 'loud'", "the text 'loud', expected one of debug, info, warning, error"),
        ("metrics_address = 'localhost:9464'", "'localhost:9464' has no IP address, expected IP:PORT"),
        ("metrics_address = '127.0.0.1'", "'127.0.0.1' has no IP address, expected IP:PORT"),
        ("metrics_address = '127.0.0.1:0'", "'127.0.0.1:0' is no address, expected IP:PORT"),
        ("metrics_address = '127.0.0.1:65536'", "'127.0.0.1:65536' is no address, expected IP:PORT"),
        ("metrics_address = '::1:9464'", "'::1:9464' is no address, expected IP:PORT"),
        ("metrics_address = 9464", "the number 9464, expected IP:PORT, such as 127.0.0.1:9464"),
        ("otel = 'on'", "the text 'on', expected true or false"),
        ("otlp = true", "unknown field 'otlp'"),
    ],
)
def test_wrong_settings_say_what_was_expected(line: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "countersign.toml"
    file.write_text(f"[telemetry]\n{line}\n")
    with pytest.raises(Malformed, match="telemetry") as caught:
        read_project_file(file)
    assert said in str(caught.value)


def run_python(code: str, tmp_path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: a runtime is made once, and modules stay imported."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("COUNTERSIGN_", "OTEL_"))}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=plain | {"PYTHONPATH": str(ROOT), "COUNTERSIGN_PROJECT": str(tmp_path)} | variables,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


START = """
    from adapters.config.settings import load_settings
    from entrypoints import telemetry
    telemetry.start(load_settings())
"""


def test_nothing_of_opentelemetry_is_imported_while_traces_are_off(tmp_path: Path) -> None:
    code = (
        START
        + """
    import sys, entrypoints.host
    assert telemetry.plugins(load_settings()) == []
    print([name for name in sys.modules if name.startswith("opentelemetry")])
    """
    )
    assert run_python(code, tmp_path).stdout == "[]\n"
    assert run_python(code, tmp_path, COUNTERSIGN_OTEL="on").stdout != "[]\n"


def test_traces_without_their_packages_are_refused_with_the_command_that_installs_them(tmp_path: Path) -> None:
    code = """
    import sys
    class Absent:
        def find_spec(self, name, path=None, target=None):
            if name.startswith("opentelemetry"):
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    sys.meta_path.insert(0, Absent())
    from domain.errors import Malformed
    from adapters.config.settings import load_settings
    from entrypoints import telemetry
    try:
        telemetry.require_extras(load_settings())
    except Malformed as error:
        print(error)
    """
    assert run_python(code, tmp_path, COUNTERSIGN_OTEL="on").stdout == (
        "settings:1: otel: is on, and the package opentelemetry is not installed, "
        "expected pip install 'countersign[otel]', or COUNTERSIGN_OTEL=off\n"
    )
    assert run_python(code, tmp_path).stdout == ""


def test_a_metrics_address_that_is_taken_is_an_error_in_the_log_and_no_more(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        address = f"127.0.0.1:{other.getsockname()[1]}"
        result = run_python(START, tmp_path, COUNTERSIGN_METRICS_ADDRESS=address)
    assert result.returncode == 0
    found = json.loads(result.stderr)
    assert (found["level"], found["event"], found["address"]) == ("error", "metrics are not served", address)
    assert "Address already in use" in found["reason"]


def test_a_defect_that_ends_the_process_is_one_record(tmp_path: Path) -> None:
    result = run_python(START + "    raise RuntimeError('two\\nlines')\n", tmp_path)
    assert result.returncode == 1
    found = json.loads(result.stderr)
    assert (found["level"], found["event"]) == ("critical", "the process broke")
    assert "RuntimeError: two\nlines" in found["exception"]
