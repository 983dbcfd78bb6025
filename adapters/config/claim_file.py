"""Reads what a worker writes, JSON, into a claim and the like; refuses with every problem found, each with its line.

Whether what it says is true is not checked here: `domain.claims.contradictions` asks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from adapters.config.explain import explain
from adapters.config.order_secrets import held
from adapters.config.problems import shown_as
from adapters.config.text_file import read_text_file, refusal
from adapters.config.yaml_document import Document, parse
from domain.base import Part
from domain.claims.claim import Claim, Fault, faults
from domain.errors import Malformed, Problem

_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


P = TypeVar("P", bound=Part)


def load_claim(path: Path) -> Claim:
    """The claim in `path`. Raises `Malformed` with every problem, sorted by line.

    A secret that this process knows may not be in it: read the order first, whose secrets are among them.
    """
    shown = shown_as(path)
    return parsed(read_text_file(path, shown, "a claim in JSON"), shown, Claim, "a claim", faults)


def parsed(text: str, shown: str, model: type[P], what: str, faults_of: Callable[[P], Iterable[Fault]]) -> P:
    """The `model` that the JSON in `text` is; `what` it is called. Raises `Malformed` as `load_claim` does."""
    _refuse_other_than_json(text, shown, what)
    document = parse(_as_yaml(text), shown, what)
    value, problems = _validated(document, model)
    if value is not None:
        problems = [
            *(document.problem(fault.at, fault.what, f"expected {fault.expected}") for fault in faults_of(value)),
            *held(value.model_dump(mode="json"), document, what),
        ]
    problems = [*document.problems, *problems]
    if problems or value is None:
        raise Malformed(sorted(problems, key=lambda problem: problem.line))
    return value


def _refuse_other_than_json(text: str, shown: str, content: str) -> None:
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        raise refusal(shown, f"is not JSON: {error.msg}", f"{content} in JSON", error.lineno) from error
    except (ValueError, RecursionError) as error:
        what = "is not JSON that can be read: a number too long, or nested too deep"
        raise refusal(shown, what, f"{content} in JSON") from error


def _as_yaml(text: str) -> str:
    """JSON as YAML has it: no tabs between its parts, and in its texts no character that YAML refuses or folds."""
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text.replace("\t", " "))


def _validated(document: Document, model: type[P]) -> tuple[P | None, list[Problem]]:
    try:
        return model.model_validate_json(json.dumps(document.data)), []
    except ValidationError as error:
        return None, explain(error, model, document)
