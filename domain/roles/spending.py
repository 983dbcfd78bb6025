"""What models cost: the estimate that is reserved before a request, what it came to, and the caps. Pure.

Source: DESIGN 4 "Role passes". Money is in millionths of a US dollar (`micros`), so that sums are exact.
"""

from __future__ import annotations

from domain.base import Message

MICROS = 1_000_000


class Reservation(Message):
    """One model request before it is sent. `key` is the same for the same request of the same pass."""

    key: str
    session: str
    todo: str
    attempt: int
    role: str
    model: str
    micros: int


class Settled(Message):
    """What it came to."""

    key: str
    input_tokens: int
    output_tokens: int
    micros: int


class CapsInMicros(Message):
    """The caps, None where there is none. `role` is of one role of one round."""

    request: int | None = None
    role: int | None = None
    todo: int | None = None
    session: int | None = None


class CapRefusal(Message):
    """The cap that a reservation would pass: which, how much it is, and what was spent and reserved of it before."""

    cap: str
    limit: int
    used: int
    wanted: int


class Spent(Message):
    """A sum over requests. `lost`: of those that were sent and never heard of again, by their estimates."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    micros: int = 0
    lost: int = 0
