"""How a process that has spoken to Temporal ends: at once, when all is said, and never with the interpreter's help."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

EXIT_UNSAID = 3


def leave(ended: SystemExit) -> NoReturn:
    """End the process with the code of `ended`, without taking the interpreter apart; nothing of `atexit` runs.

    That takes a tenth of a second, and a thread of the SDK that still logs then aborts the process (seen: exit code
    134 after a verdict, and of a worker that had drained). What nobody reads any more ends with `EXIT_UNSAID`.
    """
    code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    try:
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        code = EXIT_UNSAID
    os._exit(code)
