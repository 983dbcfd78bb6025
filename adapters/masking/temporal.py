"""Masks what goes to the Temporal server: payloads, and the messages and stack traces of failures.

Payloads are arguments, results, heartbeats, summaries, details, queries' answers, memos. Search attributes go their own
way: ours are ids and statuses, and no id has a secret in it. What comes back is as the server has it. With a codec,
what was masked is then encrypted, messages and stack traces of failures with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from temporalio.api.common.v1 import Payload
from temporalio.api.failure.v1 import Failure
from temporalio.contrib.pydantic import PydanticPayloadConverter
from temporalio.converter import DataConverter, DefaultFailureConverter, PayloadCodec, PayloadConverter

from adapters.encryption import ENCODING, unreadable
from adapters.masking.known import named_by, values_of
from adapters.masking.masker import Masker


def masked_converter(masker: Masker, codec: PayloadCodec | None = None) -> DataConverter:
    """The data converter of clients and workers. It learns the secrets that a message names from its environment.

    It raises `Unavailable` for what was encrypted where there is no `codec`.
    """

    class MaskedPayloads(PydanticPayloadConverter):
        """Classes of their own, since the SDK makes their objects without arguments, for each workflow anew."""

        def to_payloads(self, values: Sequence[Any]) -> list[Payload]:
            for value in values:
                masker.learn(values_of(named_by(value)))
            payloads = super().to_payloads(values)
            for payload in payloads:
                masked = masker.data(payload.data)
                if masked is not payload.data:
                    payload.data = masked
            return payloads

        def from_payloads(self, payloads: Sequence[Payload], type_hints: list[type] | None = None) -> list[Any]:
            if any(payload.metadata.get("encoding") == ENCODING for payload in payloads):
                raise unreadable("with a key, and no payload_key_file is set here")
            values = super().from_payloads(payloads, type_hints)
            for value in values:
                masker.learn(values_of(named_by(value)))
            return values

    class MaskedFailures(DefaultFailureConverter):
        def __init__(self) -> None:
            super().__init__(encode_common_attributes=codec is not None)

        def to_failure(self, exception: BaseException, payload_converter: PayloadConverter, failure: Failure) -> None:
            super().to_failure(exception, payload_converter, failure)
            _mask(failure, masker)

    return DataConverter(
        payload_converter_class=MaskedPayloads, failure_converter_class=MaskedFailures, payload_codec=codec
    )


def _mask(failure: Failure, masker: Masker) -> None:
    """The failure and those that caused it."""
    part = failure
    while True:
        part.message = masker.text(part.message)
        part.stack_trace = masker.text(part.stack_trace)
        if not part.HasField("cause"):
            return
        part = part.cause
