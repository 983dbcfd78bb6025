"""Checks what a service outside answers: asked by GET from the host, where the settings allow it.

Every HTTP answer counts, a 500 too, and is held against what is expected; no answer is no verdict. A redirect is
followed where the allow-list lets it lead, unless a redirect is what is expected.

Codes: those of `adapters.checkers.answers`; `redirect_refused` (the target is not in the allow-list and was not asked),
`too_many_redirects`. Raises `Unavailable`: not_allowed, service_unavailable.
"""

from __future__ import annotations

import httpx

from adapters.checkers.answers import Verdict, judge_answer
from adapters.checkers.facts import seen
from adapters.checkers.plain_data import printable
from adapters.checkers.remote import REDIRECTS, Access, Answer, Question, allowed, ask, origin, parsed, shown
from domain.checks import Item, Outcome
from domain.criteria import ApiResponse, ApiResponseParams
from domain.errors import Cause, Unavailable
from domain.ports import CheckContext, Finding

MAX_REDIRECTS = 5
SHOWN_BODY = 4096
SEARCH_SECONDS = 5.0
"""Left for `body_pattern`, however late the answer came."""

OUR_HEADERS = frozenset({"host", "connection", "content-length", "transfer-encoding", "upgrade", "te", "trailer"})
"""An order that set these would ask another service at the allowed one's address, or two requests in one."""

HARMLESS = frozenset({"accept", "accept-language", "user-agent"})
"""What another service than the one that an order names is sent of the order's headers: the rest may be secrets."""


class ApiResponseChecker:
    """A service outside answers as it should; seen from the host, so the work has no hand in the comparison."""

    type = "api_response"

    def __init__(self, access: Access) -> None:
        self._allow = access.allow

    async def check(self, item: Item, context: CheckContext) -> Finding:
        """What the answer came to. Raises `Unavailable` (not_allowed, service_unavailable)."""
        criterion = item.criterion
        assert isinstance(criterion, ApiResponse)
        params = criterion.params
        answer = await ask(
            Question(
                url=self._permitted(params),
                headers=lambda url: _headers(params, url),
                may=lambda url: allowed(url, self._allow),
                redirects=0 if params.status in REDIRECTS else MAX_REDIRECTS,
                timeout=criterion.timeout,
            )
        )
        outcome, code, text = await judge(params, answer, criterion.timeout)
        return Finding(
            outcome=outcome,
            code=code,
            text=text,
            stdout=_lines(answer.body),
            duration_ms=answer.duration_ms,
            out_of_process=True,
            seen=seen(item, context, answer={**answer.facts(), **answer.stored_body()}),
        )

    def _permitted(self, params: ApiResponseParams) -> httpx.URL:
        url = parsed(params.url)
        if url is None or not allowed(url, self._allow):
            raise Unavailable(
                Cause.NOT_ALLOWED,
                f"{printable(params.url)[:300] if url is None else shown(url)} is not in the allow-list",
                "add it to [network] allow in countersign.toml (outside the workspace) or COUNTERSIGN_API_ALLOW",
            )
        refused = sorted(name for name in params.headers if name.lower() in OUR_HEADERS)
        if refused:
            raise Unavailable(
                Cause.NOT_ALLOWED,
                f"the header {', '.join(refused)} is not an order's to set",
                "leave it out of the criterion's headers",
            )
        return url.copy_with(fragment=None)


async def judge(params: ApiResponseParams, answer: Answer, limit: float) -> Verdict:
    """Outcome, code and text of `answer`; `limit` in seconds is the criterion's own."""
    if answer.stopped == "redirect_refused":
        text = f"status {answer.status} leads to {answer.target}, which is not in the allow-list and was not asked"
        return Outcome.FAILED, answer.stopped, text
    if answer.stopped:
        text = f"more than {MAX_REDIRECTS} redirects, the last to {answer.target}"
        return Outcome.FAILED, answer.stopped, text
    left = max(limit - answer.duration_ms / 1000, min(limit, SEARCH_SECONDS))
    return await judge_answer(params, answer.status, answer.body, answer.truncated, left)


def _headers(params: ApiResponseParams, url: httpx.URL) -> httpx.Headers:
    """What `url` is sent: the order's headers, but to another service than the order's only what tells nothing."""
    first = parsed(params.url)
    own = first is not None and origin(url) == origin(first)
    given = {name.lower(): value for name, value in params.headers.items() if own or name.lower() in HARMLESS}
    sent = {"accept": "*/*", "accept-encoding": "identity", "user-agent": "countersign", **given}
    return httpx.Headers({name.encode(): value.strip().encode() for name, value in sent.items()})


def _lines(body: bytes) -> str:
    """The head of a body as text, line by line, with everything escaped that does not print."""
    text = body[:SHOWN_BODY].decode("utf-8", "replace")
    return "\n".join(printable(line) for line in text.split("\n"))
