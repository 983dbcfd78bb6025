"""Splits a source in a language of braces, `end` or indentation into words, numbers, strings and signs. No grammar.

Comments are left out. What is a regular expression and what a division in JavaScript is told by what stands before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

SCRIPT = frozenset((".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx"))
_HASH = frozenset((".rb", ".ex", ".exs", ".pl", ".t", ".r", ".jl", ".php"))
_TYPED = frozenset((".go", ".rs", ".java", ".kt", ".kts", ".scala", ".swift", ".cs", ".groovy", ".dart"))
_NATIVE = frozenset((".c", ".cc", ".cpp", ".cxx", ".zig"))
LANGUAGES = SCRIPT | _HASH | _TYPED | _NATIVE | {".lua"}
"""Endings of names that are read."""
_CHARACTERS = _NATIVE | {".go", ".rs", ".java", ".kt", ".kts", ".scala", ".cs"}
"""Where single quotes hold one character, which is not changed."""

_SPACE = re.compile(r"[^\S\n]+|\\\n")
_NUMBER = r"(?P<number>0[xXbBoO][\da-fA-F_]+\w*|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?(?:[A-Za-z]\w*)?)"
_WORD = r"(?P<word>[^\W\d][\w$]*[?]?|[$@]+\w+)"
_SIGN = r"(?P<sign>===|!==|==|!=|=>|->|:=|\|\||&&|::|\.\.\.|.)"
_DOUBLE = r'"(?:\\.|[^"\\])*"'
_SINGLE = r"'(?:\\.|[^'\\])*'"
_RAW = r"`(?:\\.|[^`\\])*`"
_PATTERN = re.compile(r"/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])*/[a-z]*")
_OPENS, _CLOSES = "([{", ")]}"


class Token(NamedTuple):
    """`kind`: word, number, string, other (a string that is not to be changed), sign, or newline."""

    kind: str
    text: str
    start: int


def tokens(source: str, suffix: str) -> list[Token]:
    """What `source`, of a file whose name ends with `suffix`, consists of; nothing that is closed is left open."""
    scanner = _scanner(suffix)
    found: list[Token] = []
    place = 0
    while place < len(source):
        match = _SPACE.match(source, place)
        if match is None and suffix in SCRIPT and _a_value_may_follow(found):
            match = _PATTERN.match(source, place)
            if match and not source.startswith(("//", "/*"), place):
                found.append(Token("other", match[0], place))
            else:
                match = None
        if match is None:
            match = scanner.match(source, place)
            assert match is not None, "every character is a sign at least"
            if match.lastgroup not in (None, "comment"):
                found.append(Token(str(match.lastgroup), match[0], place))
        place = match.end()
    return found


def _scanner(suffix: str) -> re.Pattern[str]:
    comments = {".lua": r"--\[\[.*?\]\]|--[^\n]*", ".php": r"//[^\n]*|#[^\n]*|/\*.*?\*/"}
    line = r"#[^\n]*|^=begin\b.*?^=end\b" if suffix in _HASH else r"//[^\n]*|/\*.*?(?:\*/|\Z)"
    single = r"'(?:\\[^\n']*|[^'\\\n])'" if suffix in _CHARACTERS else ""
    raw = _RAW if suffix in SCRIPT or suffix == ".go" else ""
    texts = "|".join(filter(None, (_DOUBLE, raw, "" if suffix in _CHARACTERS else _SINGLE)))
    others = "|".join(filter(None, (r'""".*?"""', r"'''.*?'''", r'\br#+".*?"#+', single)))
    return re.compile(
        rf"(?P<comment>{comments.get(suffix, line)})|(?P<newline>\n)|(?P<other>{others})|(?P<string>{texts})"
        rf"|{_NUMBER}|{_WORD}|{_SIGN}",
        re.DOTALL | re.MULTILINE,
    )


def _a_value_may_follow(found: Sequence[Token]) -> bool:
    last = next((token for token in reversed(found) if token.kind != "newline"), None)
    if last is None or (last.kind == "sign" and last.text not in ")]}"):
        return True
    return last.kind == "word" and last.text in ("return", "typeof", "case", "in", "of", "await", "yield")


def partners(found: Sequence[Token]) -> dict[int, int]:
    """For each opening bracket that is closed, its place and that of the one that closes it."""
    opened: list[int] = []
    closed: dict[int, int] = {}
    for place, token in enumerate(found):
        if token.kind == "sign" and token.text in _OPENS:
            opened.append(place)
        elif token.kind == "sign" and token.text in _CLOSES and opened:
            closed[opened.pop()] = place
    return closed


def split(found: Sequence[Token], start: int, end: int, separators: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The parts of `found` from `start` to `end` between separators that are in no bracket."""
    depth, first = 0, start
    for place in range(start, end):
        text = found[place].text if found[place].kind in ("sign", "word") else ""
        if text and text in _OPENS:
            depth += 1
        elif text and text in _CLOSES:
            depth -= 1
        elif text in separators and depth == 0:
            yield first, place
            first = place + 1
    yield first, end
