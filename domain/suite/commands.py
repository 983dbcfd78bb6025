"""Tells from a command whether it runs tests: by the runner's name, a build tool's target, or a script called as one.

It reads the words alone, so it can take something else for a test run. Who asks must not rely on more.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator

_RUNNERS = frozenset(
    (
        *("pytest", "py.test", "nose2", "nosetests", "tox", "nox", "behave", "robot", "trial", "stestr"),
        *("jest", "vitest", "mocha", "_mocha", "ava", "tap", "jasmine", "qunit", "uvu", "karma"),
        *("bats", "shellspec", "prove", "ctest", "rspec", "cucumber", "phpunit", "pest", "busted"),
        *("gotestsum", "ginkgo", "cargo-nextest"),
    )
)
_TEST = r"t|tst|tests?|specs?|(?:test|spec)[-:_.].*|.*[-:_.](?:tests?|specs?)"
_TOOLS = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun", "deno", "rake", "rails", "hatch", "composer", "artisan"), _TEST),
    **dict.fromkeys(("go", "mix", "dotnet", "swift", "zig", "stack", "cabal", "dart", "flutter", "manage.py"), "test"),
    **dict.fromkeys(("make", "gmake", "just", "task", "invoke", "ninja", "meson"), f"{_TEST}|check"),
    **dict.fromkeys(("gradle", "gradlew"), r"(?:.*:)?(?:\w*[tT]est|check|build)"),
    **dict.fromkeys(("mvn", "mvnw"), "test|verify|package|install"),
    **dict.fromkeys(("playwright", "ng", "react-scripts"), "test"),
    "cargo": "t|test|nextest",
    "cypress": "run",
}
"""Tools that do many things, and which subcommands, scripts or targets of theirs are tests."""

_MODULES = frozenset(("unittest", "pytest", "nose2", "nose", "doctest", "tox", "nox", "twisted.trial", "testtools.run"))
_INTERPRETERS = re.compile(
    r"sh|bash|dash|ksh|zsh|source|\.|node|nodejs|tsx|ts-node|bun|run|ruby|perl|php|lua|Rscript|python[0-9.]*|pypy[0-9.]*"
)
_ONLY_READS = re.compile(r"-[a-z]*n|--check|-c|--noexec")
"""Options of an interpreter that has a script looked at, not run."""

_BEFORE = re.compile(
    r"env|exec|command|time|nice|nohup|sudo|timeout|stdbuf|xvfb-run|then|else|do|if|while|until|-.*|\w+=.*|[\d.]+[smhd]?"
)
"""Words that may stand before a command's own first word."""

_SEPARATORS = re.compile(r"[;&|()]+|\{|\}|!")
_FOLDERS = frozenset(("test", "tests", "spec", "specs", "__tests__", "e2e"))
_WORDS = "tests?|specs?|checks?|verify|validate|e2e|smoke|self-?tests?|acceptance"
_STEM = re.compile(rf"(?:^|.*[-_.])(?:{_WORDS})(?:[-_.].*|$)", re.IGNORECASE)


def runs_tests(command: str) -> bool:
    """Whether some part of the shell command `command` looks like a run of tests."""
    return any(_begins(words[n], words[n + 1 :], words[:n]) for words in _parts(command) for n in range(len(words)))


def scripts_in(command: str) -> Iterator[tuple[str, str]]:
    """The scripts that test, by their names, which `command` runs: a folder that it went to before, and the path."""
    return ((folder, path) for folder, path in programs_in(command) if _is_script(path))


def programs_in(command: str) -> Iterator[tuple[str, str]]:
    """Every file that `command` runs, by an interpreter or by its path, whatever its name; as `scripts_in` has it."""
    for folder, words in _parts_in_folders(command):
        for n, word in enumerate(words):
            if path := _program(word, words[n + 1 :], words[:n]):
                yield folder, path


def doctests_in(command: str) -> Iterator[tuple[str, str]]:
    """What `command` gives to `python -m doctest`, as `scripts_in` has it: the shell's patterns; `**` for anything."""
    for folder, words in _parts_in_folders(command):
        for n in range(len(words) - 1):
            if words[n : n + 2] != ["-m", "doctest"]:
                continue
            given = [word for word in words[n + 2 :] if not word.startswith("-")]
            known = given and not any(re.search(r"[$`]", word) for word in given)
            yield from ((folder, word) for word in given) if known else ((folder, "**"),)


def _parts_in_folders(command: str) -> Iterator[tuple[str, list[str]]]:
    """The words of each command, those of a command in one word, too, and the folder that was gone to before."""
    folder = "."
    for words in _parts(command):
        if words[:1] == ["cd"] and len(words) == 2:
            folder = posixpath.normpath(posixpath.join(folder, words[1]))
        yield folder, words
        for word in words:
            if re.search(r"\s", word):
                yield from (
                    (posixpath.normpath(posixpath.join(folder, below)), inside)
                    for below, inside in _parts_in_folders(word)
                )


def _parts(command: str) -> Iterator[list[str]]:
    """The words of each command between the shell's separators."""
    lexer = shlex.shlex(command.replace("\\\n", " ").replace("\n", ";"), posix=True, punctuation_chars=True)
    lexer.commenters = ""
    words: list[str] = []
    try:
        for word in lexer:
            if _SEPARATORS.fullmatch(word):
                yield words
                words = []
            else:
                words.append(word)
    except ValueError:
        words += command.split()  # an open quotation: no shell runs it
    yield words


def _begins(word: str, rest: list[str], before: list[str]) -> bool:
    """Whether `word` and what follows is a run of tests."""
    name = word.rpartition("/")[2]
    arguments = [argument for argument in rest if not argument.startswith("-")]
    if name in _RUNNERS or (re.search(r"\s", word) and runs_tests(word)):
        return True
    if name in _TOOLS and any(re.fullmatch(_TOOLS[name], argument) for argument in arguments):
        return True
    if name == "node" and any(argument.startswith("--test") for argument in rest):
        return True
    if "-m" in rest and name.startswith(("python", "pypy")):
        return bool(_MODULES & set(rest[rest.index("-m") + 1 :][:1]))
    return _is_script(_program(word, rest, before))


def _program(word: str, rest: list[str], before: list[str]) -> str:
    """The file where `word` runs one, by an interpreter or by itself; else empty."""
    if _INTERPRETERS.fullmatch(word.rpartition("/")[2]):
        arguments = [argument for argument in rest if not argument.startswith("-")]
        options = rest[: rest.index(arguments[0])] if arguments else rest
        return arguments[0] if arguments and not any(map(_ONLY_READS.fullmatch, options)) else ""
    return word if "/" in word and all(map(_BEFORE.fullmatch, before)) else ""


def _is_script(path: str) -> bool:
    """Whether a script is called, or lies, as tests do."""
    *folders, name = path.split("/")
    return bool(_FOLDERS & set(folders) or _STEM.fullmatch(name))
