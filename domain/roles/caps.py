"""Which cap a request would pass. Pure: what was used before, whoever keeps the ledger adds up.

Source: DESIGN 4 "Role passes". Amounts are micros. A request that comes exactly to a cap passes none.
"""

from __future__ import annotations

from domain.base import Message
from domain.roles.spending import CapRefusal, CapsInMicros, Reservation


class Used(Message):
    """What counts against each cap before a request: settled, reserved and lost ones. `role`: of that role's round."""

    role: int = 0
    todo: int = 0
    session: int = 0


def refusal(wanted: Reservation, caps: CapsInMicros, used: Used) -> CapRefusal | None:
    """The narrowest cap that `wanted` would pass, if it would pass one."""
    table = (
        ("request", caps.request, 0),
        ("role", caps.role, used.role),
        ("todo", caps.todo, used.todo),
        ("session", caps.session, used.session),
    )
    for cap, limit, before in table:
        if limit is not None and before + wanted.micros > limit:
            return CapRefusal(cap=cap, limit=limit, used=before, wanted=wanted.micros)
    return None
