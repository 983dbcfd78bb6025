"""What of a claim is news: a digest of its evidence, and one of its tree, equal where nothing material has changed.

They are compared with those of the claims before it, so that work which was refused is not handed in once more. What is
news need not be right, and what is none may be: evidence of another run's other result is news for the same tree.
Source: DESIGN 3 "Monotonicity", seed `auditor` 4.2.
"""

from __future__ import annotations

from collections.abc import Callable

from pydantic import JsonValue

from domain.base import canonical_json, sha256_hex
from domain.claims.file_form import form_of
from domain.claims.volatile import MARK, is_volatile, of_output
from domain.tree import Entry, Manifest, changes

_EPOCHS = ((1.5e9, 2e9), (1.5e12, 2e12), (1.5e15, 2e15), (1.5e18, 2e18))
"""2017 to 2033 in seconds, milli-, micro- and nanoseconds since 1970."""


def news_of_evidence(type: str, data: JsonValue) -> str:
    """The SHA-256 of `{type, data}` without what is different each time.

    The label, the id of the tool call and the time stamp of evidence do not count. A note beside the result counts as
    much as the result: nobody could tell them apart.
    """
    return sha256_hex(canonical_json({"type": of_output(type).lower(), "data": _settled(data)}))


def _settled(value: JsonValue) -> JsonValue:
    match value:
        case str():
            return of_output(value)
        case list():
            return [_settled(item) for item in value]
        case dict():
            return {name: _settled(item) for name, item in value.items() if not is_volatile(name)}
        case bool() | None:
            return value
        case number:
            return MARK if any(low <= number < high for low, high in _EPOCHS) else value


def news_of_file(ending: str, data: bytes) -> str | None:
    """The SHA-256 of what a file with this `ending` (`file_form.ending_of`) says; None: only its bytes can tell."""
    form = form_of(ending, data)
    return None if form is None else sha256_hex(form)


def news_of_tree(base: Manifest, head: Manifest, news_of: Callable[[Entry], str]) -> str:
    """The SHA-256 of all that `head` says otherwise than `base`; `news_of` tells it of a file, and raises what it may.

    Files that are the same in both are not asked for. A path counts, and so do the executable bit and what a link
    leads to; a file's time does not. A file that was moved, added or deleted is news.
    """
    said: list[JsonValue] = []
    for change in changes(base, head):
        before, after = base.by_path.get(change.path), head.by_path.get(change.path)
        if after is None:
            said.append([change.path])
            continue
        now = _said(after, news_of)
        if before is None or now != _said(before, news_of):
            said.append(now)
    return sha256_hex(canonical_json(said))


def _said(entry: Entry, news_of: Callable[[Entry], str]) -> JsonValue:
    return [entry.path, entry.kind, entry.executable, entry.target if entry.kind == "link" else news_of(entry)]
