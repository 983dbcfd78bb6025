"""Looks at a signature that a person's act came with. What it is good for is `domain.signing`'s to say."""

from __future__ import annotations

import asyncio

from pydantic import ValidationError
from temporalio import activity

from activities.boundary import beating, speaks_temporal
from domain.errors import Cause, Unavailable
from domain.ports import EvidenceStore, Signatures
from domain.signatures import SignatureCheck, SignatureInput, Signers


class SignatureActivities:
    """Activities on signatures."""

    def __init__(self, store: EvidenceStore, signatures: Signatures) -> None:
        self._store = store
        self._signatures = signatures

    @activity.defn(name="signature.check")
    @speaks_temporal
    async def check(self, request: SignatureInput) -> SignatureCheck:
        """Whose it is, by the signers that the session was created with and those that there are now."""
        async with beating():
            return await asyncio.to_thread(self._check, request)

    def _check(self, request: SignatureInput) -> SignatureCheck:
        try:
            signers = Signers.model_validate_json(self._store.get(request.signers))
        except ValidationError as error:
            what = f"blob {request.signers} has no signers: {error.errors(include_url=False)[0]['msg']}"
            raise Unavailable(Cause.SYSTEM_ERROR, what, "create the session anew") from error
        return self._signatures.check(request.signed, signers, request.at, request.claimed)
