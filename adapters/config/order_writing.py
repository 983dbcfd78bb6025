"""Saves drafted criteria into the file of the order that they were drafted for, whole or not at all.

The file keeps its text, its place and its mode. Refused, before anything runs, are a file that the worker could have
written, one that cannot be written, and one that is a link out of its folder. What the new text does not read back as
exactly is not put in the old one's place. Source: seed `pipeline` "Strategist", DESIGN 1.4.
"""

from __future__ import annotations

import codecs
import errno
import os
import stat
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from adapters.config.defaults import NO_POLICY, ProjectPolicy
from adapters.config.order_file import is_json, order_in, read_order
from adapters.config.order_insertion import Addition, NoPlaceError, with_criteria
from adapters.config.problems import shown_as
from adapters.config.text_file import read_text_file
from domain.base import canonical_json
from domain.criteria import Criterion, Subjective
from domain.drafts.record import Rejected
from domain.errors import Cause, Malformed, Problem, Unavailable
from domain.order import Order

OPTION = "--save-tests"
MOST_SAID = 400
"""Characters of what a comment says of a check that was dropped."""

_TRIAL = Subjective(id="countersign-trial", type="subjective", description="whether there is a place for criteria")


@dataclass(frozen=True)
class Drafted:
    """What a round drafted: the criteria that joined the order, what was dropped, and when and where, in words."""

    criteria: Sequence[Criterion]
    dropped: Sequence[Rejected] = ()
    when: str = ""


class OrderText:
    """The file of an order that drafted criteria can be saved into. `path` is as the user gave it."""

    def __init__(self, path: Path, workspace: Path, policy: ProjectPolicy = NO_POLICY) -> None:
        """Nothing is written yet. Raises `Malformed` where nothing could be."""
        self.path = path
        self._policy = policy
        self._file = path.resolve()
        if why := self._why_not(workspace.resolve()):
            raise Malformed([_problem(f"{str(path)!r} {why[0]}", why[1])])
        self._order = read_order(self._file, policy)
        try:
            self._with(Drafted([_TRIAL]))
        except (NoPlaceError, Malformed) as error:
            what = f"{str(path)!r} has no place for criteria: {error}"
            raise Malformed([_problem(what, "a list acceptance_criteria that stands in the file")]) from error

    def save(self, drafted: Drafted) -> tuple[str, ...]:
        """Put them into the file; the ids of those that it did not have. Raises `Unavailable`, the file as it was."""
        there = set(map(_form, self._order.acceptance_criteria))
        new = [criterion for criterion in drafted.criteria if _form(criterion) not in there]
        if new:
            try:
                text, order = self._with(Drafted(new, drafted.dropped, drafted.when))
                self._replace(text)
            except OSError as error:
                cause = Cause.DISK_FULL if error.errno == errno.ENOSPC else Cause.STORE_UNAVAILABLE
                raise self._unsaved(cause, error.strerror or str(error)) from error
            except (NoPlaceError, Malformed) as error:
                raise self._unsaved(Cause.STORE_UNAVAILABLE, str(error)) from error
            self._order = order
        return tuple(criterion.id for criterion in new)

    def _why_not(self, workspace: Path) -> tuple[str, str] | None:
        spelled = Path(os.path.normpath(self.path.absolute()))
        if any(place.is_relative_to(workspace) for place in (spelled, self._file)):
            return "is in the workspace: who did the work could write it", "an order outside the workspace"
        if self._file.parent != self.path.parent.resolve():
            return "is a link out of its folder", f"the file itself: {self._file}"
        if not stat.S_ISREG(self._file.stat().st_mode):
            return "is no regular file", "a file"
        writable = self._file.stat().st_mode & 0o222 and os.access(self._file, os.W_OK)
        if not (writable and os.access(self._file.parent, os.W_OK | os.X_OK)):
            return "cannot be written", "a file, in a folder, that you may write"
        return None

    def _with(self, drafted: Drafted) -> tuple[str, Order]:
        """The file's text with them, and what it says then: the same as before, and them."""
        text = read_text_file(self._file, shown_as(self.path), "an order")
        if order_in(text, self._file, self._policy).digest != self._order.digest:
            raise NoPlaceError("it was changed while the round ran")
        addition = Addition(drafted.criteria, f"drafted {drafted.when}".rstrip(), [*map(_dropped, drafted.dropped)])
        text = with_criteria(text, addition, is_json=is_json(text))
        order = order_in(text, self._file, self._policy)
        if order.digest != self._order.with_criteria(drafted.criteria).digest:
            raise NoPlaceError("it would not say the same with more of them")
        return text, order

    def _replace(self, text: str) -> None:
        """Beside the file first: it is replaced whole, or not at all."""
        was = self._file.stat()
        with self._file.open("rb") as file:
            mark = codecs.BOM_UTF8 if file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8 else b""
        handle, name = tempfile.mkstemp(prefix=f".{self._file.name}.", dir=self._file.parent)
        try:
            with os.fdopen(handle, "wb") as beside:
                beside.write(mark + text.encode())
                beside.flush()
                with suppress(PermissionError):
                    os.fchown(handle, was.st_uid, was.st_gid)
                os.fchmod(handle, stat.S_IMODE(was.st_mode))
                os.fsync(handle)
            Path(name).replace(self._file)
        finally:
            Path(name).unlink(missing_ok=True)

    def _unsaved(self, cause: Cause, why: str) -> Unavailable:
        what = f"the drafted criteria are not saved, {self.path} is as it was: {why}"
        return Unavailable(cause, what, "countersign evidence show has them")


def _form(criterion: Criterion) -> bytes:
    return canonical_json(criterion.model_dump(mode="json"))


def _dropped(rejected: Rejected) -> str:
    said = f"dropped: {rejected.criterion}, {rejected.code}: {rejected.check} ({rejected.reason})"
    line = "".join(c if c.isprintable() else " " for c in said)
    return line if len(line) <= MOST_SAID else f"{line[: MOST_SAID - 3]}..."


def _problem(what: str, expected: str) -> Problem:
    return Problem(file="command line", line=1, field=OPTION, what=what, expected=f"expected {expected}")
