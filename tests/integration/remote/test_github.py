"""`pr_exists` and `pr_merged` against real servers on loopback, which answer as GitHub documents."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import SecretStr

from adapters.checkers.github import PrExistsChecker, PrMergedChecker
from adapters.checkers.remote import MAX_BODY, Access
from domain.checks import Outcome
from domain.errors import Cause, Unavailable
from domain.ports import Finding
from tests.service import CONTEXT, Service, item, refused, stored

TOKEN = "ghp_0123456789abcdefSECRET"


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


async def exists(access: Access, head: str = "feature/prime", limit: float = 100.0) -> Finding:
    params = {"repository": "octo/hello", "head": head}
    return await PrExistsChecker(access).check(item("pr_exists", params, limit), CONTEXT)


async def merged(access: Access, number: int = 12, limit: float = 100.0, repository: str = "octo/hello") -> Finding:
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
