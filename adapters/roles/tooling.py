"""Runs the tool calls of a pass: each in bounded time, remembered, cut, minted as evidence, and refused by name.

What a call came to is remembered under its place in the pass, since the web changes: a pass that is run again hears the
same. It knows no library of models. Source: seed `auditor` 3.2 and 4.1, DESIGN 8 "Evidence is minted by the harness".
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from itertools import count
from typing import Literal, NamedTuple

from pydantic import JsonValue, ValidationError

from adapters.roles.tool import Arguments, Tool, ToolRefused
from domain.base import Message, sha256_hex
from domain.errors import Cause, Unavailable
from domain.ports import EvidenceStore, Progress
from domain.roles.packet import Piece
from domain.roles.passes import PassInput
from domain.roles.pieces import TITLE_CHARACTERS, Origin
from domain.roles.results import RefusedCall

Toolmaker = Callable[[PassInput, Progress], AbstractAsyncContextManager[Sequence[Tool]]]
"""The tools of one pass, which has them only as long as it runs."""

ANSWER_BYTES = 32 * 1024
"""Of a tool's answer, what a model gets; the whole of it is a blob."""

SHOWN_ARGUMENTS = 500
"""Characters of a refused call's arguments that are kept."""

MOST_REFUSED = 100
"""Refused calls that a pass lists; one more entry says that there were more."""

PAUSE_SECONDS = 0.05
"""Before the first new try of a tool whose service was away; twice as long before each further one."""

OPENED_BY = {"browser_view": "browser_navigate"}
"""A tool that shows what another one opened. Where that was only remembered, it is opened again first."""

OF_THE_SNAPSHOT = frozenset({"Read", "grep", "glob", "git_diff"})
"""Tools whose answer can carry an approval: the harness saw it of the work itself. A web page is somebody else's."""

WORDS_OF_THE_WORKER = frozenset({"git_log"})
"""Tools that answer with what the worker wrote about its work."""

OURS = frozenset({Cause.STORE_UNAVAILABLE, Cause.DISK_FULL, Cause.STORE_MISMATCH})
"""What is away there is our own, and nothing that a model could be told of."""


class Came(Message):
    """What a call came to. `digest` names the blob of an answer; `code` and `reason` say why there is none."""

    status: Literal["answered", "refused", "failed"]
    digest: str = ""
    code: str = ""
    reason: str = ""


class Heard(NamedTuple):
    """What the model is told of a call: a piece of evidence, or in words why there is none.

    `digest` names the blob of the whole answer; `what` is what its id is minted of.
    """

    piece: Piece | None
    what: str = ""
    digest: str = ""
    words: str = ""


class Toolbox:
    """The tools of one pass. `refused` and `pieces` grow as they are called, one call at a time."""

    def __init__(self, tools: Sequence[Tool], store: EvidenceStore, request: PassInput) -> None:
        self.tools = {tool.name: tool for tool in tools}
        self.refused: list[RefusedCall] = []
        self.pieces: dict[str, Piece] = {}
        self.origin = origin_of(request)
        self._store = store
        self._request = request
        self._places = count()
        self._only_remembered: dict[str, Mapping[str, JsonValue]] = {}

    async def call(self, name: str, given: Mapping[str, JsonValue]) -> Heard:
        """What `name` answers. Raises `Unavailable` where our own store is away."""
        tool, shown = self.tools[name], as_text(given)
        key = self._key(name, shown)
        known = await asyncio.to_thread(self._store.recall, key)
        came = Came.model_validate_json(known) if known else await self._come_anew(tool, given)
        if known:
            self._only_remembered[name] = given
        elif not (tool.lasting and came.status == "answered"):
            await asyncio.to_thread(self._store.remember, key, came.model_dump_json().encode())
        if came.status == "refused":
            return Heard(None, words=self.refuse(name, shown, came.code, came.reason))
        if came.status == "failed":
            return Heard(None, words=f"No answer: {came.reason}")
        return await self.found(f"tool {name} {shown}", f"{name} {shown}", came.digest)

    def refuse(self, name: str, shown: str, code: str, reason: str) -> str:
        """Note a call that is not done, and answer with what the model is told."""
        if len(self.refused) == MOST_REFUSED:
            self.refused.append(RefusedCall(tool="", arguments="", code="more", reason="more calls were refused"))
        elif len(self.refused) < MOST_REFUSED:
            call = RefusedCall(tool=name[:100], arguments=shown[:SHOWN_ARGUMENTS], code=code, reason=reason)
            self.refused.append(call)
        return f"Refused ({code}): {reason}"

    async def found(self, what: str, title: str, digest: str) -> Heard:
        """The blob `digest` as a piece that may be cited from now on; `what` as `tool_piece` has it."""
        text = (await asyncio.to_thread(self._store.get, digest)).decode(errors="replace")
        piece = tool_piece(self.origin, what, title, digest, text)
        self.pieces[piece.id] = piece
        return Heard(piece, what, digest)

    def _key(self, name: str, shown: str) -> str:
        place = ["tool", self._request.take, self._request.key, name, shown, next(self._places)]
        return sha256_hex(json.dumps(place).encode())

    async def _come_anew(self, tool: Tool, given: Mapping[str, JsonValue]) -> Came:
        self._only_remembered.pop(tool.name, None)
        opener = OPENED_BY.get(tool.name, "")
        if (before := self._only_remembered.pop(opener, None)) is not None:
            await self._come(self.tools[opener], before)
        return await self._come(tool, given)

    async def _come(self, tool: Tool, given: Mapping[str, JsonValue]) -> Came:
        try:
            arguments = tool.arguments.model_validate(given)
        except ValidationError as error:
            return Came(status="refused", code="bad_arguments", reason=_wrong(error))
        limit = self._request.round.order.safeguards.tool_timeout
        try:
            async with asyncio.timeout(limit) as clock:
                text = await self._tried(tool, arguments)
        except TimeoutError:
            if not clock.expired():
                raise
            return Came(status="failed", reason=f"{tool.name} did not answer within {limit:g} s")
        except ToolRefused as refusal:
            return Came(status="refused", code=refusal.code, reason=refusal.reason)
        except Unavailable as error:
            if error.cause in OURS:
                raise
            return Came(status="failed", reason=error.reason)
        # What is stored is masked, and nobody is told more than that.
        return Came(status="answered", digest=await asyncio.to_thread(self._store.put, as_bytes(text)))

    async def _tried(self, tool: Tool, arguments: Arguments) -> str:
        """Once, and once more for each of the order's `tool_retries` while its service is away."""
        for again in range(self._request.round.order.safeguards.tool_retries):
            try:
                return await tool.call(arguments)
            except Unavailable as error:
                if error.cause in OURS or not error.retryable:
                    raise
                await asyncio.sleep(PAUSE_SECONDS * 2**again)
        return await tool.call(arguments)


def tool_piece(origin: Origin, what: str, title: str, digest: str, text: str) -> Piece:
    """A tool's answer as a piece; the first word of `what` is its kind, the second the tool's name."""
    kind, tool, *_ = what.split(" ")
    observed = tool in OF_THE_SNAPSHOT
    return Piece(id=origin.id_of(what, digest), what=kind, title=title[:TITLE_CHARACTERS], text=text, observed=observed)


def origin_of(request: PassInput) -> Origin:
    """What the ids of this round's evidence are bound to."""
    asked = request.round
    return Origin(asked.session, asked.todo, asked.attempt, request.scope.tree, request.frozen.head)


def shortened(piece: Piece, digest: str) -> str:
    """What a model gets of a tool's answer."""
    data = piece.text.encode()
    if len(data) <= ANSWER_BYTES:
        return piece.text
    return f"{data[:ANSWER_BYTES].decode(errors='ignore')}\n[cut; whole text: blob {digest}]"


def as_text(given: object) -> str:
    """Arguments as they are shown and compared: JSON, the same for the same."""
    return json.dumps(given, sort_keys=True)


def as_bytes(text: str) -> bytes:
    """Of a text from anywhere: what UTF-8 cannot say becomes a question mark."""
    return text.encode(errors="replace")


def _wrong(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_input=False, include_context=False)
    return "; ".join(f"{'.'.join(map(str, each['loc'])) or 'arguments'}: {each['msg']}" for each in found)[:1000]
