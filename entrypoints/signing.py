"""Signs what a person asks, for every door: what is signed, with which key, and read back from files.

Whether it is taken is the todo's to say, or that of the pin (`domain.signing`).
"""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TypeVar

from adapters.config.problems import shown_as
from adapters.config.text_file import read_text_file
from adapters.masking.known import KNOWN
from adapters.signatures.signing import sign_text
from domain.errors import Malformed, Problem
from domain.events import Actor
from domain.lifecycle import Command
from domain.read_model import TodoView
from domain.requests import HumanRequest
from domain.signatures import MOST_SIGNED, Signed
from domain.signing import LONGEST, About, Wanted, statement_of

MINUTES = 10.0
"""How long a signature may be used, unless another time is asked for."""

_NONCE_BYTES = 16

H = TypeVar("H", bound=HumanRequest)


def sign(request: H, command: Command, about: About, key: Path, *, minutes: float = MINUTES) -> H:
    """The request with its signature by `key`, good for so long. Raises `Malformed`, `Unavailable`."""
    signed = sign_text(statement_text(request, command, about, minutes=minutes), key)
    return request.model_copy(update={"signed": signed})


def named(request: H) -> H:
    """The request of the person whom it names, who has to be the signer; else it is whoever's the signature is."""
    return request.model_copy(update={"actor": Actor(role="human", identity=request.actor.identity)})


def statement_text(request: HumanRequest, command: Command, about: About, *, minutes: float = MINUTES) -> str:
    """What has to be signed for `request`, as `text_to_sign` has it. Raises as that does."""
    return text_to_sign(partial(statement_of, command, about, request), minutes=minutes)


def text_to_sign(wanted: Wanted, *, minutes: float = MINUTES) -> str:
    """What has to be signed, to the letter and without a line end; each time with another nonce.

    Raises `Malformed` for what the trail would mask, or that is too long; for a time that no
    signature may be good for.
    """
    longest = LONGEST.total_seconds() / 60
    if not 0 < minutes <= longest:
        raise _malformed("minutes", f"is {minutes:g}", f"more than 0, at most {longest:g}")
    expiry = datetime.now(UTC).replace(microsecond=0) + timedelta(minutes=minutes)
    text = wanted(secrets.token_hex(_NONCE_BYTES), expiry).text
    if len(text) > MOST_SIGNED:
        raise _malformed("statement", f"has {len(text)} characters", f"at most {MOST_SIGNED}")
    if KNOWN.text(text) != text:
        raise _malformed("statement", "has a secret in it that the trail would mask", "words without it")
    return text


def envelope(statement: Path, signature: Path) -> Signed:
    """What was signed by hand, with its signature, from the two files. Raises `Malformed`."""
    text = read_text_file(statement, shown_as(statement), "the statement that was signed")
    if text.endswith("\n"):
        raise _malformed("statement", "ends with a line end", "what --print-statement prints, to the letter")
    return Signed(statement=text, signature=read_text_file(signature, shown_as(signature), "an SSH signature"))


def about_of(view: TodoView) -> About:
    """What an act on that todo is about, as whoever signs sees it."""
    return About(view.session, view.todo, view.attempt, view.snapshot, view.order_digest)


def _malformed(field: str, what: str, expected: str) -> Malformed:
    return Malformed([Problem(file="signature", line=1, field=field, what=what, expected=f"expected {expected}")])
