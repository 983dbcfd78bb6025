"""Reads what a worker command wrote where its brief said: a claim, an answer or a question. It is hostile input.

Only a regular file, of a size that a claim can have, is read at all; what is wrong with it is told, and nothing is
raised: a file that is none of these is the worker's failure, and no defect.
"""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass

from adapters.config.claim_file import parsed
from adapters.config.text_file import MAX_BYTES, refusal, text_in
from domain.claims.claim import Claim, faults
from domain.errors import Malformed
from domain.handed_in import HandedAnswer, HandedQuestion, answer_faults, question_faults

CLAIM_FILE = "claim.json"


@dataclass(frozen=True)
class HandedIn:
    """What was written: one of the three, or why it is none of them. All empty: nothing was."""

    claim: Claim | None = None
    answer: HandedAnswer | None = None
    question: str = ""
    problems: tuple[str, ...] = ()


def handed_in(folder: int, asked: bool) -> HandedIn:
    """What is in the claim file of `folder`, a descriptor; `asked`: the auditor's question is open."""
    content = "an answer" if asked else "a claim"
    try:
        source = _source(folder, content)
        return HandedIn() if source is None else _read(text_in(source, CLAIM_FILE, f"{content} in JSON"), asked)
    except Malformed as error:
        return HandedIn(problems=tuple(str(problem) for problem in error.problems))


def _source(folder: int, content: str) -> bytes | None:
    """The file's beginning, None where there is none. Raises `Malformed`; waits for nobody, follows nothing."""
    wanted = f"a file with {content}"
    try:
        file = os.open(CLAIM_FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise refusal(CLAIM_FILE, "is no regular file", wanted)
            with os.fdopen(file, "rb", closefd=False) as opened:
                return opened.read(MAX_BYTES + 1)
        finally:
            os.close(file)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise refusal(CLAIM_FILE, f"cannot be read: {error.strerror}", wanted) from error


def _read(text: str, asked: bool) -> HandedIn:
    if asked:
        return HandedIn(answer=parsed(text, CLAIM_FILE, HandedAnswer, "an answer", answer_faults))
    if _is_question(text):
        return HandedIn(question=parsed(text, CLAIM_FILE, HandedQuestion, "a question", question_faults).question)
    return HandedIn(claim=parsed(text, CLAIM_FILE, Claim, "a claim", faults))


def _is_question(text: str) -> bool:
    """Whether it is meant as one; what is no JSON at all is told where it is read as a claim."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(said, dict) and "question" in said and "explanation" not in said
