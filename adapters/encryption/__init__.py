"""Encrypts what goes to the Temporal server, with the keys of a file. Off unless `payload_key_file` names one."""

from domain.errors import Cause, Unavailable

ENCODING = b"binary/encrypted"
"""What the metadata of an encrypted payload says it is; the name that Temporal's own samples use."""


def unreadable(how: str) -> Unavailable:
    """A payload that was encrypted, `how` says with what."""
    return Unavailable(
        Cause.SYSTEM_ERROR,
        f"what the Temporal server has was encrypted {how}",
        "give commands and workers the same keys: payload_key_file, the old keys below the new one",
    )
