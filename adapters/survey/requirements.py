"""Reads requirements as Python projects write them: names, requirement files, lists. It resolves and runs nothing."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable

from adapters.survey.files import Files

_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_INCLUDE = re.compile(r"(?:-r|--requirement|-c|--constraint)[ =]*(.+)")
_LOCAL = re.compile(r"(?:-e|--editable)\b|\.{1,2}(?:$|[/\[])|file:")
_FIT = re.compile(r"[A-Za-z0-9][\w.-]*\s*(?:\[[^\]]*\])?\s*(?:[(<>=!~@;].*)?")
_FOR_TESTS = re.compile(r"(?:^|[^a-z])tests?(?:ing)?(?:$|[^a-z])")
_FOR_DEVELOPERS = re.compile(r"(?:^|[^a-z])dev(?:elop|elopment)?(?:$|[^a-z])")

INSTALL = "uv pip install --python /opt/venv/bin/python"


def name_of(requirement: str) -> str:
    """The distribution that `requirement` asks for, spelled as indexes compare it; nothing for what names none."""
    found = _NAME.match(requirement)
    return re.sub(r"[-_.]+", "-", found[1]).lower() if found else ""


def fit(requirements: Iterable[str]) -> list[str]:
    """Those that are requirements by name, each once: no option, path or template."""
    cleaned = (re.sub(r"\s+#.*", "", text).strip() for text in requirements)
    return list(dict.fromkeys(text for text in cleaned if _FIT.fullmatch(text) and "{" not in text))


def install(requirements: Iterable[str]) -> str:
    """The command that installs a list of requirements, each quoted for the shell."""
    return " ".join([INSTALL, *(shlex.quote(text) for text in requirements)])


def for_tests(names: Iterable[str]) -> list[str]:
    """The groups, extras or files, of those named, that tests need; without one, those for developers."""
    found = list(names)
    exact = [name for name in found if name.lower() in ("test", "tests", "testing")]
    tests = exact or [name for name in found if _FOR_TESTS.search(name.lower())]
    return tests or [name for name in found if _FOR_DEVELOPERS.search(name.lower())]


class RequirementFile:
    """A requirements file with what it includes. `is_local`: some line names a folder, which setup does not see."""

    def __init__(self, files: Files, path: str) -> None:
        self.path = path
        self.files: list[str] = []
        self.requirements: list[str] = []
        self.is_local = False
        self._read(files, path)

    def _read(self, files: Files, path: str) -> None:
        if path in self.files:
            return
        self.files.append(path)
        for line in files.text(path).replace("\\\n", " ").splitlines():
            text = re.sub(r"(?:^|\s+)#.*", "", line).strip()
            included = _INCLUDE.fullmatch(text)
            if included:
                target = posixpath.normpath(posixpath.join(posixpath.dirname(path), included[1].strip()))
                if target in files:
                    self._read(files, target)
                else:
                    self.is_local = True
            elif _LOCAL.match(text) or " @ file:" in text:
                self.is_local = True
            elif text and not text.startswith("-"):
                self.requirements.append(re.sub(r"\s+--hash.*", "", text))

    @property
    def command(self) -> str:
        """The command that installs it: from the file, unless that names what setup does not see."""
        if self.is_local:
            wanted = fit(self.requirements)
            return install(wanted) if wanted else ""
        return f"{INSTALL} -r {shlex.quote(self.path)}"

    @property
    def inputs(self) -> list[str]:
        """The files that the command reads."""
        return [] if self.is_local else self.files


def requirement_files(files: Files) -> tuple[list[str], list[str]]:
    """The files with what the project runs on, and those with what its tests need."""
    found = [
        path
        for path in files.paths
        if path.endswith(".txt")
        and path.count("/") <= 1
        and ("require" in path.lower() if "/" not in path else path.lower().startswith(("require", "reqs/")))
    ]
    shown = {re.sub(r"\d+", "", path.removesuffix(".txt")): path for path in reversed(found)}
    tests = [shown[name] for name in for_tests(shown)]
    runs = [path for path in found if path in ("requirements.txt", "requirements/base.txt", "requirements/main.txt")]
    return runs, tests
