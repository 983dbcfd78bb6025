"""Faults in languages other than Python, by their tokens: another comparison, another operator, another value.

It knows no grammar. What it changes are tokens that stand as operators do, so that most of what comes out is still a
program: one that is none is red whatever the checks are. It changes no comment, no text's quotes, no import.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from domain.mutation.edits import Edit
from domain.mutation.faults import Fault

_SWAPS = {
    **{"==": "!=", "!=": "==", "===": "!==", "!==": "===", "<=": ">", ">=": "<", "<": ">=", ">": "<="},
    **{"&&": "||", "||": "&&", "+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "+=": "-=", "-=": "+="},
    **{"true": "false", "false": "true", "and": "or", "or": "and"},
}
_TYPED = {name: other for name, other in _SWAPS.items() if name not in ("*", "and", "or")}
"""Where types are written, ` * ` may be one's."""

_LUA = {**_SWAPS, "==": "~=", "~=": "=="}
_TESTS = {"-eq": "-ne", "-ne": "-eq", "-lt": "-ge", "-ge": "-lt", "-gt": "-le", "-le": "-gt", "-z": "-n", "-n": "-z"}
_SHELL = {**{name: _SWAPS[name] for name in ("==", "!=", "&&", "||", "true", "false")}, **_TESTS, "=": "!="}
"""`<` and `>` lead elsewhere, `+` and `-` begin options."""


@dataclass(frozen=True)
class Language:
    """What a language's tokens are. `comment` ends with the line. `nothing`: what is returned instead, if it may be.

    `single`: whether single quotes hold texts. `swaps`: what takes an operator's place.
    """

    comment: str
    block: bool = False
    single: bool = False
    nothing: str = ""
    swaps: Mapping[str, str] = field(default_factory=lambda: _SWAPS)


_C = Language("//", block=True, swaps=_TYPED)
_SCRIPT = Language("//", block=True, single=True, nothing="undefined")

LANGUAGES: dict[str, Language] = {
    **dict.fromkeys((".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx", ".vue", ".svelte"), _SCRIPT),
    **dict.fromkeys((".go", ".rs", ".java", ".kt", ".kts", ".scala", ".swift", ".cs", ".groovy", ".zig"), _C),
    **dict.fromkeys((".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".m"), _C),
    **dict.fromkeys((".sh", ".bash", ".zsh"), Language("#", single=True, swaps=_SHELL)),
    ".php": Language("//", block=True, single=True, nothing="null"),
    ".dart": Language("//", block=True, single=True, swaps=_TYPED),
    ".rb": Language("#", single=True, nothing="nil"),
    ".lua": Language("--", single=True, nothing="nil", swaps=_LUA),
    ".sql": Language("--", block=True, single=True),
    **dict.fromkeys((".pl", ".pm", ".r", ".ex", ".exs", ".jl"), Language("#", single=True)),
}
"""By the ending of a file's name."""

_NO_PROGRAM = re.compile(
    r"\s*(?:import\b|from\b|export\s+\*|#\s*include|#\s*pragma|package\b|use\b|using\b|require\b|source\b|module\b"
    r"|.*\brequire\s*\(|@\w|#!)"
)
MAX_LINE = 500
"""Characters of a line that is looked into: nobody wrote a longer one, and patterns take long on it."""

_RETURN = re.compile(r"\breturn[ \t]+([^\s;{}][^;{}]*?)[ \t]*(?:;|$)")
_BRACKETS = re.compile(r"[()\[\]]")


def token_faults(source: str, suffix: str, lines: frozenset[int]) -> list[Fault]:
    """Every fault on one of `lines` (from 1) of a file whose name ends with `suffix`, one of `LANGUAGES`."""
    language = LANGUAGES[suffix]
    text = source.split("\n")
    wanted = frozenset(line for line in lines if line <= len(text) and _is_program(text[line - 1]))
    found: list[Fault] = []
    line, counted, place, offset = 1, 0, 0, 0
    for token in _scanner(language).finditer(source):
        start = token.start()
        line, counted = line + source.count("\n", counted, start), start
        if line in wanted:
            offset, place = offset + len(source[place:start].encode()), start
            found += _of_token(token, language, offset, line)
    return found + (_returns(text, wanted, language) if language.nothing else [])


def _is_program(line: str) -> bool:
    return len(line) <= MAX_LINE and not _NO_PROGRAM.match(line)


def _scanner(language: Language) -> re.Pattern[str]:
    """Comments and texts first, so that nothing within one is taken for a token. Each part ends where it must."""
    start = r"(?<!\S)#" if language.comment == "#" else re.escape(language.comment)
    comment = rf"{start}[^\n]*" + (r"|/\*.*?(?:\*/|\Z)" if language.block else "")
    # What is not closed is a token, too: looked for again from each of its quotes, it would take for ever.
    texts = [r'"(?:\\.|[^"\\\n])*"?', r"`(?:\\.|[^`\\])*`?"]
    texts += [r"'(?:\\.|[^'\\\n])*'?"] if language.single else []
    held = "" if language.single else r"|(?P<held>'(?:\\[^\n]{1,8}?|[^'\\\n])')"
    # Spaces on both sides: neither a sign, nor `->`, nor what a type's brackets are.
    operator = r"(?<=[\s)\]])(?:===|!==|==|!=|~=|<=|>=|&&|\|\||\+=|-=|[<>+\-*/%=]|-(?:eq|ne|lt|le|gt|ge|z|n))(?=\s)"
    word = r"\b(?:true|false|and|or)\b"
    number = r"(?<![\w.])\d{1,18}(?![\w.])"
    return re.compile(
        rf"(?P<comment>{comment})|(?P<text>{'|'.join(texts)}){held}|(?P<swap>{operator}|{word})|(?P<number>{number})",
        re.DOTALL,
    )


def _of_token(token: re.Match[str], language: Language, offset: int, line: int) -> Iterator[Fault]:
    word = token[0]
    end = offset + len(word.encode())
    match token.lastgroup:
        case "swap" if word in language.swaps and not (word[0] == "+" and _joins_texts(token)):
            yield Fault(Edit(start=offset, end=end, text=language.swaps[word]), line)
        case "number":
            yield Fault(Edit(start=offset, end=end, text=str(int(word) + 1)), line)
        case "text" if len(word) > 1 and word[0] == word[-1] and (word[0] != "`" or language.nothing == "undefined"):
            other = "mutated" if word[1:-1] != "mutated" else "other"
            yield Fault(Edit(start=offset, end=end, text=f"{word[0]}{other}{word[0]}"), line, weak=True)


def _joins_texts(token: re.Match[str]) -> bool:
    """Whether a text stands beside this `+`: where texts have no `-`, what came out would be no program."""
    around = token.string[max(token.start() - MAX_LINE, 0) : token.start()].rstrip()[-1:]
    return bool({around, token.string[token.end() : token.end() + MAX_LINE].lstrip()[:1]} & set("\"'`"))


def _returns(text: list[str], wanted: frozenset[int], language: Language) -> list[Fault]:
    """Another thing returned, where all of it stands on one line."""
    found: list[Fault] = []
    starts = [0]
    for each in text:
        starts.append(starts[-1] + len(each.encode()) + 1)
    for line in sorted(wanted):
        written = text[line - 1]
        code = written.split(language.comment)[0].rstrip()
        match = _RETURN.search(code)
        if match is None or match[1] == language.nothing or not _balanced(match[1]) or written.lstrip()[:1] in "*#":
            continue
        first = starts[line - 1] + len(code[: match.start(1)].encode())
        edit = Edit(start=first, end=first + len(match[1].encode()), text=language.nothing)
        found.append(Fault(edit, line))
    return found


def _balanced(text: str) -> bool:
    depth = 0
    for bracket in _BRACKETS.findall(text):
        depth += 1 if bracket in "([" else -1
        if depth < 0:
            return False
    return depth == 0 and text.count('"') % 2 == text.count("'") % 2 == 0
