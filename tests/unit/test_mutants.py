"""Faults for changed lines: each kind in its place, none where it decides nothing, the same ones for the same seed."""

from __future__ import annotations

import ast
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.mutation.edits import edited
from domain.mutation.mutants import MAX_MUTANTS, MAX_SOURCE_BYTES, mutants
from domain.mutation.python_faults import python_faults
from domain.mutation.token_faults import LANGUAGES, token_faults
from tests.examples import examples


def in_python(source: str, *lines: int) -> set[str]:
    """The changed line of each fault, stripped; of all lines where none are named."""
    data = source.encode()
    wanted = frozenset(lines or range(1, source.count("\n") + 2))
    return {
        edited(data, [fault.edit]).decode().split("\n")[fault.line - 1].strip() for fault in python_faults(data, wanted)
    }


def in_tokens(source: str, suffix: str) -> set[str]:
    data = source.encode()
    wanted = frozenset(range(1, source.count("\n") + 2))
    return {
        edited(data, [fault.edit]).decode().split("\n")[fault.line - 1].strip()
        for fault in token_faults(source, suffix, wanted)
    }


@pytest.mark.parametrize(
    ("source", "faults"),
    [
        ("a = b < c", {"a = b >= c", "pass"}),
        ("a = b <= c < d", {"a = b > c < d", "a = b <= c >= d", "pass"}),
        ("a = b is not c", {"a = b is c", "pass"}),
        ("a = b  not   in (c)", {"a = b  in (c)", "pass"}),
        ("a = (b) + (c)", {"a = (b) - (c)", "pass"}),
        ("a = b ** c", {"a = b * c", "pass"}),
        ("a += b", {"a -= b", "pass"}),
        ("a = b and c or d", {"a = b or c or d", "a = b and c and d", "pass"}),
        ("a = not b", {"a = (b)", "pass"}),
        ("a = True", {"a = False", "pass"}),
        ("a = 41", {"a = 42", "pass"}),
        ("a = 0.5", {"a = (0.5 + 1.0)", "pass"}),
        ("a = 'ä'", {'a = "mutated"', "pass"}),
        ("f(x)", {"pass"}),
        ("raise E", {"pass"}),
        ("x = a if b else c", {"x = a if not b else c", "pass"}),
        ("def f():\n    return x.y", {"return None"}),
        ("def f():\n    return None", set()),
        ("def f():\n    return[a]", {"return None"}),
        ("if f(x):\n    pass", {"if not f(x):"}),
        ("ä = 1; b = ä == c", {"pass; b = ä == c", "ä = 2; b = ä == c", "ä = 1; pass", "ä = 1; b = ä != c"}),
    ],
)
def test_each_kind_in_python(source: str, faults: set[str]) -> None:
    assert in_python(source) == faults


@pytest.mark.parametrize(
    "source",
    [
        '"""Text."""',
        'def f():\n    """Text 1."""',
        'class C:\n    """Text."""\n    "another text"',
        "import a, b",
        "from a import (\n    b,\n)",
        "x: int | Literal[1]",
        "def f(a: 'A', *b: 3 + 4) -> dict[5, 'C']: ...",
        "if TYPE_CHECKING:\n    x = 1",
        "if typing.TYPE_CHECKING:\n    x = 1",
        'if __name__ == "__main__":\n    main()',
        'logger.info("a %s", 1)\nself.log.debug("x")\nprint(2)',
        '__version__ = "1.2"',
        "# a < b",
        "f'{a + 1} b'",
        "while x:\n    x = x - 1\n    x -= 1",
    ],
)
def test_none_where_it_decides_nothing_or_would_never_end(source: str) -> None:
    assert in_python(source) - {"pass"} == set()


def test_only_lines_that_were_changed() -> None:
    source = "def f(a):\n    if a < 3:\n        a = g(\n            1,\n            2,\n        )\n    return a\n"
    assert in_python(source, 2) == {"if a >= 3:", "if a < 4:"}
    assert in_python(source, 5) == {"3,"}
    assert in_python(source, 3, 4, 5) == {"2,", "3,"}
    assert "pass" in in_python(source, 3, 4, 5, 6)
    assert in_python("x = (a  # it was >\n     < b)\n") == {"pass"}, "a comment stands beside the operator"
    assert in_python("x = (a <\n     b)\n", 1) == {"x = (a >="}
    assert in_python("def f():\n    return (a +\n            1)\n", 3) == {"2)"}


@pytest.mark.parametrize(
    "source",
    [
        "(" * 50_000,
        "-" * 60_000 + "1",
        "a" + ".b" * 60_000,
        "1+" * 60_000 + "1",
        "not " * 50_000 + "1",
        "f" + "()" * 60_000,
        "if a:\n pass\n" + "elif b:\n pass\n" * 9000,
        "a" + ".b" * 700 + "(1)",
        "x = " + "1+" * 700 + "1",
        "9" * 6000,
        "x = 0x" + "f" * 6000,
        "a\0b",
        "def f(:",
        "x = 1\ry = 2\n",
        "\N{ZERO WIDTH NO-BREAK SPACE}x = 1",
    ],
)
def test_a_hostile_source_has_few_or_none_in_no_time(source: str) -> None:
    began = time.process_time()
    assert len(mutants("a.py", source.encode(), range(1, 9), 1)) <= MAX_MUTANTS
    assert time.process_time() - began < 20


@pytest.mark.parametrize("part", ["`\\", '"\\', '"\\"', "'", "/*", "return a ", "/ ", "1 ", " ", "require ", "<'a>"])
@pytest.mark.parametrize("suffix", [".js", ".rs", ".sh"])
def test_hostile_tokens_are_read_in_no_time(part: str, suffix: str) -> None:
    began = time.process_time()
    for lines in (1, 400):
        source = "\n".join([part * (MAX_SOURCE_BYTES // len(part) // lines - 1)] * lines)
        mutants(f"a{suffix}", source.encode(), range(1, 500), 1)
    assert time.process_time() - began < 10


def test_what_is_not_looked_into() -> None:
    assert mutants("a.py", b"x = 1\n", [], 1) == ()
    assert mutants("a.py", b"x = 1\n", [7], 1) == ()
    assert mutants("a.py", b"x = '\xff'\n", [1], 1) == ()
    assert mutants("a.py", b"x = 1\n" * 50_000, [1], 1) == ()
    assert mutants("a.py", b"x = 1\ry = 2\n", [1], 1) == ()
    assert mutants("a.py", b"match x:\n    case 0.5:\n        pass\n", [2], 1) == (), "no pattern is a sum"
    assert mutants("a.txt", b"x = 1\n", [1], 1) == ()
    assert mutants("Makefile", b"x = 1\n", [1], 1) == ()


JAVASCRIPT = """import a from "b";
// if (a < b) { return 1; }
/* c === 1
   d !== 2 */
if (a < b && c === 'ä') { i++; x -> 1; y = -1; }
  return [a, b];
  return f(a)(; // no
const t = `x ${a}`; let ok = true; // 3
"""


def test_each_kind_in_javascript() -> None:
    line = "if (a < b && c === 'ä') { i++; x -> 1; y = -1; }"
    assert in_tokens(JAVASCRIPT, ".js") == {
        line.replace("<", ">="),
        line.replace("&&", "||"),
        line.replace("===", "!=="),
        line.replace("ä", "mutated"),
        line.replace("-> 1", "-> 2"),
        line.replace("= -1", "= -2"),
        "return undefined;",
        "const t = `mutated`; let ok = true; // 3",
        "const t = `x ${a}`; let ok = false; // 3",
    }


@pytest.mark.parametrize(
    ("suffix", "source", "faults"),
    [
        (".go", "return a - 1, `x`, 'c'", {"return a + 1, `x`, 'c'", "return a - 2, `x`, 'c'"}),
        (".rs", "fn f<'a>(x: &'a str) -> bool { x > 3 }", {"fn f<'a>(x: &'a str) -> bool { x <= 3 }"}),
        (".c", '#include "x.h"\nif (p->n == NULL) {', {"if (p->n != NULL) {"}),
        (".java", 'return "a" + b + 1;', {'return "a" + b - 1;'}),
        (".c", "char * s = t / 2;", {"char * s = t * 2;"}),
        (".rb", "return a or b # if true", {"return a and b # if true", "return nil # if true"}),
        (".lua", "return a == b -- or 1", {"return a ~= b -- or 1", "return nil -- or 1"}),
        (".sql", "WHERE a = 1 -- 2", {"WHERE a = 2 -- 2"}),
        (".php", "return $a <= $b;", {"return $a > $b;", "return null;"}),
        (".sh", "#!/bin/sh\n[ $a -eq 0 ] && rm x > y", {"[ $a -ne 0 ] && rm x > y", "[ $a -eq 1 ] && rm x > y"}),
    ],
)
def test_other_languages(suffix: str, source: str, faults: set[str]) -> None:
    assert faults <= in_tokens(source, suffix)
    spoiled = ("include", "#!", '"a" -', "char /")
    assert not [fault for fault in in_tokens(source, suffix) if any(text in fault for text in spoiled)]


def test_every_mutant_is_shown_on_its_line_and_parses() -> None:
    source = b"\xef\xbb\xbfdef f(a):\r\n    return a < 3\r\n"
    found = mutants("src/x.py", source, [2], 1)
    assert {mutant.shown for mutant in found} == {
        "src/x.py:2: `<` -> `>=`",
        "src/x.py:2: `3` -> `4`",
        "src/x.py:2: `a < 3` -> `None`",
    }
    for mutant in found:
        ast.parse(edited(source, [mutant.edit]))


def test_the_seed_chooses_and_lines_take_turns() -> None:
    source = "".join(f"x{n} = a{n} < {n} and b{n} == {n} or 'text'\n" for n in range(30)).encode()
    chosen = {seed: mutants("x.py", source, range(1, 31), seed) for seed in range(8)}
    assert chosen[3] == mutants("x.py", source, range(1, 31), 3)
    assert len(set(chosen.values())) > 6
    assert all(len({mutant.line for mutant in found}) == MAX_MUTANTS for found in chosen.values())
    assert all("text" not in mutant.shown.partition("->")[0] or "=" in mutant.shown for mutant in chosen[0])


def test_texts_come_last() -> None:
    source = b"x = g('a', 'b', 'c', 'd', 'e', 'f', 1)\n"
    shown = [mutant.shown for mutant in mutants("x.py", source, [1], 1)]
    assert {shown[0], shown[1]} == {"x.py:1: `1` -> `2`", f"x.py:1: `{source.decode().strip()}` -> `pass`"}


PIECES = st.sampled_from(
    [
        "x",
        "1",
        "'a'",
        '"',
        "'",
        "(",
        ")",
        " + ",
        " < ",
        " and ",
        "not ",
        "\n",
        "    ",
        "if ",
        ":",
        "=",
        "ä",
        "#",
        "return ",
    ]
)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(PIECES, max_size=30).map("".join), st.sampled_from([".py", *LANGUAGES]), st.integers(0, 9))
def test_whatever_it_is_given_an_edit_is_inside_and_changes_its_line(source: str, suffix: str, seed: int) -> None:
    data = source.encode()
    for mutant in mutants(f"a{suffix}", data, range(1, 40), seed):
        assert 0 <= mutant.edit.start <= mutant.edit.end <= len(data)
        changed = edited(data, [mutant.edit])
        assert changed != data
        assert changed.decode()
        before, after = source.split("\n"), changed.decode().split("\n")
        assert before[: mutant.line - 1] == after[: mutant.line - 1]
        assert mutant.shown.startswith(f"a{suffix}:{mutant.line}: ")
