"""Reads who may sign: the `[signers]` table of the project file, and the allowed signers file that it names.

Source: issue "Human authority". Who may write these is for `worker_written` to say.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from adapters.config.configuration import Configured, Reader, conflict
from adapters.config.problems import shown_as
from adapters.config.project_file import SignersTable
from adapters.config.settings import ENVIRONMENT, PREFIX, Settings
from adapters.config.text_file import read_text_file
from adapters.config.yaml_document import Document
from adapters.signatures.allowed import Line, lines_of, text_of
from domain.errors import Malformed, Problem
from domain.fields import quoted
from domain.signatures import LEAST_PIN_ROLE, LEAST_ROLE, PersonRole, Signers

VARIABLE = f"{PREFIX}SIGNERS_FILE"
MOST_BYTES = 256 * 1024
_USUAL: dict[str, PersonRole] = {**{command.value: role for command, role in LEAST_ROLE.items()}, **LEAST_PIN_ROLE}


def load_signers(settings: Settings, files: Iterable[Configured] = ()) -> Signers | None:
    """Who may sign now, None where that is not configured. Raises `Malformed`.

    `files`: further ones that are in force. None says less than another asks for: they name one file, none gives a
    person a higher role than another, or asks less of an act.
    """
    told = [one for one in _in_force(settings, files) if _says(one.said.signers)]
    path = _file(settings, told)
    if path is None:
        if told:
            raise Malformed([told[0].document.problem(("signers",), "names no file", "expected file = PATH in it")])
        return None
    lines = _lines(path)
    if not lines:
        expected = "expected a line such as: ann@example.org ssh-ed25519 AAAA..."
        raise Malformed([Problem(file=shown_as(path), line=1, field="file", what="names nobody", expected=expected)])
    if problems := [problem for one in told for problem in _of_table(one.said.signers, lines, one.document)]:
        raise Malformed(problems)
    roles: dict[str, PersonRole] = {}
    acts: dict[str, PersonRole] = {}
    for place, one in enumerate(told):
        for outer in told[:place]:
            _refuse_less(one, outer)
        table = one.said.signers
        roles = {**table.roles, **roles, **{name: role for name, role in table.roles.items() if role == "reviewer"}}
        acts = {**table.acts, **acts, **{name: role for name, role in table.acts.items() if role == "owner"}}
    return Signers(allowed=text_of(lines), roles=roles, acts=acts)


def signers_left(settings: Settings) -> Signers | None:
    """Whose keys are in the file by now, for a session that began with more; None where no file is named any more.

    Each file is read again. People are taken out by a line: that nobody is left, or `[signers.roles]` still names them,
    is no mistake here. Raises `Malformed` for what cannot be read.
    """
    reader = Reader()
    again = (reader.at(one.folder) for one in _in_force(settings, ()))
    path = _file(settings, [one for one in again if one is not None and _says(one.said.signers)])
    return None if path is None else Signers(allowed=text_of(_lines(path)))


def file_of_signers(settings: Settings, files: Iterable[Configured] = ()) -> Path | None:
    """The file that says who may sign, None where none is named. Raises `Malformed` where two are."""
    return _file(settings, [one for one in _in_force(settings, files) if _says(one.said.signers)])


def _in_force(settings: Settings, files: Iterable[Configured]) -> list[Configured]:
    return list({one.path: one for one in (*settings.files, *settings.above, *files)}.values())


def _says(table: SignersTable) -> bool:
    return bool(table.file or table.roles or table.acts)


def _file(settings: Settings, told: Iterable[Configured]) -> Path | None:
    """The one that all name, who name one; the environment may name it where no file does, or the same."""
    named = [(one, one.folder / Path(one.said.signers.file).expanduser()) for one in told if one.said.signers.file]
    for one, path in named:
        if path.resolve() != named[0][1].resolve():
            raise conflict(one, ("signers", "file"), f"names {shown_as(path)}", named[0][0])
    if not os.environ.get(VARIABLE):
        return named[0][1] if named else None
    if named and named[0][1].resolve() != settings.signers_file:
        what = f"{quoted(os.environ[VARIABLE])} is not the file that {shown_as(named[0][0].path)} names"
        raise Malformed([Problem(file=ENVIRONMENT, line=1, field=VARIABLE, what=what, expected="expected it unset")])
    return settings.signers_file


def _refuse_less(inner: Configured, outer: Configured) -> None:
    """Raises `Malformed` where `inner` gives somebody more than `outer` does, or asks less of an act."""
    asked, told = outer.said.signers, inner.said.signers
    for name, role in told.roles.items():
        if role == "owner" and asked.roles.get(name, "reviewer") == "reviewer" and (asked.file or asked.roles):
            raise conflict(inner, ("signers", "roles", name), "is a higher role", outer)
    for name, role in told.acts.items():
        if role == "reviewer" and asked.acts.get(name, _USUAL.get(name)) == "owner":
            raise conflict(inner, ("signers", "acts", name), "is a lower role", outer)


def _lines(path: Path) -> list[Line]:
    shown = shown_as(path)
    lines, wrong = lines_of(read_text_file(path, shown, "an OpenSSH allowed signers file", MOST_BYTES))
    if wrong:
        raise Malformed(
            [
                Problem(file=shown, line=one.line, field="line", what=one.what, expected=f"expected {one.expected}")
                for one in wrong
            ]
        )
    return lines


def _of_table(table: SignersTable, lines: list[Line], document: Document) -> list[Problem]:
    acts = set(_USUAL)
    problems = [
        document.problem(
            ("signers", "roles", name), f"{quoted(name)} is nobody in the allowed signers file", "expected a principal"
        )
        for name in table.roles
        if not any(line.names(name) for line in lines)
    ]
    problems += [
        document.problem(
            ("signers", "acts", name), f"{quoted(name)} is no act", f"expected one of {', '.join(sorted(acts))}"
        )
        for name in table.acts
        if name not in acts
    ]
    return problems
