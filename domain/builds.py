"""What is left of a build when the command begins: what is put back, and what may not be new. It reads no file.

A build runs the worker's files, as the user that the command has too. What it makes stays: that is what it is for. What
was sealed and is not the worker's to change is put back, and what nobody asked for but something runs, or obeys, by
itself is removed. Source: DESIGN 8 "Trusted tree"; why so, docs/adr/0015.
"""

from __future__ import annotations

from domain.base import Message
from domain.protected import NEW_TESTS, PROTECTED

_GENERATED = frozenset({"Makefile", "*.mk", "*.cmake"})
"""Protected names that build systems write beside their sources. One that was sealed is put back all the same."""


class Unwanted(Message):
    """A name that a build may not add: a shell's pattern, without space or slash, for the last part of a path.

    Only where the content has `holding`, unless that is empty. `known_folders`: only in a folder that the sealed tree,
    or what was set up, has: what a build makes in a folder of its own is for whoever looks there.
    """

    name: str
    holding: str = ""
    known_folders: bool = False


def _configuration() -> frozenset[str]:
    """The names of protected files that are no tests, as far as they are plain names."""
    return frozenset(name for name in set(PROTECTED) - set(NEW_TESTS) if "/" not in name and name[0] != "!")


_PYTEST = ("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini")
_ANYWHERE = (*_PYTEST, "setup.cfg", "pyproject.toml")

UNWANTED = (
    *(Unwanted(name=name) for name in _ANYWHERE),
    *(Unwanted(name=name) for name in ("sitecustomize*", "usercustomize*")),
    # Bytecode that has the time and size of a source file is run in its place.
    Unwanted(name="*.pyc"),
    # A line that begins with `import` is run; the others, which editable installs write, are only folders.
    Unwanted(name="*.pth", holding="import"),
    Unwanted(name="entry_points.txt", holding="pytest11"),
    *(Unwanted(name=name, known_folders=True) for name in (".pnp.cjs", ".pnp.js", ".pnp.loader.mjs", ".pnpmfile.*")),
    *(Unwanted(name=name, known_folders=True) for name in sorted(_configuration() - _GENERATED - set(_ANYWHERE))),
)


class BuildRules(Message):
    """`changeable` are the files of a tree that a build may change: every other one is put back, and so is every link.

    `hiding` are modules that nothing new in the root or in `src` may hide.
    """

    changeable: tuple[str, ...] = ()
    unwanted: tuple[Unwanted, ...] = UNWANTED
    hiding: tuple[str, ...] = ()


STRICT = BuildRules()
"""For a tree of which nobody says what is the worker's: all of it is put back."""
