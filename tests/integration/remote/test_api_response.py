"""`api_response` against real servers on loopback."""

from __future__ import annotations

import gzip
import json
import socket
import time
from typing import Any

import pytest

from adapters.checkers.api_response import ApiResponseChecker
from adapters.checkers.remote import MAX_BODY, Access
from domain.checks import Outcome
from domain.errors import Cause
from domain.ports import Finding
from tests.service import CONTEXT, HANG_SECONDS, Service, item, refused, stored


async def api(allow: tuple[str, ...] | Service, url: str, limit: float = 100.0, **params: Any) -> Finding:
    access = Access(allow=(allow.url,) if isinstance(allow, Service) else allow)
    return await ApiResponseChecker(access).check(item("api_response", {"url": url, **params}, limit), CONTEXT)


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
        assert time.monotonic() - started < HANG_SECONDS / 2
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
            port = closed.getsockname()[1]  # kept, so that nobody else comes to listen there
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
