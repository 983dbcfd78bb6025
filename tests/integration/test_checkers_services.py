"""`api_response`, `pr_exists` and `pr_merged` against real servers on loopback, which answer as GitHub documents."""

from __future__ import annotations

import gzip
import json
import logging
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from pydantic import SecretStr, TypeAdapter

from adapters.checkers.api_response import ApiResponseChecker
from adapters.checkers.github import PrExistsChecker, PrMergedChecker
from adapters.checkers.remote import MAX_BODY, Access
from domain.base import canonical_json
from domain.checks import Item, Outcome
from domain.criteria import Criterion
from domain.errors import Cause, Unavailable
from domain.order import Resources
from domain.ports import CheckContext, Finding

CRITERION: TypeAdapter[Any] = TypeAdapter(Criterion)
CONTEXT = CheckContext(round="round/s/t/1", tree="0" * 64, image="", resources=Resources())
TOKEN = "ghp_0123456789abcdefSECRET"


@dataclass
class Asked:
    """A request that a server was sent."""

    path: str
    headers: dict[str, str]


@dataclass
class Service:
    """A server on loopback: answers by path, without the query; `raw` bytes are sent as they are."""

    port: int = 0
    answers: dict[str, tuple[int, dict[str, str], bytes]] = field(default_factory=dict)
    raw: dict[str, bytes] = field(default_factory=dict)
    hang: threading.Event = field(default_factory=threading.Event)
    asked: list[Asked] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def says(self, path: str, body: Any = b"", status: int = 200, **headers: str) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.answers[path] = (status, {name.replace("_", "-"): value for name, value in headers.items()}, data)

    def redirects(self, path: str, to: str, status: int = 302) -> None:
        self.says(path, status=status, Location=to)

    @property
    def paths(self) -> list[str]:
        return [asked.path for asked in self.asked]


def _handler(service: Service) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            service.asked.append(Asked(self.path, {name.lower(): value for name, value in self.headers.items()}))
            path = self.path.partition("?")[0]
            if path in service.raw:
                self.wfile.write(service.raw[path])
                self.close_connection = True
                return
            if path == "/hang":
                service.hang.wait(30)
                return
            status, headers, body = service.answers.get(path, (404, {}, b'{"message": "Not Found"}'))
            try:
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the client had read enough

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: it would go to the tests' output."""

    return Handler


@contextmanager
def serving() -> Iterator[Service]:
    service = Service()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(service))
    server.daemon_threads = True
    service.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        service.hang.set()
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def service() -> Iterator[Service]:
    with serving() as found:
        yield found


@pytest.fixture
def other() -> Iterator[Service]:
    with serving() as found:
        yield found


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


def item(type: str, params: dict[str, Any], limit: float) -> Item:
    criterion = CRITERION.validate_python({"id": "AC-1", "type": type, "params": params, "timeout": limit})
    return Item(spelling="criterion", criterion=criterion)


def stored(finding: Finding) -> str:
    """The finding as it becomes evidence."""
    return canonical_json(finding.model_dump(mode="json")).decode()


async def api(allow: tuple[str, ...] | Service, url: str, limit: float = 10.0, **params: Any) -> Finding:
    access = Access(allow=(allow.url,) if isinstance(allow, Service) else allow)
    return await ApiResponseChecker(access).check(item("api_response", {"url": url, **params}, limit), CONTEXT)


async def refused(found: Any) -> Unavailable:
    with pytest.raises(Unavailable) as caught:
        await found
    return caught.value


class TestApiResponse:
    async def test_an_answer_as_expected_passes_and_is_kept(self, service: Service) -> None:
        service.says("/version", {"version": "1.2", "more": [1]}, Content_Type="application/json", Set_Cookie="a=b")
        url = f"{service.url}/version?x=1#part"
        finding = await api(service, url, json={"version": "1.2"}, headers={"X-Who": " café "})
        assert (finding.outcome, finding.code, finding.out_of_process) == (Outcome.PASSED, "ok", True)
        answer = finding.seen["answer"]
        assert isinstance(answer, dict)
        assert answer["asked"] == [f"{service.url}/version?x=1"]
        assert json.loads(str(answer["body"]))["more"] == [1]
        assert "a=b" not in stored(finding)
        assert finding.stdout == answer["body"]
        (asked,) = service.asked
        assert asked.headers["x-who"].encode("latin-1").decode() == "café"
        assert asked.headers["host"] == f"127.0.0.1:{service.port}"

    @pytest.mark.parametrize(
        ("status", "expected", "code"), [(500, 200, "wrong_status"), (500, 500, "ok"), (404, 404, "ok")]
    )
    async def test_any_status_is_an_answer(self, service: Service, status: int, expected: int, code: str) -> None:
        service.says("/x", b"oops", status=status)
        assert (await api(service, f"{service.url}/x", status=expected)).code == code

    async def test_what_is_not_allowed_is_not_asked(self, service: Service) -> None:
        error = await refused(api((f"{service.url}/v1",), f"{service.url}/v1/../admin"))
        assert (error.cause, error.retryable) == (Cause.NOT_ALLOWED, False)
        assert error.reason == f"{service.url}/admin is not in the allow-list"
        assert "[network] allow in countersign.toml" in error.next_step
        assert "COUNTERSIGN_API_ALLOW" in error.next_step
        assert service.asked == []

    @pytest.mark.parametrize("name", ["Host", "host", "Transfer-Encoding", "Content-Length"])
    async def test_an_order_cannot_address_another_service_by_a_header(self, service: Service, name: str) -> None:
        error = await refused(api(service, f"{service.url}/x", headers={name: "1"}))
        assert error.cause is Cause.NOT_ALLOWED
        assert name in error.reason
        assert service.asked == []

    async def test_a_redirect_inside_is_followed(self, service: Service, other: Service) -> None:
        service.redirects("/a", "/b", 301)
        service.redirects("/b", f"{other.url}/c", 307)
        other.says("/c", b"there")
        headers = {"Authorization": "secret", "X-Key": "secret", "Accept": "text/x"}
        finding = await api((service.url, other.url), f"{service.url}/a", body="there", headers=headers)
        assert finding.outcome is Outcome.PASSED
        assert service.asked[1].headers["authorization"] == "secret"
        assert other.asked[0].headers["accept"] == "text/x"
        assert "secret" not in str(other.asked[0].headers)

    async def test_cookies_are_not_kept(self, service: Service) -> None:
        service.says("/a", status=302, Location="/b", Set_Cookie="session=1; Path=/")
        service.says("/b", b"x")
        await api(service, f"{service.url}/a")
        assert service.paths == ["/a", "/b"]
        assert "cookie" not in service.asked[1].headers

    async def test_a_redirect_out_is_not_asked(self, service: Service, other: Service) -> None:
        service.redirects("/a", f"http://me:pw@127.0.0.1:{other.port}/c")
        finding = await api(service, f"{service.url}/a")
        assert (finding.outcome, finding.code) == (Outcome.FAILED, "redirect_refused")
        assert f"{other.url}/c" in finding.text
        assert "pw" not in finding.text
        assert other.asked == []

    @pytest.mark.parametrize(
        "target", ["/admin", "/v1/../admin", "../admin", "/v1/%2e%2e/admin", "//127.0.0.1:1/v1", "http://[::1", "ftp:x"]
    )
    async def test_a_redirect_does_not_leave_the_prefix(self, service: Service, target: str) -> None:
        service.redirects("/v1/a", target)
        finding = await api((f"{service.url}/v1",), f"{service.url}/v1/a")
        assert finding.code == "redirect_refused"
        assert service.paths == ["/v1/a"]

    @pytest.mark.parametrize(("hops", "code"), [(5, "ok"), (6, "too_many_redirects")])
    async def test_five_redirects_are_followed(self, service: Service, hops: int, code: str) -> None:
        for hop in range(hops):
            service.redirects(f"/{hop}", f"/{hop + 1}")
        service.says(f"/{hops}", b"x")
        assert (await api(service, f"{service.url}/0")).code == code
        assert len(service.asked) == 6

    async def test_an_expected_redirect_is_the_answer(self, service: Service) -> None:
        service.redirects("/a", "/b")
        finding = await api(service, f"{service.url}/a", status=302)
        assert finding.outcome is Outcome.PASSED
        assert service.paths == ["/a"]

    async def test_of_a_big_body_the_first_mebibyte_is_read(self, service: Service) -> None:
        service.says("/big", b"start" + b"x" * (8 * MAX_BODY))
        assert (await api(service, f"{service.url}/big", body_contains="start")).outcome is Outcome.PASSED
        finding = await api(service, f"{service.url}/big", body_contains="end")
        assert finding.code == "answer_too_large"
        assert len(stored(finding)) < MAX_BODY + 20_000
        service.says("/full", b"x" * MAX_BODY)
        assert (await api(service, f"{service.url}/full", body="x" * MAX_BODY)).outcome is Outcome.PASSED

    async def test_no_more_than_that_is_waited_for(self, service: Service) -> None:
        service.says("/endless", b"start" + b"x" * (2 * MAX_BODY), Content_Length=str(2**40))
        assert (await api(service, f"{service.url}/endless", body_contains="start")).outcome is Outcome.PASSED

    async def test_a_compressed_bomb_stays_packed(self, service: Service) -> None:
        service.says("/gz", gzip.compress(b"there"), Content_Encoding="gzip")
        assert (await api(service, f"{service.url}/gz", body="there")).outcome is Outcome.PASSED
        service.says("/bomb", gzip.compress(b"0" * (64 * MAX_BODY)), Content_Encoding="gzip")
        finding = await api(service, f"{service.url}/bomb", body="x")
        assert len(stored(finding)) < MAX_BODY + 20_000

    async def test_bytes_that_are_no_text_are_kept_too(self, service: Service) -> None:
        service.says("/bytes", b"\xff\x00\x1b[31m")
        finding = await api(service, f"{service.url}/bytes")
        assert "/wAbWzMxbQ==" in stored(finding)
        assert "\x1b" not in finding.stdout

    async def test_no_answer_in_time_is_no_verdict(self, service: Service) -> None:
        started = time.monotonic()
        error = await refused(api(service, f"{service.url}/hang", limit=0.3))
        assert time.monotonic() - started < 5
        assert (error.cause, error.retryable) == (Cause.SERVICE_UNAVAILABLE, True)
        assert "0.3 s" in error.reason

    async def test_a_body_that_does_not_end_is_bounded_too(self, service: Service) -> None:
        service.says("/short", b"x", Content_Length="1000")
        assert (await refused(api(service, f"{service.url}/short", limit=0.3))).cause is Cause.SERVICE_UNAVAILABLE

    @pytest.mark.parametrize("raw", [b"nonsense\r\n\r\n", b"", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nx"])
    async def test_what_is_no_http_is_no_verdict(self, service: Service, raw: bytes) -> None:
        service.raw["/raw"] = raw
        assert (await refused(api(service, f"{service.url}/raw"))).cause is Cause.SERVICE_UNAVAILABLE

    async def test_nobody_there_no_such_name_and_no_tls_are_no_verdict(self, service: Service) -> None:
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            port = closed.getsockname()[1]
        for url in (f"http://127.0.0.1:{port}", "http://nowhere.invalid", f"https://127.0.0.1:{service.port}"):
            error = await refused(api((url,), f"{url}/x"))
            assert error.cause is Cause.SERVICE_UNAVAILABLE
            assert "cannot be reached" in error.reason

    async def test_a_broken_setting_of_the_machine_is_no_verdict(
        self, service: Service, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HTTP_PROXY", "nonsense://user:password@host")
        error = await refused(api(service, f"{service.url}/x"))
        assert error.cause is Cause.SERVICE_UNAVAILABLE
        assert "password" not in str(error)


# GitHub

PULL: dict[str, Any] = {
    "number": 12,
    "state": "closed",
    "title": "Add is_prime \x1b[31m\u202e",
    "merged_at": "2026-01-15T10:05:01Z",
    "head": {"ref": "feature/prime", "label": "Octo:feature/prime", "user": {"login": "Octo"}, "repo": None},
}
LIST = "/repos/octo/hello/pulls"
ONE = "/repos/octo/hello/pulls/12"


def github(service: Service, token: str | None = TOKEN, path: str = "") -> Access:
    return Access(github_url=f"{service.url}{path}", github_token=SecretStr(token) if token else None)


async def exists(access: Access, head: str = "feature/prime", limit: float = 10.0) -> Finding:
    params = {"repository": "octo/hello", "head": head}
    return await PrExistsChecker(access).check(item("pr_exists", params, limit), CONTEXT)


async def merged(access: Access, number: int = 12, limit: float = 10.0, repository: str = "octo/hello") -> Finding:
    params = {"repository": repository, "number": number}
    return await PrMergedChecker(access).check(item("pr_merged", params, limit), CONTEXT)


Ask = Callable[..., Any]
BOTH = pytest.mark.parametrize(("ask", "path"), [(exists, LIST), (merged, ONE)])


class TestPrExists:
    async def test_a_pull_request_from_the_branch(self, service: Service) -> None:
        service.says(f"/api/v3{LIST}", [PULL])
        finding = await exists(github(service, path="/api/v3/"))
        assert (finding.outcome, finding.code, finding.out_of_process) == (Outcome.PASSED, "ok", True)
        assert finding.text.startswith("#12 (closed): 'Add is_prime ")
        assert finding.text.isprintable()
        (asked,) = service.asked
        assert asked.path == f"/api/v3{LIST}?state=all&head=octo%3Afeature%2Fprime&per_page=1"
        assert asked.headers["authorization"] == f"Bearer {TOKEN}"
        assert asked.headers["accept"] == "application/vnd.github+json"
        assert asked.headers["x-github-api-version"] == "2022-11-28"
        assert '"head":{"owner":"Octo","ref":"feature/prime"}' in stored(finding)
        assert asked.path in stored(finding)

    async def test_without_a_token_none_is_sent(self, service: Service) -> None:
        service.says(LIST, [PULL])
        assert (await exists(github(service, token=None))).outcome is Outcome.PASSED
        assert "authorization" not in service.asked[0].headers

    async def test_a_fork_s_branch(self, service: Service) -> None:
        service.says(LIST, [{**PULL, "head": {"ref": "x&y=1", "user": {"login": "fork"}}}])
        assert (await exists(github(service), "fork:x&y=1")).outcome is Outcome.PASSED
        assert "head=fork%3Ax%26y%3D1&" in service.paths[0]

    @pytest.mark.parametrize(
        ("head", "answer"),
        [
            ("feature/prime", []),
            ("other", [PULL]),
            ("feature", [PULL]),
            ("Feature/prime", [PULL]),
            ("fork:feature/prime", [PULL]),
            (":feature/prime", [PULL]),
            ("octo:", [PULL]),
            ("feature/prime", [{**PULL, "head": {"ref": "feature/prime", "user": None}}]),
        ],
    )
    async def test_another_branch_s_pull_request_never_passes(self, service: Service, head: str, answer: Any) -> None:
        service.says(LIST, answer)
        finding = await exists(github(service), head)
        assert (finding.outcome, finding.code) == (Outcome.FAILED, "not_found")
        assert "or the token may not see it" in finding.text


class TestPrMerged:
    async def test_merged(self, service: Service) -> None:
        service.says(ONE, {**PULL, "merged": True, "merge_commit_sha": "abc123"})
        finding = await merged(github(service))
        assert (finding.outcome, finding.code) == (Outcome.PASSED, "ok")
        assert finding.text.startswith("merged: #12 (closed): ")
        assert '"merge_commit_sha":"abc123","merged":true,' in stored(finding)

    @pytest.mark.parametrize("state", ["open", "closed"])
    async def test_not_merged(self, service: Service, state: str) -> None:
        service.says(ONE, {**PULL, "state": state, "merged": False, "merged_at": None})
        finding = await merged(github(service))
        assert (finding.outcome, finding.code) == (Outcome.FAILED, "not_merged")
        assert f"({state})" in finding.text

    @pytest.mark.parametrize("said", ["true", 1, None])
    async def test_only_the_boolean_counts(self, service: Service, said: Any) -> None:
        service.says(ONE, {**PULL, "merged": said})
        assert (await refused(merged(github(service)))).cause is Cause.SERVICE_UNAVAILABLE

    async def test_another_number_is_no_answer(self, service: Service) -> None:
        service.says(ONE, {**PULL, "number": 13, "merged": True})
        assert (await refused(merged(github(service)))).cause is Cause.SERVICE_UNAVAILABLE

    @pytest.mark.parametrize("name", ["..", "."])
    async def test_a_repository_s_name_is_no_step_in_the_path(self, service: Service, name: str) -> None:
        service.says("/repos/pulls/12", {**PULL, "merged": True})
        service.says("/repos/octo/pulls/12", {**PULL, "merged": True})
        assert (await merged(github(service), repository=f"octo/{name}")).code == "not_found"


class TestWhatGitHubMaySayInstead:
    @BOTH
    async def test_404(self, service: Service, ask: Ask, path: str) -> None:
        finding = await ask(github(service))
        assert (finding.outcome, finding.code) == (Outcome.FAILED, "not_found")
        assert re.match(r"there is no pull request .* in octo/hello, or the token may not see it", finding.text)
        assert '"status":404' in stored(finding)

    @BOTH
    @pytest.mark.parametrize(
        ("status", "headers", "token", "expected"),
        [
            (401, {}, TOKEN, (Cause.NOT_ALLOWED, "refuses the token")),
            (401, {}, None, (Cause.NOT_ALLOWED, "asks for a token")),
            (403, {}, TOKEN, (Cause.NOT_ALLOWED, "forbids")),
            (403, {"x_ratelimit_remaining": "7"}, TOKEN, (Cause.NOT_ALLOWED, "forbids")),
            (
                403,
                {"x_ratelimit_remaining": "0", "x_ratelimit_reset": "1768471501"},
                None,
                (Cause.SERVICE_UNAVAILABLE, "GitHub's rate limit is used up until 10:05:01 UTC ("),
            ),
            (429, {"retry_after": "60"}, TOKEN, (Cause.SERVICE_UNAVAILABLE, "used up until")),
            (403, {"retry_after": "Thu, 15 Jan 2026 10:05:01 GMT"}, TOKEN, (Cause.SERVICE_UNAVAILABLE, "10:05:01 UTC")),
            (429, {}, TOKEN, (Cause.SERVICE_UNAVAILABLE, "used up for now")),
            (429, {"retry_after": "9" * 40}, TOKEN, (Cause.SERVICE_UNAVAILABLE, "used up for now")),
            (403, {"retry_after": "soon"}, TOKEN, (Cause.SERVICE_UNAVAILABLE, "used up for now")),
            (500, {}, TOKEN, (Cause.SERVICE_UNAVAILABLE, "status 500")),
            (502, {}, TOKEN, (Cause.SERVICE_UNAVAILABLE, "status 502")),
            (204, {}, TOKEN, (Cause.SERVICE_UNAVAILABLE, "status 204")),
        ],
    )
    async def test_is_no_verdict(
        self,
        service: Service,
        ask: Ask,
        path: str,
        status: int,
        headers: dict[str, str],
        token: str | None,
        expected: tuple[Cause, str],
    ) -> None:
        cause, said = expected
        service.says(path, b"" if status == 204 else {"message": "x"}, status=status, **headers)
        error = await refused(ask(github(service, token)))
        assert error.cause is cause
        assert said in str(error)
        if cause is Cause.NOT_ALLOWED or token is None:
            assert "COUNTERSIGN_GITHUB_TOKEN" in error.next_step

    @BOTH
    @pytest.mark.parametrize(
        "body", [b"<html>", b"", b"[" * 100_000, b"null", b'{"number": 12}', b"[{}]", b'["x"]', b"\xff"]
    )
    async def test_anything_else_is_no_verdict(self, service: Service, ask: Ask, path: str, body: bytes) -> None:
        service.says(path, body)
        error = await refused(ask(github(service)))
        assert error.cause is Cause.SERVICE_UNAVAILABLE
        assert "something else than GitHub documents" in error.reason

    @BOTH
    async def test_a_big_answer_is_no_verdict(self, service: Service, ask: Ask, path: str) -> None:
        service.says(path, b" " * (2 * MAX_BODY) + json.dumps([PULL]).encode())
        assert (await refused(ask(github(service)))).cause is Cause.SERVICE_UNAVAILABLE

    @BOTH
    async def test_a_hang_is_no_verdict(self, service: Service, ask: Ask, path: str) -> None:
        service.redirects(path, "/hang")
        assert (await refused(ask(github(service), limit=0.3))).cause is Cause.SERVICE_UNAVAILABLE


class TestTheToken:
    @BOTH
    async def test_stays_with_its_origin(self, service: Service, other: Service, ask: Ask, path: str) -> None:
        service.redirects(path, f"{other.url}{path}", 301)
        other.says(path, [PULL] if ask is exists else {**PULL, "merged": True})
        error = await refused(ask(github(service)))
        assert error.cause is Cause.SERVICE_UNAVAILABLE
        assert other.asked == []

    async def test_goes_along_to_where_a_repository_moved(self, service: Service) -> None:
        service.redirects(ONE, "/repositories/1/pulls/12", 301)
        service.says("/repositories/1/pulls/12", {**PULL, "merged": True})
        assert (await merged(github(service))).outcome is Outcome.PASSED
        assert service.asked[1].headers["authorization"] == f"Bearer {TOKEN}"

    async def test_three_moves_are_followed(self, service: Service) -> None:
        for start, end in ((ONE, "/1"), ("/1", "/2"), ("/2", "/3"), ("/3", "/4")):
            service.redirects(start, end)
        assert (await refused(merged(github(service)))).cause is Cause.SERVICE_UNAVAILABLE
        assert service.paths == [ONE, "/1", "/2", "/3"]

    @pytest.mark.parametrize(
        "answer",
        [
            (200, {"Date": TOKEN}, json.dumps({**PULL, "title": TOKEN, "merged": True}).encode()),
            (200, {}, json.dumps({**PULL, "title": TOKEN, "merged": False}).encode()),
            (200, {}, TOKEN.encode()),
            (302, {"Location": f"http://127.0.0.1:1/{TOKEN}"}, b""),
            (302, {"Location": f"/{TOKEN}"}, b""),
            (404, {"ETag": TOKEN}, TOKEN.encode()),
            (500, {}, TOKEN.encode()),
            (401, {}, TOKEN.encode()),
            (403, {"retry-after": TOKEN}, TOKEN.encode()),
            (0, {}, f"HTTP/1.1 200 {TOKEN}\r\nContent-Length: 0\r\n\r\n".encode()),
            (0, {}, f"{TOKEN} is no HTTP\r\n\r\n".encode()),
            (0, {}, f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 26\r\n\r\n{TOKEN}".encode()),
        ],
    )
    async def test_is_in_nothing_that_is_shown_or_kept_even_if_it_is_sent_back(
        self, service: Service, answer: tuple[int, dict[str, str], bytes], caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG)
        if answer[0]:
            service.answers[ONE] = answer
        else:
            service.raw[ONE] = answer[2]
        access = github(service)
        told = repr(access)
        try:
            found = await merged(access)
            told += repr(found) + stored(found)
        except Unavailable as error:
            told += f"{error!r} {error} {error.__cause__!r}"
        (asked,) = service.asked  # nor in a URL, which servers and proxies write to their logs
        assert asked.headers["authorization"].endswith(TOKEN)
        assert "SECRET" not in told
        assert "SECRET" not in caplog.text
