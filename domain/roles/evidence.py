"""Ids of evidence: minted by the harness alone, from what they are bound to. It stores nothing.

Source: DESIGN 8 "Evidence is minted by the harness". `citations` refuses an id that a model made up.
"""

from __future__ import annotations

from domain.base import canonical_json, sha256_hex

ID_PATTERN = r"ev-[0-9a-f]{16}"


def minted(session: str, todo: str, attempt: int, tree: str, what: str, digest: str) -> str:
    """The id of the evidence `what` whose content has `digest`, in this attempt and on this tree (a manifest's digest).

    For a worker's own evidence `what` is its label, which has no space, so the harness's names for its own have one.
    """
    return f"ev-{sha256_hex(canonical_json([session, todo, attempt, tree, what, digest]))[:16]}"
