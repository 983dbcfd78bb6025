"""Finds a Python project's tests: where they are, how pytest is configured, which plugins they name."""

from __future__ import annotations

import ast
import posixpath
import re
import sys
from configparser import ConfigParser, Error
from fnmatch import fnmatch

from adapters.survey.metadata import Metadata, table, texts
from adapters.survey.requirements import fit, name_of

_FOLDERS = ("test", "tests", "testing")
_ASIDE = re.compile(
    r"(?:^|/)(?:docs?|examples?|bench(?:marks?)?|downstream|scripts?|tools?|templates?|build|dist|vendor|_vendor)/"
)
_MAX_PATHS = 6
_LOOKS_LIKE_A_TEST = re.compile(r"^\s*(?:def test|class \w*Test|import unittest|from unittest)", re.M)

# By what a configuration has to say for it: an option of addopts, or an option of the file itself.
_PLUGINS_BY_OPTION = {
    r"--(?:no-)?cov\b": "pytest-cov",
    r"(?:^|\s)-n\s*(?:\d|auto|logical)|--numprocesses|--dist\b|--maxprocesses": "pytest-xdist",
    r"--timeout\b": "pytest-timeout",
    r"--asyncio-mode": "pytest-asyncio",
    r"--benchmark": "pytest-benchmark",
    r"--reruns": "pytest-rerunfailures",
    r"--html\b": "pytest-html",
    r"--mypy": "pytest-mypy",
    r"--random-order": "pytest-random-order",
    r"--randomly|-p\s*no:randomly": "pytest-randomly",
    r"--xdoc": "xdoctest",
    r"--doctest-plus": "pytest-doctestplus",
    r"--disable-socket|--allow-hosts": "pytest-socket",
    r"--hypothesis": "hypothesis",
    r"--snapshot": "syrupy",
    r"--inline-snapshot": "inline-snapshot",
    r"--django|--ds\b|--reuse-db": "pytest-django",
    r"--flake8": "pytest-flake8",
    r"--black\b": "pytest-black",
    r"--isort": "pytest-isort",
    r"--ruff\b": "pytest-ruff",
    r"--sugar": "pytest-sugar",
    r"--picked": "pytest-picked",
}
_PLUGINS_BY_KEY = {
    "asyncio_mode": "pytest-asyncio",
    "asyncio_default_fixture_loop_scope": "pytest-asyncio",
    "timeout": "pytest-timeout",
    "timeout_method": "pytest-timeout",
    "env": "pytest-env",
    "django_settings_module": "pytest-django",
    "mock_use_standalone_module": "pytest-mock",
    "anyio_mode": "anyio",
    "trio_mode": "pytest-trio",
    "qt_api": "pytest-qt",
    "doctest_plus": "pytest-doctestplus",
}
# Names that tests import, by the distribution that is known for them. Others are not guessed at: whoever owns a name
# on an index would run code in setup.
_KNOWN_IMPORTS = {
    "hypothesis": "hypothesis",
    "freezegun": "freezegun",
    "time_machine": "time-machine",
    "pretend": "pretend",
    "mock": "mock",
    "six": "six",
    "flaky": "flaky",
    "parameterized": "parameterized",
    "ddt": "ddt",
    "numpy": "numpy",
    "yaml": "pyyaml",
    "attr": "attrs",
    "dateutil": "python-dateutil",
    "trio": "trio",
    "anyio": "anyio",
    "requests": "requests",
    "responses": "responses",
    "httpx": "httpx",
    "pytest_mock": "pytest-mock",
    "pytest_asyncio": "pytest-asyncio",
    "pytest_benchmark": "pytest-benchmark",
    "pytest_subtests": "pytest-subtests",
    "dirty_equals": "dirty-equals",
    "sybil": "sybil",
    "testfixtures": "testfixtures",
    "pkg_resources": "setuptools<81",
    "setuptools": "setuptools",
    "psutil": "psutil",
    "pytz": "pytz",
    "tzdata": "tzdata",
    "jaraco": "",
}
_FIXTURES = {"mocker": "pytest-mock", "benchmark": "pytest-benchmark", "subtests": ""}
_USES_FIXTURE = re.compile(r"def test\w*\([^)]*\b(mocker|benchmark)\b", re.S)


class PythonTests:
    """The tests of one project. `paths` are what pytest is given; none where its configuration says so itself."""

    def __init__(self, metadata: Metadata) -> None:
        self._files = metadata.files
        self.options, self.configured_in = _options(metadata)
        self.found = self._find()
        named = texts(self.options.get("testpaths", ""))
        configured = [path for line in named for path in line.split()]
        self.configured = [path for path in configured if self._files.below(path.rstrip("/"))]
        self.folders = _covering(self.found)
        if self.configured and (self.found or "--doctest-modules" in self.options.get("addopts", "")):
            self.paths: list[str] = []
        elif self._are_unnamed:
            self.paths = self.found
        else:
            self.paths = self.folders if len(self.folders) <= _MAX_PATHS else []

    @property
    def exist(self) -> bool:
        """Whether there is anything to run."""
        return bool(self.found or self.configured)

    def _find(self) -> list[str]:
        python = [path for path in self._files.paths if path.endswith(".py")]
        named = [path for path in python if self._is_named(path)]
        found = [path for path in named if not _ASIDE.search(path)] or named
        if found:
            return found
        likely = [p for p in python if set(p.split("/")[:-1]) & set(_FOLDERS) or p in ("tests.py", "test.py")]
        return [path for path in likely if _LOOKS_LIKE_A_TEST.search(self._files.text(path))]

    @property
    def _are_unnamed(self) -> bool:
        """Whether pytest would not find them by name, so that each file has to be given."""
        return bool(self.found) and not any(self._is_named(path) for path in self.found)

    def _is_named(self, path: str) -> bool:
        patterns = self.options.get("python_files", "").split() or ["test_*.py", "*_test.py"]
        return any(fnmatch(posixpath.basename(path), pattern) for pattern in patterns)

    def plugins(self, declared: set[str]) -> list[str]:
        """The distributions that configuration and tests name and that nothing declares."""
        addopts = self.options.get("addopts", "")
        wanted = [plugin for option, plugin in _PLUGINS_BY_OPTION.items() if re.search(option, addopts)]
        wanted += [plugin for key, plugin in _PLUGINS_BY_KEY.items() if key in self.options]
        wanted += fit(self.options.get("required_plugins", "").split())
        imported, _ = self.imports()
        wanted += [_KNOWN_IMPORTS[name] for name in imported if _KNOWN_IMPORTS.get(name)]
        for path in self._supporting():
            wanted += [_FIXTURES[name] for name in set(_USES_FIXTURE.findall(self._files.text(path)))]
        fresh = (plugin for plugin in wanted if name_of(plugin) not in declared)
        return list(dict.fromkeys(fresh))

    def imports(self) -> tuple[list[str], list[str]]:
        """The modules that tests import at their top and that are neither Python's nor the project's: known, others."""
        own = {part.removesuffix(".py") for path in self._files.paths for part in path.split("/")}
        found: set[str] = set()
        for path in self._supporting():
            found |= _imported(self._files.text(path))
        foreign = sorted(found - own - set(sys.stdlib_module_names) - {"pytest", "_pytest", "pluggy", "packaging"})
        return [n for n in foreign if n in _KNOWN_IMPORTS], [n for n in foreign if n not in _KNOWN_IMPORTS]

    def _supporting(self) -> list[str]:
        """Tests, and what stands beside them: conftest.py and helpers."""
        beside = {path for folder in self.folders if not folder.endswith(".py") for path in self._files.below(folder)}
        root = {path for path in ("conftest.py",) if path in self._files}
        return sorted(path for path in {*self.found, *beside, *root} if path.endswith(".py"))


def _options(metadata: Metadata) -> tuple[dict[str, str], str]:
    """pytest's own options, names in lower case, from the file that pytest itself would choose."""
    for name in ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini"):
        if name in metadata.files and name.endswith(".ini"):
            parser = ConfigParser(interpolation=None, strict=False)
            try:
                parser.read_string(metadata.files.text(name))
            except Error as error:
                metadata.notes.append(f"{name} cannot be read: {str(error).splitlines()[0]}")
            return (dict(parser.items("pytest")) if parser.has_section("pytest") else {}), name
    tables = table(metadata.pyproject, "tool", "pytest")
    written = table(tables, "ini_options") or {name: value for name, value in tables.items() if name != "ini_options"}
    if written:
        return {key.lower(): _as_ini(value) for key, value in written.items()}, "pyproject.toml"
    for parser, section, name in (
        (metadata.tox, "pytest", "tox.ini"),
        (metadata.setup_cfg, "tool:pytest", "setup.cfg"),
    ):
        if parser.has_section(section):
            return {key: value or "" for key, value in parser.items(section)}, name
    return {}, ""


def _as_ini(value: object) -> str:
    return "\n".join(str(item) for item in value) if isinstance(value, list) else str(value)


def _covering(paths: list[str]) -> list[str]:
    """The folders of tests that hold `paths`, the highest of each; a test elsewhere stands for itself."""
    found: set[str] = set()
    for path in paths:
        parts = path.split("/")
        depth = next((place for place, part in enumerate(parts[:-1]) if part in _FOLDERS), None)
        if depth is not None:
            found.add("/".join(parts[: depth + 1]))
        else:
            found.add(path)
    return sorted(path for path in found if not any(path.startswith(f"{other}/") for other in found))


def _imported(source: str) -> set[str]:
    """The top-level names of the modules that `source` imports for sure: not inside a `try` or an `if`."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found
