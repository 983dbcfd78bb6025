"""What clients asked and were answered: a file for each, a line whenever anything happened. It survives its writer."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

Word = Literal["asked", "answered", "lost", "acted"]
"""`acted`: an act beside is over, whose number is in `id`."""


@dataclass(frozen=True)
class Said:
    """One line. `at`: monotonic seconds, the same for every process of this machine; `id` is the command's own.

    `sequence`: of the row that the answer names, 0 for none; `refused`: its code; `why` it was lost.
    """

    word: Word
    at: float
    id: str
    who: str
    session: str = ""
    todo: str = ""
    command: str = ""
    sequence: int = 0
    refused: str = ""
    why: str = ""


class Log:
    """One client's file. A line is written whole or not at all, also by one that is killed."""

    def __init__(self, folder: Path, who: str) -> None:
        self._who = who
        self._file = os.open(folder / f"{who}.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write(self, word: Word, id: str, **fields: str | int) -> None:
        """Say it now."""
        said = Said(word, time.monotonic(), id, self._who, **fields)  # type: ignore[arg-type]  # fields of `Said`
        os.write(self._file, json.dumps(asdict(said)).encode() + b"\n")


class Ledger:
    """What all of them said, as far as it was read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[Path, int] = {}
        self.said: list[Said] = []
        self.answers = 0
        self.acted: set[str] = set()
        self.accepted: Counter[tuple[str, str, str]] = Counter()
        self.refused: Counter[tuple[str, str, str]] = Counter()

    def read(self) -> None:
        """Take in what is new."""
        for path in sorted(self._folder.glob("*.jsonl")):
            with path.open("rb") as file:
                file.seek(self._read.get(path, 0))
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    self._read[path] = self._read.get(path, 0) + len(line)
                    self._take(Said(**json.loads(line)))

    def _take(self, said: Said) -> None:
        self.said.append(said)
        if said.word == "acted":
            self.acted.add(said.id)
        if said.word == "answered":
            self.answers += 1
            counter = self.refused if said.refused else self.accepted
            counter[said.session, said.todo, said.command] += 1
