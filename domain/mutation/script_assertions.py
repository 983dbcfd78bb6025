"""Where a test in JavaScript or TypeScript compares a literal, or expects an exception, and fails for certain if not.

Certain means: a known library's `assert` or `expect`, called as a statement of its own, enclosed by nothing but the
callbacks of tests and suites that have to pass. It reads tokens, no grammar.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import NamedTuple

from domain.mutation.edits import Edit
from domain.mutation.equalities import CONSTANTS, changed
from domain.mutation.literal_changes import LETTERS
from domain.mutation.text_tokens import partners, split, tokens

_EQUAL = {"equal", "strictEqual", "deepEqual", "deepStrictEqual", "toBe", "toEqual", "toStrictEqual"}
_THROWS = {"throws", "toThrow", "toThrowError"}
_OF_NODE = {"assert", "node:assert", "assert/strict", "node:assert/strict"}
_LIBRARIES = {
    "assert": _OF_NODE | {"chai", "vitest"},
    "expect": {"vitest", "@jest/globals", "bun:test", "chai", "expect"},
}
_RUNS = {"test", "it", "describe", "suite", "context", "specify"}
_DOUBT = {"todo", "skip", "skipIf", "runIf", "failing", "fails", "fail", "expectFailure", "retry", "retries", "soft"}
"""Words in a test under which a failure in it may be none."""
_SIGNS = frozenset("[]{},:-")
_CONDITIONS = ("if", "for", "while", "with", "catch", "switch")

Span = tuple[int, int]


class Literal(NamedTuple):
    """An operand by its place in characters, what makes another one of it, and the place of the test that it is in."""

    start: int
    end: int
    value: Edit
    test: int = 0


class Assertions:
    """The assertions of one source."""

    def __init__(self, source: str, suffix: str) -> None:
        self._tokens = tokens(source, suffix)
        self._close = partners(self._tokens)
        self._open = {close: place for place, close in self._close.items()}
        self._known = {name for name, modules in _LIBRARIES.items() if _bound(source, name, modules)}

    def operands(self, chance: random.Random) -> Iterator[Literal]:
        """At most one of each assertion, in their order."""
        for place, token in enumerate(self._tokens):
            if token.kind != "word" or token.text not in self._known:
                continue
            method, first, last = self._call(place)
            if method and self._begins(place) and self._ends(last) and self._in_a_test(place):
                arguments = list(split(self._tokens, first + 1, last, (",",)))
                found = self._operand(token.text, method, arguments, chance)
                if found:
                    yield found._replace(test=self._around(place)[1][0] if self._around(place) else 0)

    def _call(self, place: int) -> tuple[str, int, int]:
        """The method of `assert.METHOD(` or `expect(...).METHOD(`, and where its brackets are."""
        at = place + 1
        if self._text(place) == "expect":
            at = self._close.get(at, at) + 1 if self._text(at) == "(" else at
        method = self._text(at + 1)
        fits = method in _EQUAL | _THROWS and method.startswith("to") == (self._text(place) == "expect")
        if self._text(at) == "." and fits and self._text(at + 2) == "(" and at + 2 in self._close:
            return method, at + 2, self._close[at + 2]
        return "", 0, 0

    def _operand(self, name: str, method: str, arguments: list[Span], chance: random.Random) -> Literal | None:
        given = arguments[:1] if name == "expect" else arguments[:2]
        if method in _THROWS:
            return self._raised(given[-1], chance) if name == "expect" or len(given) == 2 else None
        found = [at for span in given if (at := self._literal(span)) is not None]
        if len(found) != 1 or (name == "assert" and len(given) != 2):
            return None
        token = self._tokens[found[0]]
        return Literal(token.start, token.start + len(token.text), changed(token, chance))

    def _literal(self, span: Span) -> int | None:
        """The last literal of an operand that is made of nothing else."""
        last = None
        for place in range(*span):
            token = self._tokens[place]
            key = self._text(place + 1) == ":"
            if token.kind in ("string", "number") or token.text in CONSTANTS:
                if "${" in token.text:
                    return None
                last = last if key else place
            elif token.kind != "newline" and not (token.kind == "sign" and token.text in _SIGNS) and not key:
                return None
        return last

    def _raised(self, span: Span, chance: random.Random) -> Literal | None:
        """An exception's class, or a pattern for its message."""
        content = [self._tokens[place] for place in range(*span) if self._tokens[place].kind != "newline"]
        if len(content) != 1:
            return None
        (token,) = content
        is_class = token.kind == "word" and re.fullmatch(r"[A-Z]\w*", token.text)
        if not is_class and not (token.kind == "other" and token.text.startswith("/")):
            return None
        end = token.start + len(token.text)
        text = f"class {''.join(chance.choices(LETTERS, k=8))} extends EvalError {{}}"
        return Literal(token.start, end, Edit(start=token.start, end=end, text=text))

    def _begins(self, place: int) -> bool:
        """Whether a statement begins here that no condition stands before."""
        at = place - 1
        while at >= 0 and self._tokens[at].kind == "newline":
            at -= 1
        if at < 0 or self._text(at) in (";", "{", "}"):
            return True
        if at == place - 1:
            return False
        if self._text(at) == ")":
            return self._text(self._open.get(at, 0) - 1) not in _CONDITIONS
        last = self._tokens[at]
        return last.kind in ("string", "number") or last.text == "]"

    def _ends(self, close: int) -> bool:
        after = self._tokens[close + 1] if close + 1 < len(self._tokens) else None
        if after is not None and after.kind == "newline":
            later = next((token for token in self._tokens[close + 1 :] if token.kind != "newline"), None)
            return later is None or later.text not in (".", "||", "&&", "?", ",")
        return after is None or after.text in (";", "}")

    def _in_a_test(self, place: int) -> bool:
        """Whether what encloses it are callbacks of tests and suites alone, none of them one that may fail."""
        around = self._around(place)
        if len(around) % 2:
            return False
        for (body, _), (call, end) in zip(around[::2], around[1::2], strict=True):
            if self._text(body) != "{" or not self._is_function(body):
                return False
            if self._text(call) != "(" or self._text(call - 1) not in _RUNS:
                return False
            if any(self._text(at) in _DOUBT for at in range(call, end)):
                return False
        return True

    def _around(self, place: int) -> list[Span]:
        """The brackets that it is in, the innermost first."""
        return sorted((span for span in self._close.items() if span[0] < place < span[1]), reverse=True)

    def _is_function(self, body: int) -> bool:
        if self._text(body - 1) == "=>":
            return True
        opened = self._open.get(body - 1, 0)
        return "function" in (self._text(opened - 1), self._text(opened - 2))

    def _text(self, place: int) -> str:
        """The sign or word at `place`, `` for anything else."""
        if not 0 <= place < len(self._tokens) or self._tokens[place].kind not in ("sign", "word"):
            return ""
        return self._tokens[place].text


def _bound(source: str, name: str, modules: set[str]) -> bool:
    """Whether the name is that of a library in this source; Jest's `expect` needs no import."""
    named = rf"\b(?:import|const|let|var)\s[^;=]*?\b{name}\b[^;=]*?(?:=\s*require\(\s*|\bfrom\s+)['\"]([^'\"]+)['\"]"
    found = re.findall(named, source)
    if found:
        return all(module in modules for module in found)
    return name == "expect" and not re.search(r"\b(?:function|class|const|let|var|import)\b[^;\n]*\bexpect\b", source)
