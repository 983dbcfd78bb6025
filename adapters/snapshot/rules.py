"""Turns an order's scope into `domain.scope.Rules`: patterns mean what they do to gitignore, asked for whole paths."""

from __future__ import annotations

import sys
from collections.abc import Callable

from adapters.snapshot.contents import looking
from adapters.snapshot.matching import matcher, without
from domain.order import Scope
from domain.protected import CONFIGURATION, INTEGRATION, PROTECTED, START_UP, TESTS
from domain.scope import Rules

_RUNNERS = frozenset(
    {
        *("pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments", "coverage", "xdist", "execnet"),
        *("exceptiongroup", "tomli", "colorama", "typing_extensions", "attr", "attrs", "six", "setuptools"),
        *("pkg_resources", "_distutils_hack", "pip", "tox", "nox", "nose", "nose2", "unittest2"),
    }
)
_TEST_LIBRARIES = frozenset(
    {
        *("hypothesis", "mock", "freezegun", "time_machine", "responses", "respx", "requests_mock", "httpretty"),
        *("vcr", "faker", "factory", "parameterized", "ddt", "testfixtures", "syrupy", "snapshottest", "anyio"),
        *("sniffio", "trio", "aioresponses", "asynctest", "hamcrest"),
    }
)
_LINTERS = frozenset(
    {
        *("ruff", "mypy", "mypy_extensions", "flake8", "pyflakes", "pycodestyle", "pydocstyle", "pylint", "isort"),
        *("bandit", "pyright", "importlinter"),
    }
)
RESERVED = (sys.stdlib_module_names - {"test"}) | _RUNNERS | _TEST_LIBRARIES | _LINTERS
"""Modules that nothing of the worker's may stand for, by name; so may none that begins like a plugin of pytest's."""
_RESERVED_STARTS = ("pytest_", "_pytest_", "_hypothesis_")


def rules_of(scope: Scope, read: Callable[[str], bytes]) -> Rules:
    """The rules of `scope` with the lists of `domain.protected` in them; `read` gives a blob by its digest."""
    return Rules(
        allow=matcher(scope.allow),
        deny=matcher(scope.deny),
        protect=matcher([*PROTECTED, *scope.protect]),
        unprotect=matcher(scope.unprotect),
        test=matcher([*TESTS, *scope.protect]),
        new_test=without(matcher(TESTS), matcher([*CONFIGURATION, *INTEGRATION])),
        start_up=matcher(START_UP),
        reserved=reserved,
        look=looking(read),
    )


def reserved(module: str) -> bool:
    """Whether a top-level module of this name is the standard library's, a runner's, a linter's or tests rely on it.

    The names are those of the Python that runs Countersign, not the image's.
    """
    return module in RESERVED or module.startswith(_RESERVED_STARTS)
