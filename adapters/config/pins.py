"""Keeps pins in the project's state directory, one file an order, for its owner alone. No worker can write there."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from adapters.config.reach import Places
from domain.base import sha256_hex
from domain.errors import Cause, Malformed, Problem, Unavailable
from domain.pins import Pin

FOLDER = "pins"
_NAME_CHARACTERS = 32


class Pins:
    """The pins of one project. Raises `Malformed` for a pin that cannot be read, `Unavailable` where none can be."""

    def __init__(self, state_dir: Path) -> None:
        self._folder = state_dir / FOLDER

    def all(self) -> tuple[Pin, ...]:
        """Every pin, by its order's path."""
        try:
            files = [path for path in self._folder.iterdir() if path.suffix == ".json"]
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise self._unavailable("read", error) from error
        return tuple(sorted(filter(None, map(self._read, files)), key=lambda pin: pin.path))

    def find(self, places: Places) -> Pin | None:
        """The pin of that file: of the name that it was given, else of the one in its real folder."""
        return next((pin for name in places.names if (pin := self._read(self._file(str(name)))) is not None), None)

    def put(self, pin: Pin) -> None:
        """Keep it, whole or not at all, in the place of the one that the same file had."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor, partial = tempfile.mkstemp(dir=self._folder, prefix=".")  # for its owner alone
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(pin.model_dump_json(indent=1).encode())
                    file.flush()
                    os.fsync(file.fileno())
                Path(partial).replace(self._file(pin.path))
            except BaseException:
                with suppress(FileNotFoundError):
                    Path(partial).unlink()
                raise
        except OSError as error:
            raise self._unavailable("written", error) from error

    def remove(self, pin: Pin) -> None:
        """Take it back."""
        try:
            self._file(pin.path).unlink(missing_ok=True)
        except OSError as error:
            raise self._unavailable("written", error) from error

    def _file(self, path: str) -> Path:
        return self._folder / f"{sha256_hex(os.fsencode(path))[:_NAME_CHARACTERS]}.json"

    def _read(self, file: Path) -> Pin | None:
        try:
            return Pin.model_validate_json(file.read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unavailable("read", error) from error
        except ValidationError as error:
            what = f"is no pin: {error.errors(include_url=False, include_input=False)[0]['msg']}"
            expected = "expected what `countersign trust` wrote; remove the file, then trust the order again"
            raise Malformed([Problem(file=str(file), line=1, field="file", what=what, expected=expected)]) from error

    def _unavailable(self, what: str, error: OSError) -> Unavailable:
        return Unavailable(
            Cause.STORE_UNAVAILABLE,
            f"the pins in {self._folder} cannot be {what}: {error.strerror}",
            "see that this user may read and write there, and that the disk has room",
        )
