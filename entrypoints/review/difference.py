"""The difference of an attempt for a reviewer: base to head, a file at a time, with what became of each change.

Unlike the diff that checks ran on (base plus what was taken) it has the changes that were restored, dropped or denied.
It decides nothing: marks come from the round's own report.
"""

from __future__ import annotations

from collections.abc import Iterator

from adapters.snapshot.diff import MAX_FILE_BYTES, unified_diff
from domain.errors import Unavailable
from domain.ports import EvidenceStore
from domain.report import Report
from domain.tree import Change, Manifest, changes
from entrypoints.review.page import ChangedFile, Difference, Mark

FILE_LINES = 3_000
"""Of one file's diff."""

ALL_CHARACTERS = 4 * 2**20
"""Of all diffs together; the files after that are only named."""

MOST_FILES = 2_000

WHOLE = "countersign evidence export has all of it"

Marks = dict[str, tuple[Mark, str]]


def difference(store: EvidenceStore, base: str, head: str, report: Report | None) -> Difference:
    """What turned the tree `base` into `head`; what cannot be read of it is said in its place."""
    if not head:
        return Difference(base=base, notes=("no tree was frozen for this attempt: there is no work to look at",))
    if not base:
        return Difference(head=head, notes=("the trail names no base for this attempt: nothing to compare with",))
    try:
        before, after = (Manifest.decode(store.get(digest)) for digest in (base, head))
    except Unavailable as error:
        return Difference(base=base, head=head, notes=(f"the trees cannot be read: {error.reason}",))
    found = changes(before, after)
    marks = _marks(report)
    files = [*_files(store, before, after, found[:MOST_FILES], marks), *_left_out(found, report)]
    return Difference(base=base, head=head, files=tuple(files), notes=tuple(_notes(found, report)))


def _files(
    store: EvidenceStore, before: Manifest, after: Manifest, found: tuple[Change, ...], marks: Marks
) -> Iterator[ChangedFile]:
    left = ALL_CHARACTERS
    for change in found:
        mark, why = marks.get(change.path, ("", ""))
        said = ChangedFile(path=change.path, sort=change.kind, mark=mark, why=why)
        if left <= 0:
            yield said.model_copy(update={"note": f"not shown: the files before it fill the page; {WHOLE}"})
            continue
        shown = _shown(store, before, after, said)
        left -= len(shown.diff)
        yield shown


def _shown(store: EvidenceStore, before: Manifest, after: Manifest, said: ChangedFile) -> ChangedFile:
    """With its diff, or a word about why there is none."""
    entries = [tree.by_path.get(said.path) for tree in (before, after)]
    size = max(entry.size for entry in entries if entry is not None)
    if size > MAX_FILE_BYTES:
        return said.model_copy(update={"note": f"too large to show: {size} bytes, and {MAX_FILE_BYTES} at most"})
    try:
        diff = unified_diff(before, after, [said.path], store.get)
    except Unavailable as error:
        return said.model_copy(update={"note": f"cannot be read: {error.reason}"})
    header, _, _ = diff.text.partition("\n@@ ")
    if "\nBinary files " in header:
        return said.model_copy(update={"note": f"binary: {size} bytes"})
    lines = diff.text.split("\n")
    note = "" if "@@ " in diff.text else "only its mode, or nothing within it, is otherwise"
    if len(lines) > FILE_LINES:
        note = f"{len(lines) - FILE_LINES} lines more are not shown; {WHOLE}"
    counts = {"added": diff.added, "removed": diff.removed}
    return said.model_copy(update={"diff": "\n".join(lines[:FILE_LINES]), "note": note, **counts})


def _marks(report: Report | None) -> Marks:
    """What became of each path that was not taken."""
    if report is None or report.snapshot is None:
        return {}
    marks: Marks = dict.fromkeys(report.snapshot.restored, ("restored", "protected: the base's stands again"))
    marks |= {each.path: ("dropped", each.reason) for each in report.snapshot.dropped}
    for each in report.scope.violations if report.scope else ():
        why = "the order's scope denies it" if each.kind == "denied" else "outside of what the order allows"
        marks[each.path] = (each.kind, why)
    return marks


def _left_out(found: tuple[Change, ...], report: Report | None) -> Iterator[ChangedFile]:
    """What the snapshot found and did not take; not what nobody expects to travel."""
    known = {change.path for change in found}
    for each in report.snapshot.dropped if report and report.snapshot else ():
        if each.path not in known and not each.usual:
            yield ChangedFile(path=each.path, sort="left_out", mark="dropped", why=each.reason)


def _notes(found: tuple[Change, ...], report: Report | None) -> Iterator[str]:
    if not found:
        yield "the work is the base: nothing was changed"
    if len(found) > MOST_FILES:
        yield f"{len(found) - MOST_FILES} changed files more are not named; {WHOLE}"
    if report is None or report.snapshot is None:
        yield "no report says yet which of these changes were taken"
