"""Where a test of Python is made to fail for certain: it keeps its lines, and no honest work passes."""

from __future__ import annotations

import re

import pytest

from domain.mutation.edits import edited
from domain.mutation.stops import stops


def stopped(body: str, *, late: bool = False) -> str:
    """The lines of a test with this body, with the failure put in; empty where there is none."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    source = f"# é\ndef test_a():\n{lines}".encode()
    made = edited(source, [stop.edit for stop in stops(source, 1, late=late)]).decode()
    return made.partition("def test_a():\n")[2] if made.encode() != source else ""


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("assert f(1)", 0),
        ('"""What it is."""\nassert f(1)', 1),
        ("é = f(1); assert é", 0),
        ("with open('file'):\n    assert f(1)", 1),
        ("for x in y:\n    g(x)\nassert f(1)", 2),
        ("with pytest.raises(error):\n    f(None)\nassert g()", 2),
        ("return", 0),
    ],
)
def test_a_failure_stands_before_what_is_reached(body: str, line: int) -> None:
    made = stopped(body).splitlines()
    assert [n for n, text in enumerate(made) if 'raise AssertionError("' in text] == [line]
    assert len(made) == len(body.splitlines())
    with pytest.raises(AssertionError):
        exec(
            "def test_a():\n" + "\n".join(made) + "\ntest_a()",
            {"f": int, "g": int, "y": [], "open": lambda _: memoryview(b""), "pytest": pytest, "error": TypeError},
        )


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("called()", 'called(); raise AssertionError("*")'),
        ("x = (\n  1,\n)  # é\ncalled()\nfor y in x:\n    pass", 'called(); raise AssertionError("*")'),
        ("(called(\n))  # é\nwith f():\n    pytest.skip()", ')); raise AssertionError("*")  # é'),
        ("called(); x = 'é'; return", "called(); x = 'é'; raise AssertionError(\"*\"); return"),
        ("with open('file'):\n    called()", '    called(); raise AssertionError("*")'),
        ("return called()", 'raise AssertionError("*"); return called()'),
    ],
)
def test_a_late_failure_comes_when_all_has_been_called(body: str, text: str) -> None:
    made = stopped(body, late=True)
    assert text in [re.sub(r'Error\(".*?"\)', 'Error("*")', line.removeprefix("    ")) for line in made.splitlines()]
    assert len(made.splitlines()) == len(body.splitlines())
    compile("def test_a():\n" + made, "test", "exec")


@pytest.mark.parametrize(
    "body",
    ["if x:\n    assert f()", "try:\n    f()\nfinally:\n    g()", "with pytest.raises(error):\n    f()", "yield f()"],
)
def test_in_doubt_nothing_is_put_in(body: str) -> None:
    assert stopped(body) == ""


def test_what_may_fail_by_its_marks_is_left_alone() -> None:
    source = b"@pytest.mark.xfail\ndef test_a():\n    f()\n@ignore_errors\ndef test_b():\n    f()\ndef no():\n    f()\n"
    assert stops(source, 1) == ()
    assert stops(b"def test_a(:\n", 1) == ()
