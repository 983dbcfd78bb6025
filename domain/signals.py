"""What people send by Temporal's own CLI or Web UI, read as it comes: any JSON at all, and any number of inputs.

Nobody answers a signal. What makes no sense is a `Refusal` with the code `malformed`, for the trail to have. Handlers
take `*inputs: Any` and hand them on: the SDK drops an input of another type than the handler's, and one too many fails
the workflow's task for ever. Pure; whether it may be done is `acts`' and `sessions`' to say. Source: CONTRACT "For
Temporal's own CLI and Web UI".
"""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from domain.requests import MAX_TEXT, OverrideSignal, Refusal, Said
from domain.signatures import MOST_SIGNED, Signed

LONGEST_NAME = 200
"""Characters of `by`."""

SAID = '{"by": NAME, "reason": TEXT}'
OVERRIDES = (
    '{"kind": "check" | "verifier" | "direct", "by": NAME, "reason": TEXT, "acknowledged": [NAME], "signature": ...}'
)

M = TypeVar("M", bound=BaseModel)


def said_of(*inputs: Any) -> Said | Refusal:
    """What a `pause` or `resume` says. No input, null and `{}` say nothing, which is enough."""
    return _read(Said, inputs, SAID)


def override_of(*inputs: Any) -> tuple[OverrideSignal, Signed | None] | Refusal:
    """What an `override` says, with the signature in it: a `Signed` as an object, or as text that is one in JSON."""
    said = inputs[0] if len(inputs) == 1 else None
    given = said.get("signature") if isinstance(said, dict) else None
    if isinstance(said, dict) and isinstance(given, dict):
        inputs = ({**said, "signature": None},)
    read = _read(OverrideSignal, inputs, OVERRIDES)
    if isinstance(read, Refusal):
        return read
    if given is None or given == "":
        return read, None
    try:
        signed = Signed.model_validate_json(given) if isinstance(given, str) else Signed.model_validate(given)
    except ValidationError as error:
        return _malformed(f"signature: {_first(error)}", OVERRIDES)
    if len(signed.statement) > MOST_SIGNED:
        return _malformed(f"signature: a statement of more than {MOST_SIGNED} characters", OVERRIDES)
    return read.model_copy(update={"signature": signed.model_dump_json()}), signed


def speaker_of(*inputs: Any) -> str:
    """Who a signal says that it is from, empty where it does not say so in a way that can be read."""
    said = inputs[0] if len(inputs) == 1 else None
    by = said.get("by") if isinstance(said, dict) else None
    return by if isinstance(by, str) and not _unfit(by) else ""


def _read(kind: type[M], inputs: tuple[Any, ...], shape: str) -> M | Refusal:
    if len(inputs) > 1:
        return _malformed(f"{len(inputs)} inputs, expected one", shape)
    said = {} if not inputs or inputs[0] is None else inputs[0]
    if not isinstance(said, dict):
        return _malformed(f"the input is {_named(said)}, expected an object", shape)
    unknown = sorted(str(name) for name in said if name not in kind.model_fields)
    if unknown:
        return _malformed(f"unknown field {unknown[0][:LONGEST_NAME]!r}", shape)
    try:
        read = kind.model_validate({name: value for name, value in said.items() if value is not None})
    except ValidationError as error:
        return _malformed(_first(error), shape)
    by, reason = said.get("by") or "", said.get("reason") or ""
    if _unfit(by):
        return _malformed(f"by: {_unfit(by)}", shape)
    if len(reason) > MAX_TEXT:
        return _malformed(f"reason: {len(reason)} characters, expected at most {MAX_TEXT}", shape)
    return read


def _unfit(by: str) -> str:
    """Why this is no name, empty where it is one, or none at all."""
    if len(by) > LONGEST_NAME:
        return f"{len(by)} characters, expected at most {LONGEST_NAME}"
    return "" if by.isprintable() else "expected one line of text, with no control characters"


def _first(error: ValidationError) -> str:
    """The first thing that is wrong, with its place."""
    wrong = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(str(part) for part in wrong["loc"])
    return f"{place}: {wrong['msg']}" if place else wrong["msg"]


def _named(value: Any) -> str:
    """What kind of JSON that is, as people call it."""
    kinds = {bool: "a boolean", str: "text", int: "a number", float: "a number", list: "a list"}
    return kinds.get(type(value), "no JSON")


def _malformed(reason: str, shape: str) -> Refusal:
    return Refusal(code="malformed", reason=reason, next_step=f"send {shape} as JSON")
