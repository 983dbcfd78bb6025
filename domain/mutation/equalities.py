"""Finds the literals that a test compares for equality, by tokens, in languages that have no parser here.

An operand counts when it is a literal and nothing else, perhaps within brackets and constructors; or a name such as
`want` and `expected` that is compared, where such a literal is given to it. It reads no types and no scopes.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from domain.mutation.edits import Edit
from domain.mutation.text_tokens import SCRIPT, Token, partners, split, tokens

Span = tuple[int, int]

EQUAL = re.compile(
    r"strictEqual|deepEqual|deepStrictEqual|equals?|is|same|strictSame|eq|deepEquals?|[aA]ssert_?(?:[dD]eep|[sS]trict)?_?"
    r"(?:[eE]quals?|[sS]ame|eq|EQ)|assertStrictEquals|assertArrayEquals|assert_?[cC]ontent_?[eE]quals?|assertEqualsCanonicalizing"
    r"|Equal|EqualValues|Exactly|AreEqual|AreSame|is_deeply|expect_eq|expect_equal|XCTAssertEqual"
    r"|(?:EXPECT|ASSERT|CHECK|REQUIRE)_(?:EQ|STREQ)|TEST_ASSERT_EQUAL\w*|assert_(?:int|string)_equal|ck_assert_\w+_eq"
)
"""Functions that compare two of their arguments, perhaps with a word of the test before and a message beside them."""
MATCHERS = re.compile(r"toBe|toEqual|toStrictEqual|toHaveLength|isEqualTo|isSameAs|must_equal")
"""Methods that compare what they are called on with their one argument."""
CHAINED = re.compile(r"equals?|eql?|be")
"""The same where a chain of `to` or `should` comes before."""
TRUE = re.compile(r"assert|ok|truthy|assertTrue|assert_true|isTrue|assume_true|XCTAssertTrue|REQUIRE|CHECK")
"""Functions whose first argument has to be true."""
EXPECTED = re.compile(r"(?:want|expect|exp$|should_?be)\w*", re.IGNORECASE)
FAILS = re.compile(
    r"Error|Errorf|Fatal|Fatalf|Fail|FailNow|fail|panic|throw|raise|die|exit|Exit|abort|assert\w*|exitCode|failed|failures"
)
PASSES_BY = re.compile(r"Skip|Skipf|SkipNow|skip|continue|pending|todo")
SKIPPED = re.compile(r"xit|xtest|xdescribe|xcontext|xspecify")
IGNORED = re.compile(r"(?:\[|\W*@)(?:ignore|should_panic|Disabled|Ignore|Skip)")
"""Attributes and annotations of tests that do not run, or have to fail."""

CONSTANTS = {"true": "false", "false": "true", "True": "False", "False": "True", "TRUE": "FALSE", "FALSE": "TRUE"}
_NOTHING = ("null", "undefined", "nil", "None")
_MADE_OF = re.compile(
    r"[A-Z]\w*|vec|new|u?int\d*|float\d+|byte|string|map|to_string|to_owned|into|of|asList|listOf|mapOf|setOf"
)
_SIGNS = frozenset("[]{}(),:&-!.") | {"=>", "::"}
_NOT = ("not", "never", "isNot", "fails", "rejects", "are_not", "is_not", "console")
"""What a chain has that is no comparison for equality, or that lets the test go on."""
_FAR = range(10_007, 32_750)
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_QUOTE = re.compile(r"[A-Za-z@]*[\"'`]")
_NUMBER = re.compile(r"(0[xXbBoO][\da-fA-F_]+|[\d_]+)((?:\.[\d_]+)?(?:[eE][+-]?\d+)?)(\w*)")


class Equalities:
    """The equalities of one source."""

    def __init__(self, source: str, suffix: str) -> None:
        self._loose = suffix in SCRIPT or suffix in (".rb", ".php", ".lua", ".ex", ".exs")
        self._macros = suffix == ".rs"
        self._functions_are_capitals = suffix in (".go", ".cs")
        self._tokens = tokens(source, suffix)
        self._close = partners(self._tokens)
        self._compared: set[str] = set()

    def edits(self, chance: random.Random) -> Iterator[Edit]:
        """A change for the last literal of each operand; places are characters."""
        skipped = {place for first, last in self._skipped() for place in range(first, last)}
        literals = {place: None for place in self._operands() if place not in skipped}
        literals |= {place: None for place in self._expected() if place not in skipped}
        for place in literals:
            yield changed(self._tokens[place], chance)

    def _operands(self) -> Iterator[int]:
        """The literals of all operands, by place."""
        for place, token in enumerate(self._tokens):
            if token.kind != "word":
                continue
            if token.text == "if":
                yield from self._of_if(place)
                continue
            first, last = self._arguments(place + 1)
            arguments = list(split(self._tokens, first, last, (",",))) if first < last else []
            if not arguments:
                continue
            negated = any(word in _NOT for word in self._chain(place))
            if negated or self._text(place - 1) in ("function", "def", "fn", "func"):
                continue
            if len(arguments) == 1 and self._is_matcher(place):
                yield from self._literal(arguments[0])
            elif len(arguments) > 1 and EQUAL.fullmatch(token.text):
                yield from self._of_pair(self._pair(arguments))
            elif TRUE.fullmatch(token.text):
                yield from self._of_condition(arguments[0], ("==", "==="), ("&&", "and"))

    def _is_matcher(self, place: int) -> bool:
        """Whether the word compares its one argument with what it is called on."""
        name = self._tokens[place].text
        if MATCHERS.fullmatch(name):
            return self._text(place - 1) == "."
        return bool(CHAINED.fullmatch(name)) and any(word in ("to", "should") for word in self._chain(place))

    def _chain(self, place: int) -> list[str]:
        """The words before `place` up to a bracket: of `expect(x).to.not.equal` `to` and `not`."""
        words = []
        while place > 0 and (self._text(place - 1) == "." or self._tokens[place - 1].kind == "word"):
            place -= 1
            words.append(self._text(place))
        return words

    def _arguments(self, place: int) -> Span:
        """What stands in the brackets at `place`, or without brackets up to the end of the line."""
        if self._macros and self._text(place) == "!":
            place += 1
        if self._text(place) in ("(", "["):
            if place in self._close:
                return place + 1, self._close[place]
            return place, place
        end = place
        while (
            end < len(self._tokens) and self._tokens[end].kind != "newline" and self._text(end) not in (";", "}", ")")
        ):
            end = self._close.get(end, end) + 1
        return place, end

    def _pair(self, arguments: list[Span]) -> list[Span]:
        """The two arguments that are compared, without the test's own first one, a message before or after."""
        if len(arguments) > 2 and self._words(arguments[0]) in (["t"], ["tb"], ["c"]):
            arguments = arguments[1:]
        if len(arguments) > 2 and all(self._is_plain(argument) for argument in arguments[:2]):
            arguments = arguments[1:]
        return arguments[:2]

    def _of_pair(self, pair: list[Span]) -> Iterator[int]:
        """The literal of the one that is nothing but one, if the other is not; names that are compared are noted."""
        if len(pair) != 2:
            return
        plain = [span for span in pair if self._is_plain(span)]
        if len(plain) == 1:
            yield from self._literal(plain[0])
        for span in pair:
            words = self._words(span)
            if words and len(words) * 2 - 1 == len(self._content(span)):
                self._compared.add(words[-1])

    def _of_condition(self, span: Span, equal: tuple[str, ...], both: tuple[str, ...]) -> Iterator[int]:
        """Of `a == 4` and of `a == 4 && b == 5`: what has to be equal."""
        if len(list(split(self._tokens, *span, ("||", "or", "?")))) > 1 or self._text(span[0]) in ("!", "not"):
            return
        for part in split(self._tokens, *span, both):
            pair = list(split(self._tokens, *part, equal))
            if len(list(split(self._tokens, *part, ("==", "===", "!=", "!==", "<", ">")))) == 2:
                yield from self._of_pair(pair)

    def _of_if(self, place: int) -> Iterator[int]:
        """`if got != 4` with a block that fails."""
        start, end = place + 1, place + 1
        if self._text(start) == "(" and start in self._close and self._text(self._close[start] + 1) not in ("!=", "=="):
            end, start = self._close[start], start + 1
            block = (end + 1, self._close.get(end + 1, self._line_end(end + 1)))
        else:
            while end < len(self._tokens) and self._text(end) != "{" and self._tokens[end].kind != "newline":
                end = self._close.get(end, end) + 1
            block = (end, self._close.get(end, self._line_end(end + 1)))
        words = self._words(block)
        if not any(FAILS.fullmatch(word) for word in words) or any(PASSES_BY.fullmatch(word) for word in words):
            return
        *before, condition = split(self._tokens, start, end, (";",))
        yield from self._of_condition(condition, ("!=", "!=="), ())
        for statement in before:
            yield from self._given_together(statement)

    def _given_together(self, span: Span) -> Iterator[int]:
        """`got, want := f(2), 4`: the literal of a name that is compared."""
        sides = list(split(self._tokens, *span, (":=",)))
        if len(sides) == 2:
            names, values = (list(split(self._tokens, *side, (",",))) for side in sides)
            for name, value in zip(names, values, strict=False):
                if set(self._words(name)) & self._compared and self._is_plain(value):
                    yield from self._literal(value)

    def _expected(self) -> Iterator[int]:
        """`want := 4`, `expected = 4` and `want: 4`, where such a name is compared somewhere."""
        for place, token in enumerate(self._tokens):
            named = token.kind == "word" and token.text in self._compared and EXPECTED.fullmatch(token.text)
            if named and self._text(place + 1) in (":=", "=", ":"):
                value = place + 2, self._value_end(place + 2)
                if self._is_plain(value):
                    yield from self._literal(value)

    def _value_end(self, place: int) -> int:
        while place < len(self._tokens) and self._tokens[place].kind != "newline":
            if self._text(place) in (",", ";", "}", ")", "]"):
                break
            place = self._close.get(place, place) + 1
        return place

    def _line_end(self, place: int) -> int:
        """The end of the next line that has something on it, or of what is in braces there."""
        while place < len(self._tokens) and self._tokens[place].kind == "newline":
            place += 1
        while place < len(self._tokens) and self._tokens[place].kind != "newline":
            place += 1
        return place

    def _is_plain(self, span: Span) -> bool:
        content = self._content(span)
        places = [place for place in range(*span) if self._tokens[place].kind != "newline"]
        return any(True for _ in self._literal(span)) and all(
            token.kind in ("string", "number")
            or (token.kind == "sign" and token.text in _SIGNS)
            or token.text in CONSTANTS
            or token.text in _NOTHING
            or (token.kind == "word" and (self._makes(place) or self._is_key(place)))
            for place, token in zip(places, content, strict=True)
        )

    def _literal(self, span: Span) -> Iterator[int]:
        """The last literal of the span that can be changed and is no key."""
        for place in reversed(range(*span)):
            token = self._tokens[place]
            changeable = token.kind in ("string", "number") or token.text in CONSTANTS
            if (changeable or (self._loose and token.text in _NOTHING)) and not self._is_key(place):
                yield place
                return

    def _makes(self, place: int) -> bool:
        """Whether the word is a type or a constructor's name by its looks, not that of a function under test."""
        called = self._functions_are_capitals and self._text(place + 1) == "(" and self._text(place)[:1].isupper()
        return bool(_MADE_OF.fullmatch(self._text(place))) and not called

    def _is_key(self, place: int) -> bool:
        return self._text(place + 1) in (":", "=>")

    def _skipped(self) -> Iterator[Span]:
        """Tests that do not run, or have to fail."""
        for place, token in enumerate(self._tokens):
            if token.kind != "word":
                continue
            option = token.text in ("skip", "todo") and self._is_key(place) and self._text(place + 2) != "false"
            method = token.text in ("skip", "todo", "failing", "fails") and self._text(place - 1) == "."
            if (method or SKIPPED.fullmatch(token.text)) and place + 1 in self._close:
                end = self._close[place + 1]
                yield place, self._close.get(end + 1, end)
            elif option:
                yield from [
                    span for span in self._close.items() if span[0] < place < span[1] and self._is_call(span[0])
                ][-1:]
            elif IGNORED.fullmatch(f"{self._text(place - 1)}{token.text}"):
                body = next((at for at in range(place, len(self._tokens)) if self._text(at) == "{"), None)
                if body in self._close:
                    yield place, self._close[body]

    def _is_call(self, place: int) -> bool:
        return self._text(place) == "(" and place > 0 and self._tokens[place - 1].kind == "word"

    def _text(self, place: int) -> str:
        """The sign or word at `place`, `` for anything else."""
        if not 0 <= place < len(self._tokens) or self._tokens[place].kind not in ("sign", "word"):
            return ""
        return self._tokens[place].text

    def _words(self, span: Span) -> list[str]:
        return [token.text for token in self._content(span) if token.kind == "word"]

    def _content(self, span: Span) -> list[Token]:
        return [token for token in self._tokens[slice(*span)] if token.kind != "newline"]


def changed(token: Token, chance: random.Random) -> Edit:
    """Letters more in a string, another number, the other truth."""
    end = token.start + len(token.text)
    if token.kind == "string":
        quote = _QUOTE.match(token.text)
        assert quote is not None, "a string begins with a quote"
        place = token.start + quote.end()
        return Edit(start=place, end=place, text="".join(chance.choices(_LETTERS, k=8)))
    if token.text in CONSTANTS:
        return Edit(start=token.start, end=end, text=CONSTANTS[token.text])
    far = next(str(number) for number in iter(lambda: chance.choice(_FAR), None) if str(number) not in token.text)
    number = _NUMBER.fullmatch(token.text)
    fraction = ".5" if number and number[2] else ""
    return Edit(
        start=token.start,
        end=end,
        text=f"{far}{fraction}{number[3] if number and token.text[1:2] not in 'xXbBoO' else ''}",
    )
