"""Checks pull requests by GitHub's REST API, asked from the host.

Codes: `ok`, `not_found` (no such pull request or repository, or the token may not see it), `not_merged`.
Raises `Unavailable`: not_allowed (the token is refused or lacks a right), service_unavailable (no answer, a rate limit,
an error of GitHub's, an answer that is not what GitHub documents).
Source: GitHub's REST documentation, "Pulls" and "Rate limits for the REST API", version 2022-11-28.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar
from urllib.parse import quote, urlencode

import httpx
from pydantic import ConfigDict, JsonValue, TypeAdapter, ValidationError

from adapters.checkers.facts import seen
from adapters.checkers.plain_data import printable
from adapters.checkers.remote import Access, Answer, Question, ask, gone, is_plain, origin, shown
from domain.base import Message
from domain.checks import Item, Outcome
from domain.criteria import PrExists, PrMerged
from domain.errors import Cause, Unavailable
from domain.ports import CheckContext, Finding

VERSION = "2022-11-28"
MAX_REDIRECTS = 3
TOKEN = "COUNTERSIGN_GITHUB_TOKEN (or GITHUB_TOKEN)"
RESTART = "end the host (countersign down) so that it is read, and verify again"

T = TypeVar("T")


class _User(Message):
    model_config = ConfigDict(strict=True)

    login: str


class _Head(Message):
    model_config = ConfigDict(strict=True)

    ref: str
    user: _User | None = None


class _Pull(Message):
    """What is read of a pull request in a list."""

    model_config = ConfigDict(strict=True)

    number: int
    state: str
    title: str
    merged_at: str | None = None
    head: _Head

    def facts(self) -> dict[str, JsonValue]:
        """The fields that a verdict follows from, as plain data."""
        owner = self.head.user.login if self.head.user else None
        return {
            "number": self.number,
            "state": self.state[:100],
            "title": printable(self.title)[:1000],
            "merged_at": self.merged_at,
            "head": {"ref": self.head.ref[:1000], "owner": owner},
        }

    def __str__(self) -> str:
        return f"#{self.number} ({printable(self.state)[:20]}): {printable(self.title)[:200]!r}"


class _Merge(_Pull):
    """What is read of a single pull request."""

    merged: bool
    merge_commit_sha: str | None = None

    def facts(self) -> dict[str, JsonValue]:
        return {**super().facts(), "merged": self.merged, "merge_commit_sha": self.merge_commit_sha}


_PULLS = TypeAdapter(list[_Pull])
_MERGE = TypeAdapter(_Merge)


class GitHub:
    """Asks one GitHub, with a token or without. The token goes to this GitHub's origin and into no text."""

    def __init__(self, access: Access) -> None:
        self._base = httpx.URL(access.github_url)
        self._token = access.github_token or None

    async def get(self, path: str, limit: float) -> Answer:
        """What a GET below the API's root is answered within `limit` seconds, 200 or 404. Else raises `Unavailable`."""
        url = httpx.URL(f"{str(self._base).rstrip('/')}/{path}")
        question = Question(
            url=url,
            headers=self._headers,
            may=self._may,
            redirects=MAX_REDIRECTS,
            timeout=limit,
        )
        answer = self._masked(await ask(question))
        if answer.stopped:
            raise gone(url, f"led to {answer.target}, where GitHub is not asked")
        if answer.status not in (200, 404):
            raise self._refusal(answer, url)
        return answer

    def _may(self, target: httpx.URL) -> bool:
        """Whether a redirect may lead there: the same origin, and no token in the URL, which others write to logs."""
        told = self._token is not None and self._token.get_secret_value() in str(target)
        return is_plain(target) and origin(target) == origin(self._base) and not told

    def _headers(self, url: httpx.URL) -> httpx.Headers:
        headers = httpx.Headers(
            {
                "accept": "application/vnd.github+json",
                "accept-encoding": "identity",
                "user-agent": "countersign",
                "x-github-api-version": VERSION,
            }
        )
        if self._token is not None and origin(url) == origin(self._base):
            headers["authorization"] = f"Bearer {self._token.get_secret_value()}"
        return headers

    def _masked(self, answer: Answer) -> Answer:
        """Without the token, which a server that is no GitHub, or one that is broken, may send back."""
        if self._token is None:
            return answer
        token = self._token.get_secret_value()
        update = {
            "body": answer.body.replace(token.encode(), b"***"),
            "target": answer.target.replace(token, "***"),
            "asked": tuple(url.replace(token, "***") for url in answer.asked),
            "headers": {name: value.replace(token, "***") for name, value in answer.headers.items()},
        }
        return answer.model_copy(update=update)

    def _refusal(self, answer: Answer, url: httpx.URL) -> Unavailable:
        """Why an answer that is neither 200 nor 404 says nothing of the pull request."""
        if answer.status == 401:
            what = "refuses the token" if self._token else "asks for a token"
            return Unavailable(Cause.NOT_ALLOWED, f"GitHub {what} for {shown(url)}", f"set {TOKEN}, {RESTART}")
        limited = answer.headers.get("x-ratelimit-remaining") == "0" or "retry-after" in answer.headers
        if answer.status == 429 or (answer.status == 403 and limited):
            further = "wait until then" if self._token else f"wait until then, or set {TOKEN} and {RESTART}"
            return Unavailable(
                Cause.SERVICE_UNAVAILABLE, f"GitHub's rate limit is used up{_until(answer.headers)}", further
            )
        if answer.status == 403:
            rights = "with the right to read pull requests"
            reason = f"GitHub forbids {shown(url)} {'to this token' if self._token else 'without a token'}"
            return Unavailable(Cause.NOT_ALLOWED, reason, f"set {TOKEN} to one {rights}, {RESTART}")
        return gone(url, f"answered with status {answer.status}")


class PrExistsChecker:
    """GitHub has a pull request, open or not, from a branch."""

    type = "pr_exists"

    def __init__(self, access: Access) -> None:
        self._github = GitHub(access)

    async def check(self, item: Item, context: CheckContext) -> Finding:
        """Whether there is one. Raises `Unavailable` (not_allowed, service_unavailable)."""
        criterion = item.criterion
        assert isinstance(criterion, PrExists)
        params = criterion.params
        owner, colon, branch = params.head.partition(":")
        if not colon:
            owner, branch = params.repository.split("/")[0], params.head
        query = urlencode({"state": "all", "head": f"{owner}:{branch}", "per_page": 1})
        answer = await self._github.get(f"{_repository(params.repository)}/pulls?{query}", criterion.timeout)
        pulls = _read(_PULLS, answer) if answer.status == 200 else []
        # GitHub leaves a filter that it does not understand aside, and answers with everything.
        found = next((pull for pull in pulls if _is_from(pull, owner, branch)), None)
        facts = seen(item, context, answer=answer.facts(), pulls=[pull.facts() for pull in pulls])
        what = f"pull request from {printable(params.head)[:200]} in {params.repository}"
        if found is None:
            return _finding(Outcome.FAILED, "not_found", _nothing(what), answer, facts)
        return _finding(Outcome.PASSED, "ok", str(found), answer, facts)


class PrMergedChecker:
    """GitHub has merged a pull request."""

    type = "pr_merged"

    def __init__(self, access: Access) -> None:
        self._github = GitHub(access)

    async def check(self, item: Item, context: CheckContext) -> Finding:
        """Whether it is merged. Raises `Unavailable` (not_allowed, service_unavailable)."""
        criterion = item.criterion
        assert isinstance(criterion, PrMerged)
        params = criterion.params
        answer = await self._github.get(f"{_repository(params.repository)}/pulls/{params.number}", criterion.timeout)
        if answer.status == 404:
            facts = seen(item, context, answer=answer.facts(), pull=None)
            text = _nothing(f"pull request #{params.number} in {params.repository}")
            return _finding(Outcome.FAILED, "not_found", text, answer, facts)
        pull = _read(_MERGE, answer)
        if pull.number != params.number:
            raise gone(httpx.URL(answer.url), f"answered with #{pull.number}")
        facts = seen(item, context, answer=answer.facts(), pull=pull.facts())
        if not pull.merged:
            return _finding(Outcome.FAILED, "not_merged", f"not merged: {pull}", answer, facts)
        return _finding(Outcome.PASSED, "ok", f"merged: {pull}", answer, facts)


def _repository(name: str) -> str:
    return "repos/" + "/".join(_segment(part) for part in name.split("/"))


def _segment(part: str) -> str:
    # Dots alone would be a step in the path. No repository is called that, and GitHub says so.
    return quote(part, safe="") if part.strip(".") else part.replace(".", "%252E")


def _is_from(pull: _Pull, owner: str, branch: str) -> bool:
    """Whether a pull request is from `branch` of `owner`, whose name GitHub takes in any case."""
    user = pull.head.user
    return pull.head.ref == branch and user is not None and user.login.lower() == owner.lower()


def _read(adapter: TypeAdapter[T], answer: Answer) -> T:
    try:
        return adapter.validate_json(answer.body)
    except ValidationError:
        # Without its cause, which quotes the body.
        raise gone(httpx.URL(answer.url), "answered with something else than GitHub documents") from None


def _nothing(what: str) -> str:
    return f"there is no {what}, or the token may not see it"


def _finding(outcome: Outcome, code: str, text: str, answer: Answer, facts: dict[str, JsonValue]) -> Finding:
    duration = answer.duration_ms
    return Finding(outcome=outcome, code=code, text=text, duration_ms=duration, out_of_process=True, seen=facts)


def _until(headers: dict[str, str]) -> str:
    """When the limit is over: `retry-after` (seconds or a date, RFC 9110), else `x-ratelimit-reset` (epoch seconds)."""
    after, reset = headers.get("retry-after", ""), headers.get("x-ratelimit-reset", "")
    try:
        if after.isdecimal():
            moment = datetime.fromtimestamp(time.time() + int(after), UTC)
        elif after:
            moment = parsedate_to_datetime(after).astimezone(UTC)
        else:
            moment = datetime.fromtimestamp(int(reset), UTC)
    except (ValueError, OverflowError, OSError):
        return " for now"
    return f" until {moment:%H:%M:%S} UTC"
