"""Which names and links a snapshot takes, by their spelling alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.snapshot.names import link_problem, misleading, shown, unusable


@pytest.mark.parametrize(
    "path", ["a", "src/app.py", "with space", "отчёт", "日本語.txt", "a\\b", '"', "naïve.py", "🙂"]
)
def test_takes_ordinary_names(path: str) -> None:
    assert unusable(path) == ""
    assert misleading(path.rpartition("/")[2]) == ""


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("a\nb", "control"),
        ("a\x1b[2K", "control"),
        ("x/\x7f", "control"),
        (os.fsdecode(b"caf\xe9"), "UTF-8"),
        ("d/" * 600 + "f", "longer"),
    ],
)
def test_refuses_names_that_no_tree_can_hold(path: str, reason: str) -> None:
    assert reason in unusable(path)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("\u0430pp.py", "Cyrillic and Latin"),
        ("t\u03bfols.py", "Greek and Latin"),
        ("\u0441\u043e\u0440\u0443.py", "Cyrillic and Latin"),
        ("app\u202eyp.exe", "invisible"),
        ("a\u200bpp.py", "invisible"),
    ],
)
def test_refuses_names_that_are_not_what_they_look_like(name: str, reason: str) -> None:
    assert reason in misleading(name)


@pytest.mark.parametrize("name", ["\u043e\u0442\u0447\u0451\u0442.md", "\u03b5\u03bb.md", "\u65e5\u672c.md"])
def test_a_name_in_another_script_may_have_a_latin_extension(name: str) -> None:
    assert misleading(name) == ""


@given(st.binary(min_size=1, max_size=2000).filter(lambda raw: b"/" not in raw and b"\0" not in raw))
def test_whatever_a_name_is_it_can_be_shown_on_one_line(raw: bytes) -> None:
    text = shown(os.fsdecode(raw))
    assert text.encode().decode() == text
    assert len(text.splitlines()) == 1
    assert len(text) <= 1024


@pytest.mark.parametrize(
    ("path", "target"),
    [("a", "b"), ("a", "./b/c"), ("d/a", "../b"), ("d/e/a", "../../b"), ("d/a", ".."), ("a", "a"), ("a", "no/where")],
)
def test_keeps_links_inside(path: str, target: str) -> None:
    assert link_problem(path, target) == ""


@pytest.mark.parametrize(
    ("path", "target"),
    [
        *(("a", ".."), ("a", "../x"), ("d/a", "../../x"), ("a", "/etc/passwd"), ("a", "./../x"), ("d/a", ".././../x")),
        *(("a", "b/../../x"), ("a", "b/.."), ("a", "x\ny"), ("a", os.fsdecode(b"\xff")), ("a", "")),
    ],
)
def test_drops_links_that_lead_out_or_might(path: str, target: str) -> None:
    assert link_problem(path, target)


PART = st.sampled_from(["a", "b", "..", "."])
RELATIVE = st.lists(PART, min_size=1, max_size=6).map("/".join)
PLACES = st.sampled_from(["a", "b", "d/a", "d/b", "d/d/a", "d/d/b"])


@given(st.dictionaries(PLACES, RELATIVE, min_size=1))
def test_kept_links_lead_nowhere_outside_however_they_are_chained(
    tmp_path_factory: pytest.TempPathFactory, links: dict[str, str]
) -> None:
    outer = tmp_path_factory.mktemp("outer")
    root = outer / "tree"
    (root / "d" / "d").mkdir(parents=True)
    for path, target in links.items():
        if not link_problem(path, target):
            (root / path).symlink_to(target)
    for path in links:
        place: Path = root / path
        try:
            leads = place.resolve(strict=True)
        except (OSError, RuntimeError):  # a loop, or nowhere
            continue
        assert leads.is_relative_to(root)
