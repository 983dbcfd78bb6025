"""What an operator can watch of real rounds: metrics over HTTP, traces as a collector gets them, logs on disk."""

from __future__ import annotations

import gzip
import json
import re
import socket
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psutil
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.integration.conftest import Project, alive, make_project, wait_for
from tests.ports import held_for
from workflows.telemetry import ENDS

TRACE = "0af7651916cd43dd8448eb211c80319c"
CALLER = "b7ad6b7169203331"
PRINTED = "what-a-check-printed"
AFTER = {"id": "AC-1", "type": "file_contains", "params": {"path": "a.txt", "pattern": "after"}}
CHECKS = [{"name": "bad", "command": f"echo {PRINTED}; exit 3"}, {"name": "slow", "command": "sleep 1"}]


class Collector:
    """Speaks OTLP over HTTP, as an OpenTelemetry collector does."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.services: set[str] = set()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers["content-encoding"] == "gzip":
                    body = gzip.decompress(body)
                assert self.path == "/v1/traces"
                collector.take(ExportTraceServiceRequest.FromString(body))
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def take(self, request: ExportTraceServiceRequest) -> None:
        for group in request.resource_spans:
            named = {one.key: one.value.string_value for one in group.resource.attributes}
            self.services.add(named["service.name"])
            for scope in group.scope_spans:
                self.spans.extend(scope.spans)

    def of(self, todo: str, name: str = "") -> list[Span]:
        """The spans of a todo's rounds, by name where one is given."""
        mine = (span for span in self.spans if attributes(span).get("countersign.todo") == todo)
        return [span for span in mine if name in ("", span.name)]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def attributes(span: Span) -> dict[str, str | int]:
    return {one.key: one.value.string_value or one.value.int_value for one in span.attributes}


class Watched(Project):
    """A project whose host says everything that it can say."""

    port: int
    collector: Collector

    def metrics(self) -> dict[str, float]:
        """The samples of the endpoint, by name with its labels in order."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=100) as answer:
            lines = answer.read().decode().splitlines()
        return {
            name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        }

    def count(self, name: str, **labels: str) -> float:
        """The sum of the samples of that name that have these labels."""
        wanted = [f'{label}="{value}"' for label, value in labels.items()]
        found = (v for k, v in self.metrics().items() if k.partition("{")[0] == name and all(w in k for w in wanted))
        return sum(found)

    def log(self, name: str) -> list[dict[str, Any]]:
        """The records of a log; every line of it is one."""
        text = (Path(self.status()["state_dir"]) / f"{name}.log").read_text()
        return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """One refused round, one verified, and one that could not tell, on a host with metrics, traces and all logs."""
    made = make_project(tmp_path_factory.mktemp("watched"), tmp_path_factory.mktemp("state"))
    project = Watched(made.root, made.environment)
    project.port, project.collector = held_for(project), Collector()
    project.environment |= {
        "COUNTERSIGN_METRICS_ADDRESS": f"127.0.0.1:{project.port}",
        "COUNTERSIGN_LOG_LEVEL": "debug",
        "COUNTERSIGN_OTEL": "on",
        "OTEL_EXPORTER_OTLP_ENDPOINT": project.collector.url,
        "OTEL_BSP_SCHEDULE_DELAY": "200",
        "COUNTERSIGN_DRAIN_TIMEOUT": "1",
        "TRACEPARENT": f"00-{TRACE}-{CALLER}-01",
    }
    orders: dict[str, tuple[int, dict[str, Any]]] = {
        "wo-bad": (1, {"acceptance_criteria": [AFTER], "verification": {"checks": CHECKS}}),
        "wo-good": (0, {"acceptance_criteria": [AFTER]}),
        "wo-none": (3, {"environment": {"image": "no-such-image:1"}, "verification": {"checks": CHECKS[1:]}}),
    }
    for name, (code, order) in orders.items():
        result = project.run("verify", project.order(id=name, **order))
        assert result.returncode == code, result.stderr
    wait_for(lambda: all(project.collector.of(name, f"round local/{name}/1") for name in orders))
    yield project
    project.collector.close()
    assert project.run("down").returncode == 0


class TestMetrics:
    def test_rounds_and_checks_are_counted_once_by_outcome_and_type(self, watched: Watched) -> None:
        outcomes = {o: watched.count("countersign_rounds_total", outcome=o) for o in ("verified", "changes_requested")}
        assert outcomes == {"verified": 1, "changes_requested": 1}
        assert watched.count("countersign_rounds_total") == 3
        assert watched.count("countersign_rounds_total", outcome="failed") == 0
        series = [name for name in watched.metrics() if name.startswith("countersign_rounds_total")]
        assert len(series) == len(ENDS), "those that have not happened are there, and none is there twice"
        checks = {
            (outcome, kind): watched.count("countersign_checks_total", outcome=outcome, type=kind)
            for outcome in ("passed", "failed", "could_not_run")
            for kind in ("file_contains", "command_exit_zero")
        }
        assert {key: n for key, n in checks.items() if n} == {
            ("passed", "file_contains"): 2,
            ("passed", "command_exit_zero"): 1,
            ("failed", "command_exit_zero"): 1,
            ("could_not_run", "command_exit_zero"): 1,
        }

    def test_a_check_s_seconds_are_its_own_and_in_buckets_of_seconds(self, watched: Watched) -> None:
        assert watched.count("countersign_check_seconds_count", type="command_exit_zero") == 2, "of those that ran"
        assert 1 <= watched.count("countersign_check_seconds_sum", type="command_exit_zero") < 500
        found = (re.search(r'^countersign_check_seconds_bucket\{.*le="([^"]+)"', name) for name in watched.metrics())
        buckets = {match[1] for match in found if match}
        assert {"0.1", "1", "60", "3600", "+Inf"} <= buckets

    def test_every_queue_s_waits_are_measured(self, watched: Watched) -> None:
        host = socket.gethostname()
        for queue, activity, least in (
            ("workflows", "trail.append", 20),
            (f"workspace-{host}", "snapshot.freeze", 3),
            ("sandbox", "check.run", 4),
            ("sandbox", "check.run_on_base", 1),
        ):
            name = "countersign_queue_wait_seconds_count"
            assert watched.count(name, queue=queue, activity=activity) >= least, activity
        assert watched.count("countersign_queue_wait_seconds_sum") < 500

    def test_appends_are_measured_as_often_as_there_are_rows(self, watched: Watched) -> None:
        rows = sum(len(watched.rows(todo)) for todo in ("wo-bad", "wo-good", "wo-none"))
        ended = [r for r in watched.log("worker") if r["event"] == "activity ended" and r["activity"] == "trail.append"]
        assert [r["activity_try"] for r in ended].count(1) == rows
        assert watched.count("countersign_trail_append_seconds_count") == len(ended), (
            "one that took too long is tried again"
        )

    def test_open_rounds_are_counted(self, watched: Watched) -> None:
        wait_for(lambda: watched.metrics()["countersign_rounds_open"] == 0)  # the last one may have ended just now
        order = watched.order(id="wo-open", verification={"checks": [{"name": "wait", "command": "sleep 280"}]})
        running = watched.start("verify", order)
        wait_for(lambda: watched.metrics()["countersign_rounds_open"] == 1)
        running.terminate()
        running.communicate(timeout=60)

    def test_the_sdk_s_own_are_at_the_same_address_in_seconds(self, watched: Watched) -> None:
        assert watched.count("temporal_worker_task_slots_available", worker_type="ActivityWorker") > 0
        assert watched.count("temporal_activity_execution_latency_sum", activity_type="check.run") < 500

    def test_status_says_where(self, watched: Watched) -> None:
        assert watched.status()["metrics"] == f"http://127.0.0.1:{watched.port}/metrics"

    def test_a_worker_that_is_killed_comes_back_with_them(self, watched: Watched) -> None:
        before = watched.status()
        psutil.Process(before["worker_pid"]).kill()
        wait_for(lambda: not alive(before["worker_pid"]))
        wait_for(lambda: watched.status()["metrics"].startswith("http://"))
        assert watched.count("countersign_rounds_total") == 0, "counted anew"
        assert watched.status()["worker_restarts"] == before["worker_restarts"] + 1


class TestTraces:
    def test_a_round_is_a_span_in_its_caller_s_trace(self, watched: Watched) -> None:
        (span,) = watched.collector.of("wo-bad", "round local/wo-bad/1")
        assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE, CALLER)
        assert (
            attributes(span).items()
            >= {
                "countersign.session": "local",
                "countersign.todo": "wo-bad",
                "countersign.attempt": 1,
                "countersign.outcome": "changes_requested",
                "countersign.verdict": "FAIL",
            }.items()
        )
        assert span.end_time_unix_nano - span.start_time_unix_nano > 1e9, "it took what the round took"
        assert watched.collector.services == {"countersign"}

    def test_a_check_is_a_span_of_its_round_with_type_and_outcome(self, watched: Watched) -> None:
        (round_,) = watched.collector.of("wo-bad", "round local/wo-bad/1")
        checks = {span.name: span for span in watched.collector.of("wo-bad") if span.name.startswith("check ")}
        assert set(checks) == {"check AC-1", "check bad", "check slow", "check bad on the base"}
        assert {span.parent_span_id for span in checks.values()} == {round_.span_id}
        bad = {"countersign.check": "bad", "countersign.type": "command_exit_zero", "countersign.outcome": "failed"}
        assert attributes(checks["check bad"]).items() >= bad.items()
        within = (round_.start_time_unix_nano, round_.end_time_unix_nano)
        assert all(within[0] <= s.start_time_unix_nano and s.end_time_unix_nano <= within[1] for s in checks.values())

    def test_what_could_not_be_done_is_an_error_by_type_alone(self, watched: Watched) -> None:
        prepared = watched.collector.of("wo-none", "sandbox.prepare")
        assert {(span.status.code, span.status.message) for span in prepared} == {(2, "ApplicationError")}

    def test_no_output_no_path_and_no_exception_s_text_is_on_a_span(self, watched: Watched) -> None:
        text = "".join(str(span) for span in watched.collector.spans)
        assert PRINTED not in text
        assert str(watched.root) not in text
        assert "no-such-image" not in text


class TestLogs:
    def test_every_line_of_host_and_worker_is_one_record(self, watched: Watched) -> None:
        for name in ("host", "worker"):
            for record in watched.log(name):
                assert {"timestamp", "level", "event", "logger"} <= set(record)
                assert record["timestamp"].endswith("Z")

    def test_records_say_which_round_activity_and_check_they_belong_to(self, watched: Watched) -> None:
        records = watched.log("worker")
        ended = [
            r for r in records if r["event"] == "activity ended" and r.get("check") == "slow" and r["todo"] == "wo-bad"
        ]
        assert {(r["session"], r["attempt"], r["activity"]) for r in ended} == {("local", 1, "check.run")}
        tries = [r["activity_try"] for r in ended]
        assert sorted(tries) == list(range(1, len(tries) + 1)), "a worker that stood still is asked again"
        assert max(r["seconds"] for r in ended) >= 1
        (round_,) = (r for r in records if r["event"] == "round ended" and r["todo"] == "wo-bad")
        assert (round_["outcome"], round_["workflow"]) == ("changes_requested", "round/local/wo-bad/1")

    def test_a_failed_activity_is_one_record_with_its_traceback(self, watched: Watched) -> None:
        failed = [r for r in watched.log("worker") if "exception" in r and r.get("todo") == "wo-none"]
        assert failed
        assert "no-such-image:1" in failed[0]["exception"]
        assert failed[0]["activity"] == "sandbox.prepare"

    def test_the_sdk_does_not_print_payloads(self, watched: Watched) -> None:
        assert not [r for r in watched.log("worker") if PRINTED in json.dumps(r)]


@pytest.mark.slow
def test_an_address_that_another_has_is_said_and_rounds_go_on(project: Project) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        address = f"127.0.0.1:{other.getsockname()[1]}"
        project.environment["COUNTERSIGN_METRICS_ADDRESS"] = address
        order = project.order(verification={"checks": [{"name": "any", "command": "true"}]})
        assert project.run("verify", order).returncode == 0
        status = project.status()
    assert status["metrics"].startswith(f"not served at {address}")
    assert status["worker_restarts"] == 0
    log = (Path(status["state_dir"]) / "worker.log").read_text()
    assert log.count('"event": "metrics are not served"') == 1


def test_spans_that_wait_go_out_when_the_worker_ends(project: Project) -> None:
    collector = Collector()
    project.environment |= {
        "COUNTERSIGN_OTEL": "on",
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_BSP_SCHEDULE_DELAY": "600000",
    }
    order = project.order(id="wo-late", acceptance_criteria=[AFTER])
    assert project.run("verify", order).returncode == 0
    assert collector.of("wo-late") == []
    assert project.run("down").returncode == 0
    wait_for(lambda: bool(collector.of("wo-late", "round local/wo-late/1")))
    collector.close()
