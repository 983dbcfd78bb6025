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
    project = settings.project / PROJECT_FILE
    table, document = SignersTable(), None
    if project.exists():
        said, document = read_project(project)
        table = said.signers
    path = settings.signers_file if os.environ.get(VARIABLE) else _named(table, settings.project)
    if path is None:
        if document is not None and (table.roles or table.acts):
            raise Malformed([document.problem(("signers",), "names no file", "expected file = PATH in it")])
        return None
    lines = _lines(path)
    problems = _of_table(table, lines, document) if document is not None else []
    if problems:
        raise Malformed(problems)
    return Signers(allowed=text_of(lines), roles=table.roles, acts=table.acts)


def _named(table: SignersTable, root: Path) -> Path | None:
    return root / Path(table.file).expanduser() if table.file else None


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
    if not lines:
        expected = "expected a line such as: ann@example.org ssh-ed25519 AAAA..."
        raise Malformed([Problem(file=shown, line=1, field="file", what="names nobody", expected=expected)])
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
