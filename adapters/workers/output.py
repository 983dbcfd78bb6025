"""What a worker command printed, as text without a secret: beginning and end, with a word about what is between."""

from __future__ import annotations

from adapters.masking.masker import Masker

KEPT_BYTES = 1024 * 1024
"""Of the beginning, and as much of the end."""

SPELT_LONGER = 8
"""A secret's longest spelling, as a multiple of its own length."""


def masked(head: bytes, tail: bytes, total: int, masker: Masker) -> str:
    """`head` and `tail` of `total` bytes. Where something is cut, so is what may be half a secret on both sides."""
    if total <= len(head) + len(tail):
        return masker.text(_decoded(head + tail))
    edge = SPELT_LONGER * masker.longest
    before, after = masker.text(_decoded(head))[:-edge], masker.text(_decoded(tail))[edge:]
    return f"{before}\n[... {total - len(head) - len(tail)} bytes and more are left out ...]\n{after}"


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
