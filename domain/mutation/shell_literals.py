"""Which literals to change in a shell script that tests: where `[`, `test` and functions compare for equality.

A comparison counts when its failure fails the script: under `set -e`, before `|| exit 1` and the like, in an `if` whose
other branch fails. It reads line by line and no more of the language than that: a here-document is left alone.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from domain.mutation.edits import Edit

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_SUBSTITUTED = r"""\$\((?:[^()"']|"[^"]*"|'[^']*'|\([^()]*\))*+\)"""
_QUOTED = rf""""(?:[^"\\$]|\\.|{_SUBSTITUTED}|\$(?!\())*+"|'[^']*'"""
_WORD = rf"""(?:{_QUOTED}|{_SUBSTITUTED}|\$\{{[^}}]*\}}|\$(?![({{])|[^\s"'|&;()\[\]<>`$])++"""
"""A word with its quotes."""

_TEST = re.compile(rf"(?:^|(?<=[\s;&|!(]))(?:\[\[?|test)\s+({_WORD})\s+(={{1,2}}|!=|-eq|-ne)\s+({_WORD})")
_CALL = re.compile(rf"(?:^|(?<=[\s;&|(]))(\w+)((?:[ \t]+{_WORD})+)")
_GREP = re.compile(rf"\|\s*grep((?:\s+-[a-uw-zF]+)*\s+)({_WORD})\s*(?=$|\|\||;|\))")
_COMPARES = re.compile(r"assert_?(?:equals?|eq|same)|assertEquals|assertSame|assert_output|is_equal|equals?|eq|is|same")
_MAY_COMPARE = re.compile(r"(?:check|expect|assert|run_test|t)(?:_\w+)?")
"""With a name, a value and an expected value."""

_FUNCTION = re.compile(
    r"^[ \t]*(?:function[ \t]+)?(\w+)[ \t]*(?:\(\))?[ \t]*\{(.{0,1000}?)\}[ \t]*$", re.DOTALL | re.MULTILINE
)
_ARGUMENT = re.compile(r"""\b(\w+)="?\$\{?([1-9])\}?"?(?![\w/])""")
_VARIABLE = re.compile(r""""?\$\{?(\w+)\}?"?""")

_LITERAL = re.compile(r"""'[^'\n]*'|"[^"$`\\\n]*"|[\w.,:/+%@-]+""")
_SET_E = re.compile(r"^\s*set\s+-(?:[a-z]*e|o\s+errexit)|^#!.*\s-[a-z]*e", re.MULTILINE)
_HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?")
_COMMENT = re.compile(r"""^\s*#|(?<=[\s;])#(?![^"']*["'](?:[^"']*["'][^"']*["'])*[^"']*$)""")
_FAILS = re.compile(
    r"\b(?:exit|return)\s+(?:[1-9]|\$)|\b(?:fail\w*|die|abort|err|error|not_ok|false)\b|\bFAIL\w*|=1\b|\+\+|\+=1"
)
_PASSES_BY = re.compile(r"\bskip\b|\b(?:exit|return)\s*(?:0|$|[;}&|])|\|\|\s*(?:true|:)(?:\s|$)")
_BRANCH = 30  # lines in which the other branch of an `if` is looked for


def shell_edits(source: str, chance: random.Random, bats: bool) -> Iterator[Edit]:
    """A change of each expected value; places are characters. `bats`: every failing line fails its test."""
    stops = bats or bool(_SET_E.search(source))
    lines = source.splitlines(keepends=True)
    own = _own_comparisons("".join(map(_code, lines)))
    last = max((n for n, line in enumerate(lines) if line.strip()), default=-1)
    place, until = 0, ""
    for number, line in enumerate(lines):
        if until:
            until = "" if line.strip() == until else until
        else:
            code = _code(line)
            after = "".join(_code(later) for later in lines[number + 1 : number + _BRANCH])
            for start, end in _operands(code, after, stops or number == last, own):
                yield _changed(line[start:end], place + start, chance)
            heredoc = _HEREDOC.search(code)
            until = heredoc[1] if heredoc else ""
        place += len(line)


def _code(line: str) -> str:
    """`line` without its comment."""
    comment = _COMMENT.search(line)
    return line[: comment.start()] + "\n" if comment else line


def _own_comparisons(source: str) -> dict[str, frozenset[int]]:
    """The script's own functions that fail it unless two values are equal: which of their arguments those are.

    One where the other value is computed in the function.
    """
    found = {}
    for name, body in _FUNCTION.findall(source):
        places = {variable: int(place) for variable, place in _ARGUMENT.findall(body)}
        for match in _TEST.finditer(body):
            operands = [_VARIABLE.fullmatch(match[side]) for side in (1, 3)]
            names = [operand[1] for operand in operands if operand]
            at = frozenset(int(n) if n in set("123456789") else places.get(n, 0) for n in names) - {0}
            if len(names) == 2 and at and _FAILS.search(body):
                found[name] = at
    return found


def _operands(line: str, after: str, stops: bool, own: dict[str, frozenset[int]]) -> Iterator[tuple[int, int]]:
    """Places of literals of one line that are compared, each once."""
    found: dict[tuple[int, int], None] = {}
    for match in _TEST.finditer(line):
        spans = [match.span(1), match.span(3)]
        literal = [span for span in spans if _LITERAL.fullmatch(line[slice(*span)])]
        if len(literal) == 1 and _matters(line, match, match[2] in ("!=", "-ne"), after, stops):
            found[literal[0]] = None
    for match in _CALL.finditer(line):
        if span := _own_argument(match, own) if match[1] in own else _argument(match):
            found[span] = None
    for match in _GREP.finditer(line):
        if "|" not in match[2] and _LITERAL.fullmatch(match[2]) and _follows(line[match.end() :], stops):
            found[match.span(2)] = None
    yield from found


def _matters(line: str, match: re.Match[str], unequal: bool, after: str, stops: bool) -> bool:
    """Whether the script fails when the operands are no longer equal."""
    before, rest = line[: match.start()], line[match.end() :]
    if before.rstrip().endswith("!"):
        return False
    if re.search(r"\b(?:if|elif)\s*$", before):
        then, _, otherwise = _branches(rest + after)
        branch = then if unequal else otherwise
        return bool(_FAILS.search(branch)) and not _PASSES_BY.search(branch)
    if re.search(r"\b(?:while|until)\s*$", before):
        return False
    closed = rest.lstrip(" ]\t")
    if unequal:
        return closed.startswith("&&") and bool(_FAILS.search(closed)) and not _PASSES_BY.search(closed)
    return _follows(closed, stops)


def _follows(rest: str, stops: bool) -> bool:
    """Whether a command that fails, with `rest` after it on its line, fails the script."""
    closed = rest.strip(" \t\n;)}")
    if closed.startswith("||"):
        return bool(_FAILS.search(rest)) and not _PASSES_BY.search(rest)
    return stops and not closed.startswith(("&&", "|"))


def _branches(text: str) -> tuple[str, str, str]:
    """What an `if` does, `else`, and what it does otherwise."""
    body = re.split(r"(?:^|[\s;])fi\b", text, maxsplit=1)[0]
    return body.partition("else")


def _argument(match: re.Match[str]) -> tuple[int, int] | None:
    """The expected value among a comparing function's arguments: beside the one that is computed."""
    name = match[1]
    words = [found.span() for found in re.finditer(_WORD, match[2])]
    texts = [match[2][slice(*span)] for span in words]
    computed = [n for n, text in enumerate(texts) if "$" in text]
    literal = [n for n, text in enumerate(texts) if _LITERAL.fullmatch(text)]
    if name == "assert_output" and len(texts) == 1 and literal:
        chosen = 0
    elif len(computed) == 1 and (
        (_COMPARES.fullmatch(name) and len(texts) > 1) or (_MAY_COMPARE.fullmatch(name) and len(texts) > 2)
    ):
        beside = [n for n in (computed[0] + 1, computed[0] - 1) if n in literal]
        if not beside or texts[beside[0]].startswith("-"):
            return None
        chosen = beside[0]
    else:
        return None
    return match.start(2) + words[chosen][0], match.start(2) + words[chosen][1]


def _own_argument(match: re.Match[str], own: dict[str, frozenset[int]]) -> tuple[int, int] | None:
    """The expected value among the arguments of a function of the script's own."""
    spans = [found.span() for found in re.finditer(_WORD, match[2])]
    at = sorted(own[match[1]])
    if at[-1] > len(spans):
        return None
    texts = [match[2][slice(*spans[place - 1])] for place in at]
    literal = [n for n, text in enumerate(texts) if _LITERAL.fullmatch(text)]
    if len(literal) != 1:
        return None
    start, end = spans[at[literal[0]] - 1]
    return match.start(2) + start, match.start(2) + end


def _changed(literal: str, start: int, chance: random.Random) -> Edit:
    """Another number, or letters more."""
    number = re.fullmatch(r"""(["']?)(-?\d+)["']?""", literal)
    if number:
        far = next(n for n in iter(lambda: str(chance.randrange(10_007, 32_750)), None) if n != number[2])
        return Edit(start=start + number.start(2), end=start + number.end(2), text=far)
    inside = start + (1 if literal[0] in "\"'" else 0)
    return Edit(start=inside, end=inside, text="".join(chance.choices(_LETTERS, k=8)))
