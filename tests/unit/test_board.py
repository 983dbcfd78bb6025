"""What people see of a round as Markdown is shown as it was written, whoever wrote it."""

from __future__ import annotations

import pytest

from workflows.board import SUMMARY_BYTES, as_text, summary_of


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("plain words, 1.5 MB", "plain words, 1.5 MB"),
        ("![x](http://a/b)", "!\\[x\\](http\\://a/b)"),
        ("<b>&amp;</b>", "\\<b\\>\\&amp;\\</b\\>"),
        ("two\n- lines\t**here**", "two - lines \\*\\*here\\*\\*"),
        ("a \\ b `c`", "a \\\\ b \\`c\\`"),
    ],
)
def test_marks_are_text(written: str, shown: str) -> None:
    assert as_text(written) == shown


@pytest.mark.parametrize("title", ["x" * 500, "*" * 300, "\\" * 300, "x" + "*" * 300, "日" * 180, "x" * 399 + "*"])
def test_a_summary_is_cut_between_its_characters(title: str) -> None:
    summary = summary_of(title)
    assert SUMMARY_BYTES - 3 <= len(summary.encode()) <= SUMMARY_BYTES
    assert as_text(title).startswith(summary)
    assert (len(summary) - len(summary.rstrip("\\"))) % 2 == 0, "a lone backslash would hide what follows"
