"""Examples of the base that a worker took out or rewrote: found in stored texts, and a failure of what runs them."""

from __future__ import annotations

import pytest

from adapters.snapshot.doctests import lost_examples
from domain.base import sha256_hex
from domain.checks import Outcome
from domain.suite.doctests import is_doctest, lost_to, verdict
from domain.suite.runs import Ran, Run
from domain.suite.verdict import Facts, judge
from domain.tree import Entry, Manifest, changes

BASE = '''"""Slugs.

>>> slugify("x")
'x'
"""

def slugify(text):
    """Make a slug.

    >>> slugify("Hello World")
    'hello-world'
    >>> slugify("")
    \'\'
    """
    raise NotImplementedError
'''


def lost(base: dict[str, str], head: dict[str, str], unprotect: str = "") -> dict[str, tuple[str, ...]]:
    blobs = {sha256_hex(text.encode()): text.encode() for text in (*base.values(), *head.values())}

    def tree(files: dict[str, str]) -> Manifest:
        return Manifest.of(Entry(path=p, size=len(t), digest=sha256_hex(t.encode())) for p, t in files.items())

    both = tree(base), tree(head)
    return lost_examples(*both, changes(*both), lambda path: path == unprotect, blobs.__getitem__)


HONEST = {
    "only the code": BASE.replace("raise NotImplementedError", "return text.lower()"),
    "an example behind": BASE.replace("    ''\n", "    ''\n    >>> slugify('A')\n    'a'\n"),
    "an example between": BASE.replace('    >>> slugify("")', "    >>> slugify('A')\n    'a'\n    >>> slugify(\"\")"),
    "another name, another indentation": BASE.replace("def slugify", "class A:\n  def slug").replace(
        "\n    ", "\n     "
    ),
    "more words": BASE.replace("Make a slug.", "Make a slug of a text."),
}
ALL = {"slug.py": ('slugify("Hello World")', 'slugify("")')}
REWRITTEN = {
    "what it expects": (BASE.replace("'hello-world'", "'Hello World'"), ALL),
    "one is skipped": (BASE.replace('slugify("")', 'slugify("")  # doctest: +SKIP'), {"slug.py": ('slugify("")',)}),
    "one is gone": (BASE.replace("    >>> slugify(\"\")\n    ''\n", ""), {"slug.py": ('slugify("")',)}),
    "the names mean something else": (
        BASE.replace('    >>> slugify("Hello', '    >>> slugify = table.get\n    >>> slugify("Hello'),
        ALL,
    ),
    "an assignment in an expression": (
        BASE.replace('    >>> slugify("Hello', '    >>> (slugify := table.get)\n    >>> slugify("Hello'),
        ALL,
    ),
    "defined again without": (f"{BASE}\ndef slugify(text):\n    return text\n", ALL),
    "in a comment": (BASE.replace("    >>>", "    # >>>"), ALL),
    "no docstring any more": (BASE.replace('    """Make', '    x = """Make'), ALL),
    "no Python any more": ("def (\n", {"slug.py": ('slugify("x")', *ALL["slug.py"])}),
}


@pytest.mark.parametrize("head", HONEST.values(), ids=HONEST)
def test_honest_work_loses_no_example(head: str) -> None:
    assert lost({"slug.py": BASE}, {"slug.py": head}) == {}


@pytest.mark.parametrize(("head", "gone"), REWRITTEN.values(), ids=REWRITTEN)
def test_what_was_taken_out_or_rewritten(head: str, gone: dict[str, tuple[str, ...]]) -> None:
    assert lost({"slug.py": BASE}, {"slug.py": head}) == gone
    assert lost({"slug.py": BASE}, {"slug.py": head}, unprotect="slug.py") == {}


def test_a_file_that_moved_has_its_examples_elsewhere() -> None:
    assert lost({"slug.py": BASE}, {"words/slug.py": HONEST["only the code"]}) == {}
    assert lost({"slug.py": BASE}, {"words.py": "x = 1\n"}) == {"slug.py": ('slugify("x")', *ALL["slug.py"])}


def test_a_text_is_one_docstring() -> None:
    text = "Guide\n\n>>> 1 + 1\n2\n\nand\n\n>>> 2 + 2\n4\n"
    assert lost({"guide.md": text}, {"guide.md": f"More.\n{text}\n>>> 3\n3\n"}) == {}
    assert lost({"guide.md": text}, {"guide.md": text.replace("4", "5")}) == {"guide.md": ("2 + 2",)}


GONE = {"src/slug.py": ("slugify('a')",), "guide.md": ("1 + 1", "2 + 2", "3", "4")}


@pytest.mark.parametrize(
    ("command", "cwd", "found"),
    [
        ("python -m doctest src/slug.py", ".", ["src/slug.py"]),
        ("cd src && python3 -m doctest -v *.py", ".", ["src/slug.py"]),
        ("sh -c 'python -m doctest ./slug.py'", "src", ["src/slug.py"]),
        ("python -m doctest guide.md -o ELLIPSIS", ".", ["guide.md"]),
        ("git ls-files '*.py' | xargs python -m doctest", ".", ["guide.md", "src/slug.py"]),
        ("for f in src/*.py; do python -m doctest $f; done", ".", ["guide.md", "src/slug.py"]),
        ("python src/slug.py", ".", []),
        ("python -m unittest; cat src/slug.py", ".", []),
    ],
)
def test_the_files_that_a_command_gives_to_doctest(command: str, cwd: str, found: list[str]) -> None:
    assert sorted(lost_to(command, cwd, GONE)) == found


def test_what_is_told_of_them() -> None:
    told = "1 + 1 (guide.md), 2 + 2 (guide.md), 3 (guide.md) and 2 more"
    said = f"examples of the base were taken out or rewritten: {told}"
    assert verdict(GONE) == (Outcome.FAILED, "tests_missing", said)
    assert verdict({}) is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("src/slug.py::slug.slugify", True),
        ("src/slug.py::src.slug", True),
        ("src/slug.py::slug", True),
        ("guide.md::guide.md", True),
        ("tests/test_a.py::test_a[1.5]", False),
        ("tests/test_a.py::TestA::test_b", False),
    ],
)
def test_ids_of_doctests(name: str, expected: bool) -> None:
    assert is_doctest(name) is expected


def test_pytest_that_runs_the_examples_misses_them() -> None:
    def judged(name: str) -> tuple[str, str, bool]:
        ran = Run(tests={name: Ran(state="passed")})
        facts = Facts(exit_code=0, head=ran, base=ran, changed=("src/slug.py",), lost={"src/slug.py": ("f(1)",)})
        found = judge(facts)
        return found.code, found.text, bool(found.next_step)

    text = "an example of the base was taken out or rewritten: f(1) (src/slug.py)"
    assert judged("src/slug.py::slug.f") == ("tests_missing", text, True)
    assert judged("tests/test_slug.py::test_f")[0] == "ok"


@pytest.mark.parametrize(
    ("head", "told"),
    [(["f"], "1 of 1 expected test passed"), (["g", "h"], "1 of 1 expected test passed"), ([], "")],
)
def test_tests_of_files_that_may_change_count_as_passed(head: list[str], told: str) -> None:
    def run(names: list[str]) -> Run:
        return Run(tests={f"slug.py::slug.{name}": Ran(state="passed") for name in names})

    found = judge(Facts(exit_code=0, head=run(head), base=run(["f"]), changed=("slug.py",)))
    assert found.text.startswith(told)
    assert (found.outcome is Outcome.PASSED) == bool(told)


@pytest.mark.parametrize("deep", ["-" * 100_000 + "1", "a" + ".b" * 100_000], ids=["minus", "attribute"])
def test_what_is_too_deep_to_be_read_has_no_examples_and_breaks_nothing(deep: str) -> None:
    assert lost({"slug.py": BASE}, {"slug.py": f"{BASE}\n{deep}\n"}).keys() == {"slug.py"}
    example = f">>> {deep}\n>>> slugify('a')\n'a'\n"
    assert lost({"a.txt": ">>> slugify('a')\n'a'\n"}, {"a.txt": example}).keys() == {"a.txt"}
