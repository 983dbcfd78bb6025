"""Whether two command lines run the same thing, however they were typed. It runs none, and guesses none: in doubt, no.

`cd /repo && PYTHONPATH=src python3 -m pytest -v ./tests/ 2>&1 | tail -5` is `pytest tests`, but for its exit code.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass

_WORD = re.compile(r"""(?:[^\s"'\\|&;<>]|\\.|"[^"]*"|'[^']*')+|\|\|?|&&?|;|[<>]+(?:&\d)?""")
_QUOTED = re.compile(r""""([^"]*)"|'([^']*)'""")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*")

_LAUNCHERS = (
    *(("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("hatch", "run"), ("pdm", "run"), ("rye", "run")),
    *(("bundle", "exec"), ("npx",), ("env",), ("time",), ("command",)),
)
"""What starts a command and changes nothing about it."""

_SHOWING = frozenset({"tail", "head", "tee", "cat", "grep", "less", "more"})
"""What a pipe may lead to: it shows less of the output, and its exit code is not the command's."""

_COSMETIC: dict[str, tuple[str, ...]] = {
    "pytest": (
        *("-q+", "-v+", "--quiet", "--verbose", "-s", "-r.*", "-l", "--tb=.*", "--color=.*", "--durations=.*"),
        *("--no-header", "--no-summary", "--showlocals", "--capture=.*", "-p=?no:cacheprovider", "-n=?(?:auto|[0-9]+)"),
    ),
    "unittest": ("-q", "-v", "--quiet", "--verbose", "-b", "--buffer"),
    "ruff": ("-q", "-v", "--quiet", "--verbose", "--no-cache", "--output-format=.*"),
    "mypy": ("-v", "--verbose", "--pretty", "--no-error-summary"),
    "go": ("-v", "-count=1"),
    "cargo": ("-q", "-v", "--quiet", "--verbose", "--offline"),
    "npm": ("-s", "--silent"),
    "jest": ("--verbose", "--silent", "--colors?"),
    "node": ("--test-reporter=.*",),
}
"""Options that change what is printed and nothing else, as patterns, by program."""

_WITH_VALUE = frozenset(
    {"--tb", "--color", "--durations", "--capture", "-p", "-n", "--output-format", "--test-reporter"}
)
"""Options whose value may be the next word."""

MAX_CHARACTERS = 4000
"""Of a command that is looked into; a longer one is none that can be told."""


def same_command(claimed: str, command: str, cwd: str) -> Run | None:
    """What `claimed` runs, where that is what `command` runs in `cwd`, else None."""
    if " ".join(claimed.split()) == " ".join(command.split()):
        return Run(cwd, command, ())
    said, run = run_of(claimed), run_of(command, cwd)
    return said if said and run and said.same(run) else None


@dataclass(frozen=True)
class Run:
    """A command, normalised: equal for the same thing. `exits`: its exit code is the command's own."""

    folder: str
    program: str
    arguments: tuple[str, ...]
    exits: bool = True

    def same(self, other: Run) -> bool:
        """Whether both run the same. Where one of the folders is absolute, it is taken to be the other."""
        if (self.program, self.arguments) != (other.program, other.arguments):
            return False
        return self.folder == other.folder or "/" in (self.folder[:1], other.folder[:1])


def run_of(command: str, cwd: str = ".") -> Run | None:
    """What `command` runs in the end, in `cwd`; None where that is more than one thing, or none that can be told."""
    line = command.strip()
    if len(line) > MAX_CHARACTERS or "\n" in line or _WORD.sub("", line).strip():
        return None
    words = _WORD.findall(line)
    folder = posixpath.normpath(cwd)
    while len(words) > 2 and words[0] == "cd" and words[2] in ("&&", ";"):
        folder = _unquoted(words[1]) if _unquoted(words[1]).startswith("/") else posixpath.join(folder, words[1])
        words = words[3:]
    shown, exits = _without_showing(words)
    if shown is None:
        return None
    words = _without_launchers([_unquoted(word) for word in shown])
    if not words:
        return None
    program, arguments = _program(words)
    return Run(posixpath.normpath(folder), program, _arguments(program, arguments), exits)


def _unquoted(word: str) -> str:
    return _QUOTED.sub(lambda found: found[1] if found[1] is not None else found[2], word)


def _without_showing(words: list[str]) -> tuple[list[str] | None, bool]:
    """The words before what only shows, or only changes the exit code; None where something else is done besides."""
    kept: list[str] = []
    for place, word in enumerate(words):
        rest = words[place + 1 :]
        if word == ">&1" and kept[-1:] == ["2"]:
            kept.pop()
        elif word[:1] not in tuple("|&;<>"):
            kept.append(word)
        elif (
            (word == "|" and _SHOWING.issuperset(rest[:1]) and rest)
            or (word == "||" and rest in (["true"], [":"]))
            or (word == ";" and rest[:1] == ["echo"] and not {"&&", "||", ";"}.intersection(rest))
        ):
            return kept, False
        else:
            return None, False
    return kept, True


def _without_launchers(words: list[str]) -> list[str]:
    while words:
        if _ASSIGNMENT.fullmatch(words[0]):
            words = words[1:]
            continue
        launcher = next((each for each in _LAUNCHERS if tuple(words[: len(each)]) == each), None)
        if launcher is None:
            return words
        words = words[len(launcher) :]
    return words


def _program(words: list[str]) -> tuple[str, list[str]]:
    """The program by its name, a module of Python's by its own."""
    name, rest = posixpath.basename(words[0]) or words[0], words[1:]
    if _PYTHON.fullmatch(name):
        if rest[:1] == ["-m"] and len(rest) > 1:
            name, rest = rest[1], rest[2:]
        else:
            name = "python"
    elif words[0].startswith(("./", "../")) and "/bin/" not in words[0]:
        name = posixpath.normpath(words[0])  # a script of the tree's
    return ("pytest" if name == "py.test" else name), rest


def _arguments(program: str, words: list[str]) -> tuple[str, ...]:
    """Without what is cosmetic; in any order where the program is one that is known here."""
    patterns = _COSMETIC.get(program)
    if patterns is None:
        return tuple(words)
    joined: list[str] = []
    for word in words:
        if joined and joined[-1] in _WITH_VALUE:
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    cosmetic = re.compile("|".join(patterns))
    kept = [word for word in joined if not cosmetic.fullmatch(word)]
    return tuple(sorted(word if word.startswith("-") else posixpath.normpath(word) for word in kept))
