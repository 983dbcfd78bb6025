"""Which new modules would be imported in the place of others, by where they lie and what they are called. Pure.

What is installed in the image is not known here: of it only names that are always reserved count. A package beside a
module of its name, or a second module outside the tests, is a refactoring and stays.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from domain.tree import Manifest

Reserved = Callable[[str], bool]
"""Whether a top-level module of this name is the standard library's, the runner's, or one that tests rely on."""

_EXTENSIONS = (".so", ".pyd")
_ON_THE_PATH = ("src", "lib", "python")
_PARTS = ("packages", "apps", "libs", "services")


class _Module(NamedTuple):
    """A file as an import from `root` sees it: by its dotted name."""

    root: str
    name: str
    extension: bool


def hidden(tree: Manifest, added: Iterable[str], reserved: Reserved) -> dict[str, str]:
    """Of the `added` paths of `tree` those that hide another module, each with the reason. Source: DESIGN 8."""
    candidates = [path for path in added if _may_be_module(path, tree)]
    if not candidates:
        return {}
    of_tests = {root for root in _folders_of_tests(tree) if not _is_on_the_path(root)}
    found: dict[str, str] = {}
    doubtful: dict[str, list[_Module]] = {}
    for path in candidates:
        modules = list(_modules(path, of_tests))
        if any("." not in module.name and reserved(module.name) for module in modules):
            found[path] = "a new module that hides the standard library's, the runner's or a test library's"
        elif among := [module for module in modules if module.extension or module.root in of_tests]:
            doubtful[path] = among
    sources = _sources(tree, of_tests, {module.name for modules in doubtful.values() for module in modules})
    for path, modules in doubtful.items():
        if why := next(filter(None, (_why(path, module, tree, sources) for module in modules)), ""):
            found[path] = why
    return found


def _why(path: str, module: _Module, tree: Manifest, sources: dict[str, list[str]]) -> str:
    """Why an extension, or a module among the tests, hides another, if it does."""
    others = [other for other in sources.get(module.name, ()) if other != path]
    if module.extension:
        return f"a new extension module that hides the source {others[0]}" if others else ""
    if is_test(path):
        return ""
    top = posixpath.join(module.root, module.name.partition(".")[0], "__init__.py")
    if "." in module.name and top not in tree.by_path:
        return ""  # a folder without __init__.py comes after every package of its name
    away = [other for other in others if not other.startswith(f"{module.root}/") and not is_test(other)]
    return f"a new module among the tests that hides {away[0]}" if away else ""


def is_test(path: str) -> bool:
    """Whether pytest takes the file for tests, or for what configures them, by its name."""
    name = posixpath.basename(path)
    return name == "conftest.py" or (name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py")))


def _may_be_module(path: str, tree: Manifest) -> bool:
    return path.endswith((".py", *_EXTENSIONS)) or tree.by_path[path].kind == "link"


def _folders_of_tests(tree: Manifest) -> set[str]:
    """What pytest puts on the import path: for each test the first folder upwards that is no package."""
    found: set[str] = set()
    seen: set[str] = set()
    for path in tree.by_path:
        folder = posixpath.dirname(path)
        if folder in seen or not is_test(path):
            continue
        seen.add(folder)
        while folder and f"{folder}/__init__.py" in tree.by_path:
            folder = posixpath.dirname(folder)
        found.add(folder)
    return found


@lru_cache(maxsize=4096)
def _is_on_the_path(folder: str) -> bool:
    """Whether a project usually has `folder` on the import path: the root, src and the like, also of its parts."""
    parts = folder.split("/") if folder else []
    if len(parts) >= 2 and parts[0] in _PARTS:
        parts = parts[2:]
    return not parts or (len(parts) == 1 and parts[0] in _ON_THE_PATH)


def _sources(tree: Manifest, of_tests: set[str], names: set[str]) -> dict[str, list[str]]:
    """The paths of Python source that can be imported by one of `names`."""
    found: dict[str, list[str]] = {}
    for path in tree.by_path if names else ():
        if path.endswith(".py"):
            for module in _modules(path, of_tests):
                if module.name in names:
                    found.setdefault(module.name, []).append(path)
    return found


def _modules(path: str, of_tests: set[str]) -> Iterator[_Module]:
    """`path` as a module, from each folder above it that is on the import path."""
    folder, _, name = path.rpartition("/")
    stem = name.partition(".")[0]
    extension = name.endswith(_EXTENSIONS)
    parts = [part for part in folder.split("/") if part]
    if stem != "__init__":
        parts.append(stem)
    for place in range(len(parts)):
        root = "/".join(parts[:place])
        if _is_on_the_path(root) or root in of_tests:
            yield _Module(root, ".".join(parts[place:]), extension)
