"""What an explanation says of test results in so many words: "all 12 tests pass", "12 passed", "exit code 0".

It refuses to guess: a sentence that wishes, denies or tells of before says nothing, and two numbers say nothing either.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_END = re.compile(r"(?<=[.!?;])\s+|\n")
_NO_FAILURE = re.compile(r"\b(?:no|0|zero|without)\s+(?:fail\w*|errors?)\b", re.IGNORECASE)
_NO_STATEMENT = re.compile(
    r"\b(?:not|no|never|none|cannot|if|when|once|until|unless|should|must|may|might|will|would|could|can|needs?|wants?"
    r"|ensures?|make|makes|making|requires?|required|expect|expects|expected|before|previously|earlier|initially|first"
    r"|only|except|but|fail\w*|so that|asks?|task|baseline|base)\b|n't\b",
    re.IGNORECASE,
)
_PASS = r"(?:(?:now|do|all|have|are)\s+){0,3}pass(?:ed|es|ing)?\b"
_COUNT = re.compile(rf"\b(\d{{1,6}})\s+(?:(?:\w+\s+)?tests?\s+{_PASS}|passed\b)", re.IGNORECASE)
_EVERYTHING = re.compile(
    rf"\b(?:all|every)\s+(?:of\s+)?(?:the\s+)?(?:\d{{1,6}}\s+)?(?:\w+\s+)?tests?\s+{_PASS}|\btests?\s+all\s+{_PASS}",
    re.IGNORECASE,
)
_EXIT = re.compile(r"\bexit(?:ed|s)?\s+(?:with\s+)?(?:code|status)\s*(?:of|is|was|=|:)?\s*(\d{1,3})\b", re.IGNORECASE)


@dataclass(frozen=True)
class Statement:
    """The sentence, and what it says: how many tests passed, that all did, the exit code."""

    text: str
    passed: int | None = None
    all_pass: bool = False
    exit_code: int | None = None


def statement_in(explanation: str) -> Statement | None:
    """The one thing that `explanation` says of the tests' result; None where it says none, or several."""
    sentences = [" ".join(sentence.split()) for sentence in _END.split(explanation)]
    said = [text for text in sentences if not _NO_STATEMENT.search(_NO_FAILURE.sub("", text))]
    counts = {int(number): text for text in said for number in _COUNT.findall(text)}
    everything = [text for text in said if _EVERYTHING.search(text)]
    codes = {int(code): text for text in said for code in _EXIT.findall(text)}
    if len(counts) == 1:
        ((passed, text),) = counts.items()
        return Statement(text, passed=passed, all_pass=text in everything)
    if counts:
        return None
    if everything:
        return Statement(everything[0], all_pass=True)
    if len(codes) == 1:
        ((exit_code, text),) = codes.items()
        return Statement(text, exit_code=exit_code)
    return None
