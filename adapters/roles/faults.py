"""What goes wrong with a request to a model, in words, and whether asking again can help.

Nothing here is a verdict: the runtime makes a result of each of these exceptions.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelConnectionError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRequestTimeout,
    ModelTimeoutError,
    UserError,
)

from adapters.roles.prices import dollars
from domain.errors import Malformed
from domain.roles.spending import CapRefusal

WORDS = 300
"""Characters of what a provider says of a fault that are kept."""

AGAIN = frozenset({408, 425, 429})
"""Statuses below 500 that a moment may change."""

UNSENT = ("pool", "connect")
"""Phases of a connection in which nothing of the request has left yet."""


class CostCap(Exception):
    """A cap would be passed: nothing was sent."""

    def __init__(self, refusal: CapRefusal) -> None:
        self.refusal = refusal
        super().__init__(
            f"the cap of a {refusal.cap} is {dollars(refusal.limit)}: {dollars(refusal.used)} of it are spent or"
            f" reserved, and the next request may cost {dollars(refusal.wanted)}"
        )


class ModelGone(Exception):
    """No model that is configured answered; the last fault of each, in words."""


class OutOfTime(Exception):
    """The pass has no time left; what went wrong before, if anything did."""


@dataclass(frozen=True)
class Fault:
    """One request that failed. `again`: whether the same model may answer it a little later.

    `charged`: whether the provider may ask money for it, since it may have worked on it. `retry_after`: seconds that
    the provider asks to wait.
    """

    words: str
    again: bool
    charged: bool
    retry_after: float = 0.0


def fault_of(error: Exception, seconds: float) -> Fault:
    """What `error` of a request that had so many seconds is. What has no class of its own is an unreadable answer."""
    match error:
        case ModelHTTPError():
            lasting = isinstance(error, ModelQuotaExceededError)
            again = not lasting and (error.status_code in AGAIN or error.status_code >= 500)
            words = f"HTTP {error.status_code}{_said(error.body)}"
            return Fault(words, again, charged=error.in_stream, retry_after=error.retry_after or 0.0)
        case TimeoutError() | ModelTimeoutError() | ModelRequestTimeout():
            charged = getattr(error, "phase", None) not in UNSENT
            return Fault(f"no answer in {round(seconds, 2):.10g} s", again=True, charged=charged)
        case ModelConnectionError():
            failed = "the connection failed" if error.phase in UNSENT else "the connection broke"
            return Fault(failed + _brief(str(error)), again=True, charged=error.phase not in UNSENT)
        case Malformed() | UserError():
            return Fault(_one_line(str(error)), again=False, charged=False)
        case ModelAPIError():
            return Fault("an answer that cannot be read" + _brief(str(error)), again=True, charged=True)
        case _:
            words = "an answer that cannot be read" + _brief(f"{type(error).__name__}: {error}")
            return Fault(words, again=True, charged=True)


def _said(body: object) -> str:
    """The provider's message in the body of an error, whichever protocol's it is."""
    if isinstance(body, dict):
        inner = body.get("error", body)
        message = inner.get("message") if isinstance(inner, dict) else inner
        return _brief(message) if isinstance(message, str) else ""
    return _brief(body) if isinstance(body, str) else ""


def _brief(text: str) -> str:
    line = _one_line(text)
    return f" ({line})" if line else ""


def _one_line(text: str) -> str:
    """Provider's text as it may stand in a sentence: one line, printable, not long."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * WORDS]).split())
    return line if len(line) <= WORDS else f"{line[: WORDS - 3]}..."
