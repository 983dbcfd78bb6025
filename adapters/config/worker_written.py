"""Refuses configuration and state that the worker of a workspace could have written, where it says who decides.

A server, an engine or a database of the worker's own would give any verdict (DESIGN 1.4), and so would the file of a
scripted auditor, or one of people who may sign, or a trail that it can write.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import JsonValue

from adapters.config.configuration import Configured
from adapters.config.places import is_within
from adapters.config.problems import shown_as
from adapters.config.settings import ENVIRONMENT, PREFIX, Settings, default_state_dir
from domain.errors import Malformed, Problem
from domain.fields import quoted
from domain.roles.models import chosen, script_of

AUTHORITY = (
    "temporal_address",
    "temporal_namespace",
    "payload_key_file",
    "database_url",
    "evidence_dir",
    "evidence_url",
    "docker_host",
    "base_image",
    "api_allow",
    "github_url",
    "secrets",
)
"""Settings that choose who decides, and on what; and what is kept from being read."""

POLICY_TABLES = (
    ("override_policy",),
    ("signers",),
    ("policy_floor", "checks"),
    ("policy_floor", "protect"),
    ("policy_floor", "draft"),
    ("policy_floor", "on_exhausted"),
)
"""What of a file says who people are and what they may, or changes what a round looks at.

A check of the worker's own may be the only one there is, and what the worker protects is verified as it was before. The
rest of the floor only asks for more, whoever wrote it.
"""

AUTHORITY_TABLES = (
    ("verification_defaults",),
    ("thresholds",),
    ("agents",),
    ("notifications",),
    *POLICY_TABLES,
)
"""What of a file that settings are taken from stands in every order, or says who people are and who hears of it."""

_SET = "is set in a file that the worker can write"


def refuse_authority_within(settings: Settings, workspace: Path, files: Iterable[Configured] = ()) -> None:
    """Refuse what the worker of `workspace` could have written, where it says who decides or on what.

    `files` are further ones whose policy is in force. One of those in the workspace with the same bytes as one outside,
    as a clone has it, says nothing of its own. Raises `Malformed`.
    """
    workspace = workspace.resolve()
    problems = [*_of_paths(settings, workspace)]
    for one in settings.files:
        if one.folder.is_relative_to(workspace):
            problems += _of_settings(one)
            problems += _of_tables(one, AUTHORITY_TABLES)
    further = {one.path: one for one in (*settings.above, *files) if one not in settings.files}.values()
    outside = {one.digest for one in (*settings.files, *further) if not one.folder.is_relative_to(workspace)}
    for one in further:
        if one.folder.is_relative_to(workspace) and one.digest not in outside:
            problems += _of_tables(one, POLICY_TABLES)
    if problems:
        raise Malformed(problems)


def _of_settings(one: Configured) -> Iterator[Problem]:
    said = one.said.as_settings(one.folder)
    for name in AUTHORITY:
        if name in said:
            expected = f"expected it in {PREFIX}{name.upper()}, or the file outside the workspace"
            yield Problem(file=shown_as(one.path), line=1, field=name, what=_SET, expected=expected)


def _of_tables(one: Configured, tables: Iterable[tuple[str, ...]]) -> Iterator[Problem]:
    for place in tables:
        if _has(one.document.data, place):
            yield one.document.problem(place, _SET, "expected the file outside the workspace")


def _of_paths(settings: Settings, workspace: Path) -> Iterator[Problem]:
    for model in chosen(settings.agents):
        if (script := script_of(model)) and is_within(Path(script), workspace):
            what = f"{quoted(model)} is a file that the worker can write"
            yield _problem("agents", what, "expected one outside the workspace")
    signers = _written(settings, "signers_file") or settings.signers_file
    if signers is not None and is_within(signers, workspace):
        what = f"{quoted(str(signers))} is a file that the worker can write"
        yield _problem("signers.file", what, "expected one outside the workspace")
    for field, path in _kept(settings):
        if is_within(path, workspace):
            what = f"{shown_as(path)} is where the worker of {shown_as(workspace)} can write"
            yield _problem(f"{PREFIX}{field.upper()}", what, "expected a place that no worker can write")


def _kept(settings: Settings) -> Iterator[tuple[str, Path]]:
    """Where what is decided is kept, and with which key, as it was written: a link in it may be the worker's."""
    state, usual = settings.state_dir, default_state_dir(settings.project)
    yield "state_dir", _written(settings, "state_dir") or (usual if usual.resolve() == state else state)
    database = Path(settings.database_url.removeprefix("sqlite:///"))
    if settings.database_url.startswith("sqlite:////") and not database.is_relative_to(state):
        yield "database_url", database
    if settings.evidence_url is None and not settings.evidence_dir.is_relative_to(state):
        yield "evidence_dir", _written(settings, "evidence_dir") or settings.evidence_dir
    if (key := _written(settings, "payload_key_file") or settings.payload_key_file) is not None:
        yield "payload_key_file", key


def _written(settings: Settings, field: str) -> Path | None:
    """The path as the environment or the innermost file has it, links and all; None where neither says it."""
    variable = os.environ.get(f"{PREFIX}{field.upper()}")
    if variable:
        return Path(variable)
    named = (one.said.as_settings(one.folder).get(field) for one in reversed(settings.files))
    return next((path for path in named if path is not None), None)


def _has(data: JsonValue, place: tuple[str, ...]) -> bool:
    """Whether there is something at `place`."""
    for name in place:
        data = data.get(name) if isinstance(data, dict) else None
    return bool(data)


def _problem(field: str, what: str, expected: str) -> Problem:
    return Problem(file=ENVIRONMENT, line=1, field=field, what=what, expected=expected)
