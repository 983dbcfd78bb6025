"""Asking a server of the work's own: the real driver against real sockets, and a scripted sandbox for the rest."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from adapters.checkers.http_driver import BODY
from adapters.checkers.http_response import HttpResponseChecker, environment
from domain.checks import Item, Observation, Outcome
from domain.criteria import HttpResponse, HttpResponseParams
from domain.errors import Cause, Unavailable
from domain.order import Resources
from domain.ports import CheckContext, Finding, ProbeRequest, RunRequest, Served
from tests.unit.test_checkers import Scripted

Serve = Callable[[socket.socket], None]


class Serving(Scripted):
    """A sandbox that answers with what it was told to."""

    def __init__(self, served: Served) -> None:
        super().__init__(Observation(exit_code=0))
        self.served = served
        self.probes: list[ProbeRequest] = []

    async def serve(self, served: RunRequest, probe: ProbeRequest) -> Served:
        self.requests.append(served)
        self.probes.append(probe)
        return self.served


class Probing(Serving):
    """A sandbox without walls for the probe; what is served is the test's own. `over`: after it the time is up."""

    def __init__(self, server: Observation | None = None, over: str = "") -> None:
        self.over = over
        super().__init__(Served(probe=Observation(exit_code=0), server=server or Observation(exit_code=0)))

    async def serve(self, served: RunRequest, probe: ProbeRequest) -> Served:
        program = probe.env["COUNTERSIGN_PROBE"]
        if self.over:
            assert program.count(self.over) == 1
            program = program.replace(self.over, f"{self.over}; signal.raise_signal(signal.SIGALRM)")
        process = await asyncio.create_subprocess_exec(
            *("timeout", "-k", "60", str(served.timeout + 300), "sh", "-c", probe.command),
            env={
                "PATH": os.environ["PATH"],
                "http_proxy": "http://127.0.0.1:9/",
                **probe.env,
                "COUNTERSIGN_PROBE": program,
            },
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            out, err = await process.communicate()
        finally:
            if process.returncode is None:
                process.terminate()
                await process.wait()
        seen = Observation(exit_code=process.returncode or 0, stdout=out.decode(), stderr=err.decode())
        return self.served.model_copy(update={"probe": seen})


def params(url: str = "http://127.0.0.1:8000/health", **more: Any) -> dict[str, Any]:
    return {"serve": "./serve", "url": url, **more}


async def checked(sandbox: Scripted, asked: dict[str, Any], limit: float = 120.0) -> Finding:
    criterion = HttpResponse.model_validate({"id": "AC-1", "type": "http_response", "params": asked, "timeout": limit})
    context = CheckContext(
        round="round/s/t/1",
        tree="f" * 64,
        image="sha256:abc",
        resources=Resources(),
        build=("make",),
        probe_image="sha256:probe",
    )
    return await HttpResponseChecker(sandbox).check(Item(spelling="criterion", criterion=criterion), context)


def _request(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data and (piece := connection.recv(1 << 16)):
        data += piece
    length = re.search(rb"Content-Length: (\d+)", data)
    whole = data.index(b"\r\n\r\n") + 4 + int(length[1] if length else 0) if data else 0
    while len(data) < whole and (piece := connection.recv(1 << 16)):
        data += piece
    return data


@contextmanager
def serving(*answers: Serve, after: float = 0.0) -> Iterator[tuple[str, list[bytes]]]:
    """A server that handles each connection by the next of `answers`, the last one for ever; its URL, what it read."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    read: list[bytes] = []

    def work() -> None:
        time.sleep(after)
        listener.listen()
        number = 0
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                read.append(_request(connection))
                with suppress(OSError):  # it has heard enough
                    answers[min(number, len(answers) - 1)](connection)
            number += 1

    threading.Thread(target=work, daemon=True).start()
    try:
        yield url, read
    finally:
        with suppress(OSError):  # wakes the thread; not connected, where it never listened
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def says(data: bytes) -> Serve:
    return lambda connection: connection.sendall(data)


def ok(body: bytes, status: str = "200 OK", more: str = "") -> Serve:
    return says(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode() + body)


async def asked(
    *answers: Serve, path: str = "/", limit: float = 120.0, after: float = 0.0, over: str = "", **more: Any
) -> Finding:
    with serving(*answers, after=after) as (url, _):
        return await checked(Probing(over=over), params(url + path, **more), limit)


# the driver, and what is made of what it tells


async def test_an_answer_that_is_right_passes_with_all_that_was_seen() -> None:
    finding = await asked(ok(b'{"ok": true, "n": 1}', more="X-A: b\r\n"), json={"ok": True})
    assert (finding.outcome, finding.code, finding.text) == (Outcome.PASSED, "ok", "status 200, 20 bytes")
    assert finding.out_of_process
    answer = finding.seen["answer"]
    assert isinstance(answer, dict)
    assert answer["headers"] == [["Content-Length", "20"], ["X-A", "b"]]
    assert (answer["status"], answer["body_head"], answer["body_bytes"]) == (200, '{"ok": true, "n": 1}', 20)
    assert finding.seen["probe_image"] == "sha256:probe"


async def test_the_request_is_sent_as_the_criterion_says() -> None:
    with serving(ok(b"")) as (url, read):
        more = {"method": "POST", "headers": {"Accept": "a/b", "X": "\u20ac"}, "request_body": "\u00e9\n"}
        finding = await checked(Probing(), params(f"{url}/a/\u00e9?x=%20&y=1#z", **more))
    assert finding.code == "ok"
    head, _, body = read[0].partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert lines[0] == b"POST /a/%C3%A9?x=%20&y=1 HTTP/1.1"
    assert {b"Accept: a/b", b"X: \xe2\x82\xac", b"Content-Length: 3"} <= set(lines)
    assert body == "\u00e9\n".encode()


@pytest.mark.parametrize(
    ("answer", "more", "code"),
    [
        (ok(b"no", "404 Not Found"), {}, "wrong_status"),
        (ok(b"no", "404 Not Found"), {"status": 404}, "ok"),
        (ok(b"no"), {"body": "yes"}, "wrong_body"),
        (ok(b"no"), {"json": 1}, "not_json"),
        (ok(b"1"), {"json": True}, "wrong_json"),
        (ok(b"", "302 Found", "Location: /other\r\n"), {}, "wrong_status"),
        (
            says(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"),
            {"body": "abc"},
            "ok",
        ),
        (says(b"HTTP/1.0 200 OK\r\n\r\nabc"), {"body": "abc"}, "ok"),
        (says(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"), {"body": "abc"}, "bad_answer"),
        (says(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), {}, "bad_answer"),
        (says(b"SSH-2.0-x\r\n\r\n"), {}, "bad_answer"),
        (says(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 200 + b"\r\n"), {}, "bad_answer"),
        (says(b"HTTP/1.1 200 OK\r\nA: " + b"b" * 100_000 + b"\r\n\r\n"), {}, "bad_answer"),
    ],
)
async def test_answers(answer: Serve, more: dict[str, Any], code: str) -> None:
    finding = await asked(answer, **more)
    assert (finding.code, finding.outcome is Outcome.PASSED) == (code, code == "ok")


async def test_the_answer_to_head_has_no_body() -> None:
    finding = await asked(says(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"), method="HEAD", body="")
    assert finding.code == "ok"


async def test_a_server_that_begins_late_or_closes_at_first_is_asked_again() -> None:
    assert (await asked(ok(b"x"), after=0.5, body="x")).code == "ok"
    with serving(says(b""), says(b""), ok(b"x")) as (url, read):
        assert (await checked(Probing(), params(url, body="x"))).code == "ok"
    assert len(read) == 3


async def test_nothing_that_answers_is_told_in_time() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        async with asyncio.timeout(60):  # it would ask for ever
            finding = await checked(Probing(), params(f"http://127.0.0.1:{port}/"), 1.0)
        refused = await checked(Probing(over="time.sleep(PAUSE)"), params(f"http://127.0.0.1:{port}/"))
    assert (finding.outcome, finding.code) == (Outcome.FAILED, "no_answer")
    assert f"nothing answered at http://127.0.0.1:{port}/ within 1 s" in finding.text
    assert (refused.code, "refused" in refused.text) == ("no_answer", True), refused.text


def _trickle(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        connection.sendall(b"x")
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("answer", "codes"),
    [(lambda _: time.sleep(3), {"no_answer"}), (_trickle, {"no_answer", "bad_answer"})],
    ids=["silent", "trickle"],
)
async def test_a_server_that_holds_on_is_left_in_time(answer: Serve, codes: set[str]) -> None:
    async with asyncio.timeout(60):  # it would wait for ever
        finding = await asked(answer, limit=1.0)
    assert finding.outcome is Outcome.FAILED
    assert finding.code in codes, "whether it had begun to answer by then"


async def test_an_answer_that_has_begun_when_the_time_is_up_is_a_bad_one() -> None:
    finding = await asked(_trickle, over="body += piece")
    assert (finding.outcome, finding.code) == (Outcome.FAILED, "bad_answer")
    assert "the answer did not end in time" in finding.text


async def test_a_body_is_read_to_a_bound_and_is_kept_whole_below_it() -> None:
    edge = "a" * BODY
    assert (await asked(ok(edge.encode()), body=edge)).code == "ok"
    assert (await asked(ok(edge.encode() + b"a"), body=edge + "a")).code == "answer_too_large"
    finding = await asked(ok(os.urandom(4 * BODY)))
    assert finding.code == "ok"
    assert len(str(finding.seen["probe"])) < 1024 * 1024


# everything but an answer


def served(stdout: str = "", ended: bool = False, exit_code: int = 0, **server: Any) -> Served:
    return Served(
        probe=Observation(exit_code=exit_code, stdout=stdout),
        server=Observation.model_validate({"exit_code": 3, "stdout": "out", "stderr": "err\n", **server}),
        ended=ended,
    )


def answer(body: bytes = b"x", **more: Any) -> str:
    text = base64.b64encode(body).decode()
    return json.dumps({"status": 200, "headers": [], "body": text, "truncated": False, "error": "", **more})


@pytest.mark.parametrize(
    ("seen", "outcome", "code"),
    [
        (served(answer()), Outcome.PASSED, "ok"),
        (served(answer(), ended=True), Outcome.PASSED, "ok"),
        (served(ended=True), Outcome.FAILED, "server_ended"),
        (served(answer(status=None, error="refused"), ended=True), Outcome.FAILED, "server_ended"),
        (served(), Outcome.FAILED, "no_answer"),
        (served(answer() + answer()), Outcome.FAILED, "no_answer"),
        (served(answer(body=b"x").replace('"eA=="', '"%%"')), Outcome.FAILED, "no_answer"),
        (served(answer(status=True)), Outcome.FAILED, "no_answer"),
        (served(answer(), flooded=True), Outcome.FAILED, "output_flood"),
        (served(answer(), oom_killed=True), Outcome.FAILED, "out_of_memory"),
        (served(ended=True, build_failed=True), Outcome.FAILED, "build_failed"),
        (served(copy_failed=True), Outcome.COULD_NOT_RUN, "copy_failed"),
        (served(timed_out=True), Outcome.FAILED, "no_answer"),
    ],
)
async def test_what_was_served_is_judged(seen: Served, outcome: Outcome, code: str) -> None:
    finding = await checked(Serving(seen), params(body="x"))
    assert (finding.outcome, finding.code) == (outcome, code)
    assert (finding.stdout, finding.stderr) == ("out", "err\n")


async def test_a_server_that_ended_is_told_with_its_last_words_escaped() -> None:
    finding = await checked(Serving(served(ended=True, stderr="x" * 9000 + "\x1b[2Jboom\n")), params())
    assert finding.exit_code == 3
    assert "ended with exit code 3 before it answered http://127.0.0.1:8000/health: xxx" in finding.text
    assert finding.text.endswith("\\x1b[2Jboom")
    assert len(finding.text) < 500


async def test_a_probe_that_cannot_ask_is_no_verdict() -> None:
    with pytest.raises(Unavailable) as raised:
        await checked(Serving(served(exit_code=127)), params())
    assert raised.value.cause is Cause.IMAGE_UNSUITABLE


async def test_the_server_and_the_probe_are_asked_for_as_the_criterion_says() -> None:
    sandbox = Serving(served(answer()))
    expected: dict[str, Any] = {"status": 418, "body": "SECRET", "body_contains": "SECRET", "json": "SECRET"}
    await checked(sandbox, params(cwd="sub", env={"A": "b"}, **expected), 7.0)
    (request,), (probe,) = sandbox.requests, sandbox.probes
    assert request.key == f"round/s/t/1/AC-1/{'f' * 16}"
    assert (request.command, request.cwd, request.env) == ("./serve", "sub", {"A": "b"})
    assert (request.build, request.timeout, request.image) == (("make",), 7.0, "sha256:abc")
    assert probe.image == "sha256:probe"
    for text in (request.model_dump_json(), probe.model_dump_json()):
        assert "SECRET" not in text
        assert "418" not in text


def test_a_request_is_told_in_parts_that_fit_a_variable_and_too_large_a_one_not_at_all() -> None:
    body = "\U0001f600" * (96 * 1024)
    env = environment(HttpResponseParams.model_validate(params(request_body=body)), 5.0)
    assert env is not None
    assert all(len(value) < 128 * 1024 for value in env.values())
    job = json.loads("".join(env[f"COUNTERSIGN_JOB_{n}"] for n in range(int(env["COUNTERSIGN_JOB"]))))
    assert base64.b64decode(job["body"]).decode() == body
    huge = HttpResponseParams.model_validate(params(headers={"A": "b" * 2_000_000}))
    assert environment(huge, 5.0) is None
