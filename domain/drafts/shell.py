"""A shell command's parts as words, roughly: enough to see which programs it calls. It runs and judges nothing."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

_SEPARATORS = re.compile(r"[;&|()]+|\{|\}|!")
_BEFORE = re.compile(
    r"env|exec|command|time|nice|nohup|sudo|timeout|stdbuf|xargs|then|else|elif|do|if|while|until|\$|-.*|\w+=.*"
    r"|[\d.]+[smhd]?"
)
"""Words that may stand before a command's own first word."""

_HERE = re.compile(r"<<-?[ \t]*(['\"]?)(\w+)\1([^\n]*)\n(.*?)(?:\n[ \t]*\2[ \t]*(?=\n|$)|$)", re.DOTALL)
"""A document in the command itself, with what stands behind its mark on the same line."""

_INNER = re.compile(r"\$\(([^()]+)\)|`([^`]+)`")
_SHELLS = frozenset(("sh", "bash", "dash", "ksh", "zsh", "eval"))


def parts_in(command: str) -> Iterator[tuple[str, list[str]]]:
    """Each command of `command`: its program, by name without the folder, and its further words as the shell has them.

    Also what a substitution or a shell within the shell runs. A document in the command is a word of the one that reads
    it. The program is empty where there are options alone.
    """
    for words in _split(_HERE.sub(lambda found: f"{shlex.quote(found[4])} {found[3]}", command)):
        place = next((n for n, word in enumerate(words) if not _BEFORE.fullmatch(word)), len(words))
        program = words[place].rpartition("/")[2] if place < len(words) else ""
        rest = words[place + 1 :]
        if program or rest:
            yield program, rest
        for word in words:
            for found in _INNER.finditer(word):
                yield from parts_in(found[1] or found[2])
        if program in _SHELLS:
            yield from (part for word in rest if re.search(r"\s", word) for part in parts_in(word))


def _split(command: str) -> Iterator[list[str]]:
    """The words of each command between the shell's separators."""
    lexer = shlex.shlex(command.replace("\\\n", " ").replace("\n", ";"), posix=True, punctuation_chars=True)
    lexer.commenters = ""
    lexer.whitespace_split = True
    words: list[str] = []
    try:
        for word in lexer:
            if _SEPARATORS.fullmatch(word):
                if words:
                    yield words
                words = []
            else:
                words.append(word)
    except ValueError:
        words += command.split()  # an open quotation: no shell runs it
    if words:
        yield words
