"""What of a tree is news: not layout, comments and time stamps, whatever the language."""

from __future__ import annotations

import ast
from dataclasses import dataclass

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from domain.claims.file_form import MAX_BYTES, ending_of, form_of
from domain.claims.novelty import news_of_file, news_of_tree
from domain.tree import Entry, Manifest

PYTHON = 'def f(a, b=(1, 2)):\n    """What it does."""\n    x = a + b[0]  # why\n    return [x, "y # no comment"]\n'

SAME = [
    ("a.py", PYTHON, "# new\n\n\ndef f(\n  a, b=(1,2)\n):\n  x = (a+b[0])\n\n  return [x,\n 'y # no comment',]\n"),
    ("a.py", '"""Doc."""\nX = 1\n', '"""Other."""\nX = 1  # noqa: F401\n'),
    ("a.py", "class A:\n    'doc'\n    y = 1\n", "class A:\n\ty = 1\n"),
    ("a.py", 'MADE = "2026-01-15T10:05:01Z"\n', 'MADE = "2026-01-16T11:06:02Z"\n'),
    ("a.py", "\ufeffx = 1\r\n", "x = 1\n"),
    ("no_python.py", "def f(:\n    1\n\n", "def f(:\r\n    1   \r\n"),
    ("a.js", "let a=1;// c\nf( x ,y )\n", "/* hi\n */ let a = 1;\n\n  f(x, y) // z\n"),
    ("a.ts", 'const a: string = "x"', 'const a:string="x";'[:-1]),
    ("a.c", "int main(){return 'x';}", "int  main() {\n  return 'x'; /* c */\n}\n"),
    ("a.rs", "fn f<'a>(x: &'a str) {} // it's", "// a\nfn f<'a>(x: &'a str){}\n"),
    ("a.go", "x := `a // b`\n", "x  :=  `a // b` // c\n"),
    ("a.java", 'String s = "// no";', 'String s="// no"; // yes'),
    ("a.yaml", "a: 1 # c\nb:\n  - x\n", "# top\na:   1\n\nb:\n  - x   \n"),
    ("a.sh", "#!/bin/sh\necho a # b\n", "#!/bin/sh\n\n  echo   a\n"),
    ("a.toml", "a=1#c\n", "a=1\n# d\n"),
    ("setup.cfg", "[a]\n  ; c\nb=1\n", "# top\n[a]\nb=1\n"),
    ("a.sql", "select 1 -- c\n, 2", "select  1 /* x */\n, 2\n"),
    ("a.lua", "x=1 -- c\n", "--[[ x\n]]x=1\n"),
    ("a.html", "<p>a b</p><!-- x -->\n", "<p>a  b</p>\n\n"),
    ("a.css", "a b{ color:red; } /* x */", "a  b{ color:red; }"),
    ("a.rb", "x = 1 # c\n=begin\nfoo\n=end\ny\n", "x = 1\ny\n"),
    ("Dockerfile", "FROM a # x\nRUN b \\\n   c\n", "# y\nFROM a\nRUN b \\\n c\n"),
    ("Makefile", "a:\n\tb # x\n", "# c\na:\n\tb\n"),
    ("requirements.txt", "a==1 # x\n", "a==1\n"),
    ("a.json", '{"a":1,"b":[1.0]}', '{ "a": 1,\n "b": [1.0]}\n'),
    ("a.json", '{"made": "2026-01-15T10:05:01Z"}', '{"made": "2026-01-16T11:06:02Z"}'),
    ("README.md", "# T\n\nhello  world\n", "# T\nhello\nworld\n"),
    ("README.md", "updated 2026-01-15 10:05\n", "updated 2026-02-15 11:06\n"),
    ("a.log", "5 passed in 0.1s\n", "5 passed in 2s\n"),
    ("a.unknown", "a  \r\n\r\n  b\r\n", "a\n  b\n"),
]

DIFFERENT = [
    ("a.py", PYTHON, PYTHON.replace("a + b", "a - b")),
    ("a.py", PYTHON, PYTHON.replace("y # no", "y # yes")),
    ("a.py", "x = 1\n", "x = True\n"),
    ("a.py", "x: int = 1\n", "x: str = 1\n"),
    ("a.py", "f([a], b)\n", "f([a, b])\n"),
    ("a.py", 'def f():\n    """>>> f()\n    1"""\n', 'def f():\n    """>>> f()\n    2"""\n'),
    ("a.py", 'x = f"{a!r}"\n', 'x = f"{a!s}"\n'),
    ("a.py", "async def f(): pass\n", "def f(): pass\n"),
    ("a.js", 'u = "http://a"', 'u = "http://b"'),
    ("a.js", "a - -b", "a --b"),
    ("a.js", r"u = /https?:\/\//; a", r"u = /https?:\/\//; b"),
    ("a.js", "x = `a  // b`", "x = `a // b`"),
    ("a.js", "return\nx", "return x"),
    ("a.go", "x := `a // b`", "x := `a // c`"),
    ("a.yaml", "b:\n  - x\n", "b:\n- x\n"),
    ("a.yaml", "a: x#y", "a: x#z"),
    ("a.yaml", "a: 'x # y'", "a: 'x # z'"),
    ("a.sh", "#!/bin/sh\necho a\n", "#!/bin/bash\necho a\n"),
    ("a.sh", "echo $#", "echo $1"),
    ("a.toml", 'a="x#c"\n', 'a="x#d"\n'),
    ("setup.cfg", "[a]\nb=1;c\n", "[a]\nb=1;d\n"),
    ("a.sql", "select '-- a'", "select '-- b'"),
    ("a.css", "div .x{}", "div.x{}"),
    ("a.hs", "a --> b\n", "a --> c\n"),
    ("Makefile", "a:\n\tb\n", "a:\nb\n"),
    ("requirements.txt", "a==1.0\n", "a==1.1\n"),
    ("a.json", '{"a": 1}', '{"a": "1"}'),
    ("a.json", '{"a": 1.0}', '{"a": "1.0"}'),
    ("a.json", '{"a": {}}', '{"a": []}'),
    ("a.json", '{"a": 1, "a": 2}', '{"a": 2}'),
    ("README.md", "within 30 seconds\n", "within 60 seconds\n"),
    ("a.unknown", " a", "a"),
    ("a.unknown", "a # b", "a # c"),
]


def says(path: str, text: str) -> str | None:
    return news_of_file(ending_of(path), text.encode())


@pytest.mark.parametrize(("path", "one", "other"), SAME, ids=[f"{n}-{case[0]}" for n, case in enumerate(SAME)])
def test_layout_comments_and_time_stamps_are_no_news(path: str, one: str, other: str) -> None:
    assert says(path, one) == says(path, other)


@pytest.mark.parametrize(
    ("path", "one", "other"), DIFFERENT, ids=[f"{n}-{case[0]}" for n, case in enumerate(DIFFERENT)]
)
def test_anything_else_is_news(path: str, one: str, other: str) -> None:
    assert says(path, one) != says(path, other)


@pytest.mark.parametrize("data", [b"\0", b"\xff\xfe", b"a" * (MAX_BYTES + 1)], ids=["zero", "no UTF-8", "large"])
def test_what_is_no_text_has_no_form(data: bytes) -> None:
    assert form_of("py", data) is None


@pytest.mark.parametrize("text", ["1+" * 50_000 + "1", "(" * 10_000, f"x = 0x{'f' * 9000}", "x = 1" + "0" * 9000])
def test_odd_python_is_read_or_taken_as_text(text: str) -> None:
    assert says("a.py", text) != says("a.py", text[:-1] + "2")


def test_the_ending_of_a_name_tells_how_a_file_is_read() -> None:
    names = ("a/b/App.PY", "Makefile", ".gitignore", "x/Dockerfile.dev", "requirements-dev.txt", "notes.txt", "run")
    assert [ending_of(name) for name in names] == ["py", "makefile", "gitignore", "dockerfile", "conf", "txt", "run"]


def test_the_same_text_under_another_name_is_read_otherwise() -> None:
    assert says("a.py", "x = 1\n") != says("a.md", "x = 1\n")


_SUFFIXES = st.sampled_from(
    ["py", "js", "c", "go", "yaml", "toml", "cfg", "sh", "sql", "html", "json", "md", "rb", "zz"]
)
_TEXTS = st.text(alphabet="ab1 \t\n\"'`#/*-<!>\\;:={}[](),", max_size=60)


@given(_SUFFIXES, _TEXTS)
@example("yaml", "1 #")
def test_ends_of_lines_and_space_at_them_are_never_news(suffix: str, text: str) -> None:
    text = text.replace("\\", "")  # at the end of a line it means something
    quiet = "\n".join(line.rstrip() for line in text.split("\n"))
    if not any(quote in text for quote in "\"'`"):  # in a string that goes on, space counts
        assert says(f"a.{suffix}", quiet) == says(f"a.{suffix}", quiet.replace("\n", "  \r\n") + "\n\n")


@given(st.sampled_from(["js", "c", "go", "sh", "yaml", "toml", "sql", "py"]), st.integers(0, 99), st.integers(0, 99))
def test_a_comment_is_no_news_and_a_token_is(suffix: str, one: int, other: int) -> None:
    begin = {"sh": "#", "yaml": "#", "toml": "#", "py": "#", "sql": "--"}.get(suffix, "//")
    end = {"sh": "", "yaml": "", "toml": "", "py": "", "sql": ""}.get(suffix, ";")

    def text(value: int, comment: int) -> str:
        return f"{begin} {comment} is what\na = {value}{end} {begin} {comment}\n\nb = 'c'{end}\n"

    assert says(f"a.{suffix}", text(one, one)) == says(f"a.{suffix}", text(one, other))
    assert (says(f"a.{suffix}", text(one, 0)) == says(f"a.{suffix}", text(other, 0))) is (one == other)


@given(
    st.recursive(st.integers(-9, 9).map(str) | st.sampled_from("abc"), lambda x: st.lists(x, max_size=4), max_leaves=9)
)
def test_python_that_means_the_same_says_the_same(value: object) -> None:
    text = f"x = {value!r}".replace("'", "")
    assert says("a.py", text) == says("a.py", f"# c\n{ast.unparse(ast.parse(text))}\n")
    assert says("a.py", text) != says("a.py", f"{text}, 1")


@dataclass
class Reader:
    """Tells what files say, and notes which were asked for."""

    files: dict[str, str]
    asked: list[str]

    def __call__(self, entry: Entry) -> str:
        self.asked.append(entry.path)
        return says(entry.path, self.files[entry.digest]) or entry.digest


def tree(**files: str) -> tuple[Manifest, Reader]:
    named = {name.replace("_", "."): text for name, text in files.items()}
    entries = [Entry(path=path, digest=f"{path}:{text}", size=len(text)) for path, text in named.items()]
    return Manifest.of(entries), Reader({f"{path}:{text}": text for path, text in named.items()}, [])


BASE, READ = tree(a_py="x = 1\n", b_py="y = 1\n", c_md="hello\n")


def news(head: Manifest, reader: Reader) -> str:
    def read(entry: Entry) -> str:
        return (reader if entry.digest in reader.files else READ)(entry)

    return news_of_tree(BASE, head, read)


def test_only_what_differs_from_the_base_is_looked_into() -> None:
    head, reader = tree(a_py="x = 2\n", b_py="y = 1\n", c_md="hello\n")
    READ.asked.clear()
    assert news(head, reader) != news(BASE, READ)
    assert reader.asked == ["a.py"]
    assert set(READ.asked) == {"a.py"}


def test_trees_that_say_the_same_are_the_same_news() -> None:
    quiet = tree(a_py="x = 1  # one\n", b_py="y = 1\n", c_md="hello\n")
    assert news(*quiet) == news(BASE, READ)
    first = tree(a_py="x = 2\n", b_py="y = 1 # c\n", c_md="hello\n")
    again = tree(a_py="# two\nx = 2\n", b_py="y = 1\n", c_md=" hello\n\n")
    assert news(*first) == news(*again) != news(BASE, READ)


@pytest.mark.parametrize(
    "files",
    [
        {"a_py": "x = 1\n", "b_py": "y = 1\n"},
        {"a_py": "x = 1\n", "b_py": "y = 1\n", "c_md": "hello\n", "d_py": ""},
        {"a_py": "x = 1\n", "b2_py": "y = 1\n", "c_md": "hello\n"},
        {"a_py": "y = 1\n", "b_py": "x = 1\n", "c_md": "hello\n"},
    ],
    ids=["deleted", "added", "moved", "exchanged"],
)
def test_files_that_came_went_or_moved_are_news(files: dict[str, str]) -> None:
    assert news(*tree(**files)) != news(BASE, READ)


def test_the_executable_bit_and_where_a_link_leads_are_news() -> None:
    def with_a(entry: Entry) -> str:
        rest = [one for one in BASE.entries if one.path != "a.py"]
        return news(Manifest.of([entry, *rest]), READ)

    a = BASE.by_path["a.py"]
    found = {
        with_a(a),
        with_a(a.model_copy(update={"executable": True})),
        with_a(Entry(path="a.py", kind="link", target="b.py")),
        with_a(Entry(path="a.py", kind="link", target="c.md")),
    }
    assert len(found) == 4
