"""Plans the commands that install what a Python project's tests need, best from a lock or from its own files."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from adapters.survey.metadata import Metadata, table, texts
from adapters.survey.python_tests import PythonTests
from adapters.survey.requirements import (
    INSTALL,
    RequirementFile,
    fit,
    for_tests,
    install,
    name_of,
    requirement_files,
)

_SYNC = (
    "UV_PROJECT_ENVIRONMENT=/opt/venv uv sync --frozen --inexact --no-install-workspace --python /opt/venv/bin/python"
)
_POETRY_SETUP = (
    "uv venv --quiet /opt/poetry",  # of its own: what Poetry needs must not decide what the project gets
    "uv pip install --python /opt/poetry/bin/python poetry",
)
_POETRY = "VIRTUAL_ENV=/opt/venv /opt/poetry/bin/poetry install --no-root --no-interaction"


class Requirements:
    """The setup of one project: `commands`, the `inputs` they read, and `notes`."""

    def __init__(self, metadata: Metadata, tests: PythonTests) -> None:
        self.commands: list[str] = []
        self.inputs: list[str] = []
        self.notes: list[str] = []
        self._metadata = metadata
        self._files = metadata.files
        self._declared: set[str] = {"pytest"}
        locked = self._locked()
        if not locked:
            self._unlocked()
        plugins = tests.plugins(self._declared) if tests.exist else []
        if plugins:
            self.commands.append(install(plugins))
            self.notes.append(f"tests or their configuration need what nothing declares: {', '.join(plugins)}")
        unknown = [name for name in tests.imports()[1] if not self._declares(name)]
        if unknown and tests.exist and not locked:  # a lock has what the declared ones need in turn, too
            self.notes.append(f"tests import what nothing declares: {', '.join(unknown)}; add it to environment.setup")

    def _declares(self, module: str) -> bool:
        wanted = name_of(module)
        return any(wanted in name or name in wanted for name in self._declared)

    def _locked(self) -> bool:
        """From a lock file, which says exactly what: whether there is one."""
        if "uv.lock" in self._files and self._metadata.project:
            groups = self._groups()
            words = [_SYNC, "--no-default-groups", *(f"--group {shlex.quote(name)}" for name in groups)]
            self._use(" ".join([*words, *(f"--extra {shlex.quote(name)}" for name in self._extras(groups))]))
            self.inputs += ["pyproject.toml", "uv.lock"]
            return True
        if "poetry.lock" in self._files or table(self._metadata.poetry, "dependencies"):
            groups = for_tests(table(self._metadata.poetry, "group"))
            extras = for_tests(table(self._metadata.poetry, "extras"))
            self.commands += _POETRY_SETUP
            words = [_POETRY, *(f"--with {shlex.quote(name)}" for name in groups)]
            self._use(" ".join([*words, *(f"--extras {shlex.quote(name)}" for name in extras)]))
            self.inputs += [name for name in ("pyproject.toml", "poetry.lock") if name in self._files]
            for name in ("dependencies", "dev-dependencies"):
                self._declare(table(self._metadata.poetry, name))
            for name in groups:
                self._declare(table(self._metadata.poetry, "group", name, "dependencies"))
            return True
        return False

    def _unlocked(self) -> None:
        groups = self._groups()
        extras = self._extras(groups)
        if self._metadata.project:
            self._by_project(groups, extras)
        elif self._metadata.is_installable:
            self._by_older_metadata()
        runs, tests = requirement_files(self._files)
        if not self._metadata.is_installable:
            self._by_files(runs)
        if not groups and not extras:
            self._by_files(tests)
            if not tests:
                self._by_tools()

    def _by_project(self, groups: list[str], extras: list[str]) -> None:
        """From pyproject.toml, as far as what it says is there to be read."""
        computed = self._metadata.dynamic & {"dependencies", "optional-dependencies"}
        words = [f"--group {shlex.quote(name)}" for name in groups]
        if computed:
            self._by_older_metadata()
        elif texts(self._metadata.project.get("dependencies")) or extras:
            words = ["-r pyproject.toml", *(f"--extra {shlex.quote(name)}" for name in extras), *words]
        if words:
            self._use(" ".join([INSTALL, *words]))
            self.inputs.append("pyproject.toml")

    def _by_older_metadata(self) -> None:
        """Spelled out, since setup does not see the project whose build would compute it."""
        optional = self._metadata.extras()
        wanted = self._metadata.runtime()
        for name in for_tests(optional):
            wanted += optional[name]
        if wanted:
            self._use(install(dict.fromkeys(wanted)))
            self._declare(name_of(text) for text in wanted)

    def _by_files(self, paths: list[str]) -> None:
        for path in paths:
            found = RequirementFile(self._files, path)
            if found.command:
                self._use(found.command)
                self.inputs += [name for name in found.inputs if name not in self.inputs]
                self._declare(name_of(text) for text in found.requirements)

    def _by_tools(self) -> None:
        """From tox, Hatch or PDM, where nothing else names what tests need."""
        lines = self._metadata.tox_deps()
        included = [line.removeprefix("-r").strip() for line in lines if line.startswith("-r")]
        self._by_files([path for path in included if path in self._files])
        wanted = fit([*lines, *self._metadata.tool_lists()])
        fresh = [text for text in wanted if name_of(text) not in self._declared]
        if fresh:
            self._use(install(fresh))
            self._declare(name_of(text) for text in fresh)

    def _groups(self) -> list[str]:
        """The dependency groups that tests need; what they name counts as declared."""
        groups = table(self._metadata.pyproject, "dependency-groups")
        found = for_tests(groups)
        if self._extras_for_tests() and not any("test" in name.lower() for name in found):
            return []
        self._declare(name_of(text) for name in found for text in self._members(groups, name, set()))
        return found

    def _members(self, groups: dict[str, object], name: str, seen: set[str]) -> list[str]:
        value = groups.get(name)
        if name in seen or not isinstance(value, list):
            return []
        included = [str(item["include-group"]) for item in value if isinstance(item, dict) and "include-group" in item]
        below = [text for other in included for text in self._members(groups, other, seen | {name})]
        return [*texts(value), *below]

    def _extras_for_tests(self) -> list[str]:
        found = for_tests(table(self._metadata.project, "optional-dependencies"))
        return [name for name in found if "test" in name.lower()]

    def _extras(self, groups: list[str]) -> list[str]:
        """The extras that tests need, those for developers only where no group says better."""
        optional = table(self._metadata.project, "optional-dependencies")
        found = self._extras_for_tests() or ([] if groups else for_tests(optional))
        self._declare(name_of(text) for text in texts(self._metadata.project.get("dependencies")))
        self._declare(name_of(text) for name in found for text in texts(optional.get(name)))
        return found

    def _use(self, command: str) -> None:
        if command not in self.commands:
            self.commands.append(command)

    def _declare(self, names: Iterable[str]) -> None:
        self._declared |= {name_of(name) for name in names}
