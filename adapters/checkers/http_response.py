"""Checks what a server of the work's own answers: asked from a second container on its network, compared here.

No expected value enters a container. Codes: those of `answers`, and of `domain.checks.classify` about the server;
`server_ended` (it ended before it answered), `no_answer`, `bad_answer` (no HTTP, or an answer without an end),
`request_too_large`.
"""

from __future__ import annotations

import base64
import binascii
import json
from pathlib import Path

from pydantic import JsonValue, StrictInt, ValidationError

from adapters.checkers.answers import Verdict, judge_answer
from adapters.checkers.commands import request
from adapters.checkers.facts import seen
from adapters.checkers.plain_data import printable
from domain.base import Message, sha256_hex
from domain.checks import Item, Outcome, classify
from domain.command_criteria import CommandParams
from domain.criteria import HttpResponse, HttpResponseParams
from domain.errors import Cause, Unavailable
from domain.ports import CheckContext, Finding, ProbeRequest, Sandbox, Served

COMMAND = 'exec python3 -I -c "$COUNTERSIGN_PROBE"'
PART = 96 * 1024  # bytes in one variable; Linux takes 128 KiB, execve(2)
PARTS = 14  # all variables together share execve's 2 MiB
SHOWN = 300  # characters of what a server printed, in a text; of a body, in `seen`

_DRIVER = Path(__file__).with_name("http_driver.py").read_text(encoding="utf-8")


class Document(Message):
    """All that the driver writes; `body` is base64. Without a status, `error` is why the last try had no answer."""

    status: StrictInt | None
    headers: tuple[tuple[str, str], ...]
    body: str
    truncated: bool
    error: str


class HttpResponseChecker:
    """A server answers one request as it should; its answer crosses from a container that it cannot write to."""

    type = "http_response"

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def check(self, item: Item, context: CheckContext) -> Finding:
        """What became of the request. Raises `Unavailable`, also for a probe's image that cannot ask."""
        criterion = item.criterion
        assert isinstance(criterion, HttpResponse)
        params = criterion.params
        env = environment(params, criterion.timeout)
        if env is None:
            text = f"the request is more than {PART * PARTS} bytes of JSON"
            facts = seen(item, context)
            return Finding(outcome=Outcome.FAILED, code="request_too_large", text=text, out_of_process=True, seen=facts)
        command = CommandParams(command=params.serve, cwd=params.cwd, env=params.env)
        probe = ProbeRequest(image=context.probe_image, command=COMMAND, env=env)
        served = await self._sandbox.serve(request(item, context, command), probe)
        document = document_in(served.probe.stdout)
        verdict = await judge(params, served, document, criterion.timeout)
        return _finding(item, context, served, document, verdict)


def environment(params: HttpResponseParams, limit: float) -> dict[str, str] | None:
    """What the driver is told: its own source, and the request without what is expected. None: too large."""
    job = {
        "url": params.url,
        "method": params.method,
        "headers": params.headers,
        "body": base64.b64encode(params.request_body.encode()).decode(),
        "limit": limit,
    }
    text = json.dumps(job)
    parts = [text[start : start + PART] for start in range(0, len(text), PART)]
    if len(parts) > PARTS:
        return None
    numbered = {f"COUNTERSIGN_JOB_{number}": part for number, part in enumerate(parts)}
    return {"COUNTERSIGN_PROBE": _DRIVER, "COUNTERSIGN_JOB": str(len(parts)), **numbered}


async def judge(params: HttpResponseParams, served: Served, document: Document | None, limit: float) -> Verdict:
    """The server's own misdeeds come first, then its answer, then why there is none."""
    server, probe = served.server, served.probe
    if server.copy_failed or server.build_failed or server.flooded or server.oom_killed:
        return classify(server, limit)
    if document and document.status is not None:
        if document.error:
            text = f"status {document.status}, then {printable(document.error)}"
            return Outcome.FAILED, "bad_answer", text
        return await judge_answer(params, document.status, _body(document), document.truncated, limit)
    if served.ended:
        printed = f": {_tail(server.stderr)}" if server.stderr.strip() else ""
        text = f"the server ended with exit code {server.exit_code} before it answered {params.url}{printed}"
        return Outcome.FAILED, "server_ended", text
    if document is None and probe.exit_code in (126, 127) and not probe.timed_out:
        raise Unavailable(
            Cause.IMAGE_UNSUITABLE,
            f"The probe's image has no python3 that can be run: {_tail(probe.stderr)}",
            "Build the project's image `python` again from sandbox_images/.",
        )
    if document and document.error.startswith("what answered"):
        return Outcome.FAILED, "bad_answer", f"{params.url}: {printable(document.error)}"
    last = f"; the last try: {printable(document.error)}" if document and document.error else ""
    return Outcome.FAILED, "no_answer", f"nothing answered at {params.url} within {limit:g} s{last}"


def _finding(item: Item, context: CheckContext, served: Served, document: Document | None, verdict: Verdict) -> Finding:
    outcome, code, text = verdict
    facts = seen(
        item,
        context,
        answer=_facts(document),
        server=served.server.model_dump(mode="json"),
        server_ended=served.ended,
        probe=served.probe.model_dump(mode="json"),
    )
    return Finding(
        outcome=outcome,
        code=code,
        text=text,
        exit_code=served.server.exit_code if served.ended else None,
        stdout=served.server.stdout,
        stderr=served.server.stderr,
        duration_ms=served.probe.duration_ms,
        out_of_process=True,
        seen={**facts, "probe_image": context.probe_image},
    )


def _facts(document: Document | None) -> dict[str, JsonValue] | None:
    """The answer for whoever reads the evidence; the whole body is in the probe's output."""
    if document is None:
        return None
    body = _body(document)
    return {
        "status": document.status,
        "headers": [list(pair) for pair in document.headers],
        "body_digest": sha256_hex(body),
        "body_bytes": len(body),
        "body_head": printable(body[: SHOWN * 4].decode("utf-8", "replace")[:SHOWN]),
        "truncated": document.truncated,
        "error": document.error,
    }


def document_in(text: str) -> Document | None:
    """What the driver wrote, None when it is no such document."""
    try:
        document = Document.model_validate_json(text)
        _body(document)
    except (ValidationError, binascii.Error):
        return None
    return document


def _body(document: Document) -> bytes:
    return base64.b64decode(document.body, validate=True)


def _tail(text: str) -> str:
    return printable(text.strip()[-SHOWN:])
