"""What a worker command hands in beside a claim: an answer, a question, or nothing but its output. It reads no file.

Source: CONTRACT "What workers send and get", seed `auditor` 3.0.3. What a claim needs is `claims.claim`'s to say.
"""

from __future__ import annotations

from pydantic import Field

from domain.base import Part
from domain.claims.claim import MAX_OUTPUT_BYTES, Claim, ClaimedEvidence, Fault, faults
from domain.requests import MAX_TEXT

OUTPUT = "output"
"""The label of the evidence that a worker command's output is, where it wrote nothing."""


class HandedAnswer(Part):
    """A worker's answer to the auditor's question."""

    answer: str = Field(max_length=MAX_TEXT, description=f"text of at most {MAX_TEXT} characters")
    additional_evidence: list[ClaimedEvidence] = []


class HandedQuestion(Part):
    """What a worker has to know of a human before it goes on."""

    question: str = Field(max_length=MAX_TEXT, description=f"text of at most {MAX_TEXT} characters")


def answer_faults(handed: HandedAnswer) -> tuple[Fault, ...]:
    """What keeps an answer from being taken: it says nothing, or its evidence is none."""
    empty = Fault(("answer",), "is empty", "an answer to the question")
    as_claim = Claim(explanation=handed.answer, evidence=handed.additional_evidence)
    return (
        *(() if handed.answer.strip() else (empty,)),
        *(
            Fault(("additional_evidence", *fault.at[1:]), fault.what, fault.expected)
            for fault in faults(as_claim)
            if fault.at[:1] in ((), ("evidence",))
        ),
    )


def question_faults(handed: HandedQuestion) -> tuple[Fault, ...]:
    """What keeps a question from being asked: it is empty."""
    return () if handed.question.strip() else (Fault(("question",), "is empty", "what a human is to answer"),)


def output_claim(ended: str, output: str) -> Claim:
    """What a command claims that wrote nothing: its output. `ended` says how it did, "ended with exit code 0" say."""
    explanation = f"The worker command {ended} and wrote no claim; what it printed is in [{OUTPUT}]."
    return Claim(explanation=explanation, evidence=[output_evidence(output)])


def output_answer(ended: str, output: str) -> HandedAnswer:
    """What a command answers that wrote nothing."""
    text = f"The worker command {ended} and wrote no answer; what it printed is in [{OUTPUT}]."
    return HandedAnswer(answer=text, additional_evidence=[output_evidence(output)])


def output_evidence(output: str) -> ClaimedEvidence:
    """The end of what a command printed, without control characters: as JSON they would be six times as long."""
    plain = "".join(c if c >= " " or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in output)
    end = plain.encode()[-MAX_OUTPUT_BYTES:].decode(errors="ignore")
    return ClaimedEvidence(label=OUTPUT, type="command_output", data=end)
