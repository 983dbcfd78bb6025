"""What commands print, and what they end with: text and JSON on stdout, notes and errors on stderr (CONTRACT)."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import NoReturn

from pydantic_core import to_jsonable_python
from rich.console import Console

from adapters.masking.known import KNOWN
from domain.errors import CountersignError, Malformed, Refused, Unavailable

EXIT_REFUSED, EXIT_MALFORMED, EXIT_UNAVAILABLE, EXIT_NEEDS_HUMAN, EXIT_NOT_FOUND, EXIT_CONFLICT = 1, 2, 3, 4, 5, 6

EXITS = {
    "unknown_session": EXIT_NOT_FOUND,
    "unknown_todo": EXIT_NOT_FOUND,
    "unknown_attempt": EXIT_NOT_FOUND,
    "stale_version": EXIT_CONFLICT,
    "stale_snapshot": EXIT_CONFLICT,
    "stale_signature": EXIT_CONFLICT,
    "order_changed": EXIT_NEEDS_HUMAN,
    "base_unproven": EXIT_NEEDS_HUMAN,
}
"""Refusals that have an exit code of their own, by their codes."""


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # rich would end the process with 1, which is a verdict's code


stdout = _Console(highlight=False, emoji=False, soft_wrap=True)
stderr = _Console(stderr=True, highlight=False, emoji=False, soft_wrap=True)


def out(text: str) -> None:
    """Print on stdout, as it is."""
    stdout.print(text, markup=False)


def err(text: str) -> None:
    """Print on stderr, as it is."""
    stderr.print(text, markup=False)


def emit_json(value: object) -> None:
    """Print as JSON on stdout, in ASCII: what a worker named its files must not reach a terminal."""
    plain = to_jsonable_python(value, by_alias=False)
    sys.stdout.write(json.dumps(KNOWN.value(plain), indent=2) + "\n")


def visible(text: str) -> str:
    """`text` with everything made visible that could steer a terminal: it may come from a worker."""
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text)


def one_line(text: str, most: int = 100) -> str:
    """`text` on one line, cut, with nothing in it that steers a terminal."""
    line = visible(" ".join(text.split()))
    return line if len(line) <= most else line[: most - 1] + "…"


def counted(*counts: tuple[int, str]) -> str:
    """`1 row, 2 faults` for counts of things by their name in the singular."""
    return ", ".join(f"{number} {word}{'' if number == 1 else 's'}" for number, word in counts)


def speak(command: Callable[[], None]) -> None:
    """Run the application; what it refuses or cannot do becomes lines on stderr and an exit code (CONTRACT).

    With `--json` the same is a JSON object on stdout.
    """
    try:
        command()
        sys.stdout.flush()
    except Malformed as error:
        _tell(error, EXIT_MALFORMED, {"problems": [problem.model_dump() for problem in error.problems]}, str(error))
    except Unavailable as error:
        text = f"could not tell: {error.reason} ({error.cause})\nnext: {error.next_step}"
        facts = {"code": error.cause, "reason": error.reason, "next_step": error.next_step}
        _tell(error, EXIT_UNAVAILABLE, facts, text)
    except Refused as error:
        diff = f"{error.diff}\n" if error.diff else ""
        text = f"{diff}refused: {error.reason} ({error.code})\nnext: {error.next_step}"
        facts = {"code": error.code, "reason": error.reason, "next_step": error.next_step}
        facts |= {"diff": error.diff} if error.code == "order_changed" else {}
        _tell(error, EXITS.get(error.code, EXIT_REFUSED), facts, text)
    except BrokenPipeError:
        os._exit(EXIT_UNAVAILABLE)  # an ordinary exit would try to write the rest, and fail with a code of its own
    except Exception:  # noqa: BLE001 - the last resort: a defect must not look like the verdict that exit code 1 is
        traceback.print_exc()
        err("could not tell: Countersign itself failed, and nothing was decided; please report the lines above")
        sys.stderr.flush()
        os._exit(EXIT_UNAVAILABLE)


def _tell(error: CountersignError, code: int, facts: Mapping[str, object], text: str) -> NoReturn:
    if "--json" in sys.argv:
        emit_json({"error": type(error).__name__.lower(), **facts})
    err(visible(text))
    sys.exit(code)
