"""What every command shares: the project's settings and stores, output, and errors as exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from pydantic import BaseModel
from rich.console import Console

from adapters.config.settings import Settings, load_settings
from adapters.evidence.folder import FolderStore
from domain.errors import CountersignError, Malformed, Refused, Unavailable
from domain.ports import Trail
from entrypoints.client import LOCAL_SESSION
from entrypoints.host import build_trail
from entrypoints.host_state import prepare_state_dir

EXIT_REFUSED, EXIT_MALFORMED, EXIT_UNAVAILABLE, EXIT_NOT_FOUND = 1, 2, 3, 5

stdout = Console(highlight=False, emoji=False, soft_wrap=True)
stderr = Console(stderr=True, highlight=False, emoji=False, soft_wrap=True)


@lru_cache(maxsize=1)
def settings() -> Settings:
    """The settings of the project that the command was given in. Raises `Malformed`."""
    return load_settings()


def open_trail() -> Trail:
    """The project's trail. Raises `Unavailable`."""
    prepare_state_dir(settings().state_dir)
    return build_trail(settings())


def open_evidence() -> FolderStore:
    """The project's evidence store."""
    return FolderStore(settings().evidence_dir)


def evidence_folder(session: str, todo: str, attempt: int) -> Path:
    """The folder that people open for one attempt."""
    return settings().evidence_dir / session / todo / str(attempt)


def split_todo(name: str) -> tuple[str, str]:
    """`SESSION/TODO`, or `TODO` of the session that standalone rounds have."""
    session, slash, todo = name.rpartition("/")
    return (session, todo) if slash else (LOCAL_SESSION, name)


def out(text: str) -> None:
    """Print on stdout, as it is."""
    stdout.print(text, markup=False)


def err(text: str) -> None:
    """Print on stderr, as it is."""
    stderr.print(text, markup=False)


def emit_json(value: object) -> None:
    """Print as JSON on stdout, in ASCII: what a worker named its files must not reach a terminal."""
    plain = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    sys.stdout.write(json.dumps(plain, indent=2) + "\n")


def visible(text: str) -> str:
    """`text` with everything made visible that could steer a terminal: it may come from a worker."""
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text)


def speak(command: Callable[[], None]) -> None:
    """Run the application; what it refuses or cannot do becomes a line on stderr and an exit code (CONTRACT)."""
    try:
        command()
    except Malformed as error:
        err(visible(str(error)))
        sys.exit(EXIT_MALFORMED)
    except Unavailable as error:
        err(visible(f"could not tell: {error.reason} ({error.cause})\nnext: {error.next_step}"))
        sys.exit(EXIT_UNAVAILABLE)
    except Refused as error:
        err(visible(f"refused: {error.reason} ({error.code})\nnext: {error.next_step}"))
        sys.exit(EXIT_REFUSED)
    except CountersignError as error:
        err(visible(str(error)))
        sys.exit(EXIT_REFUSED)
