"""Reads who may sign: the `[signers]` table of the project file, and the allowed signers file that it names.

Source: issue "Human authority". Who may write these is for `settings.refuse_authority_within` to say.
"""

from __future__ import annotations

import os
from pathlib import Path

from adapters.config.problems import shown_as
from adapters.config.project_file import PROJECT_FILE, SignersTable, read_project
from adapters.config.settings import PREFIX, Settings
from adapters.config.text_file import read_text_file
from adapters.config.yaml_document import Document
from adapters.signatures.allowed import Line, lines_of, text_of
from domain.errors import Malformed, Problem
from domain.fields import quoted
from domain.signatures import Signers
from domain.signing import LEAST_ROLE

VARIABLE = f"{PREFIX}SIGNERS_FILE"
MOST_BYTES = 256 * 1024


def load_signers(settings: Settings) -> Signers | None:
    """Who may sign now, None where that is not configured: read anew from the files. Raises `Malformed`."""
    table, document = _table(settings)
    path = _file(settings, table)
    if path is None:
        if document is not None and (table.roles or table.acts):
            raise Malformed([document.problem(("signers",), "names no file", "expected file = PATH in it")])
        return None
    lines = _lines(path)
    if not lines:
        expected = "expected a line such as: ann@example.org ssh-ed25519 AAAA..."
        raise Malformed([Problem(file=shown_as(path), line=1, field="file", what="names nobody", expected=expected)])
    problems = _of_table(table, lines, document) if document is not None else []
    if problems:
        raise Malformed(problems)
    return Signers(allowed=text_of(lines), roles=table.roles, acts=table.acts)


def signers_left(settings: Settings) -> Signers | None:
    """Whose keys are in the file by now, for a session that began with more; None where no file is named any more.

    People are taken out by a line: that nobody is left, or `[signers.roles]` still names them, is no mistake here.
    Raises `Malformed` for what cannot be read.
    """
    path = _file(settings, _table(settings)[0])
    return None if path is None else Signers(allowed=text_of(_lines(path)))


def _table(settings: Settings) -> tuple[SignersTable, Document | None]:
    project = settings.project / PROJECT_FILE
    if not project.exists():
        return SignersTable(), None
    said, document = read_project(project)
    return said.signers, document


def _file(settings: Settings, table: SignersTable) -> Path | None:
    if os.environ.get(VARIABLE):
        return settings.signers_file
    return settings.project / Path(table.file).expanduser() if table.file else None


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
    acts = {command.value for command in LEAST_ROLE}
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
