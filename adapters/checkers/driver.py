"""Calls functions, each case in a process of its own, and writes what came of it as one JSON document; judges nothing.

Runs in the container as text, `python3 -I -c "$COUNTERSIGN_DRIVER"`, on whatever Python (3.9 or later) the image has;
nothing imports it. It knows arguments and no expected value, so that the code under test finds none, wherever it looks.
A case's process is a fork, cheap enough for thousands, in which the code may break what it likes: what it prints goes
to pipes, its answer to a pipe of its own. Its encoding is told in `plain_data.py`. Where Linux can, neither the memory
nor the open files of the driver, or of a case, can be reached through /proc by another process of the same user.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import select
import signal
import sys
import traceback
import types
from typing import Any, NoReturn

DEPTH = 200  # levels of a value that are encoded
ANSWER = 512 * 1024  # bytes of one answer
DOCUMENT = 768 * 1024  # bytes of all results, below the 1 MiB that is kept of a container's output
PRINTED = 2048  # last bytes of what one case printed, on each of two streams
PRINTED_IN_ALL = 64 * 1024
SET_DUMPABLE = 4  # prctl(2)


class Stopped(BaseException):
    """The time is up: `timeout` sends TERM before it kills, which leaves time to say which case was running."""


class TooLarge(Exception):
    """A value needs more room than an answer has."""


def main() -> None:
    """Run the cases of `COUNTERSIGN_CASES_*` one after the other, until the end or TERM."""
    parts = int(os.environ.pop("COUNTERSIGN_CASES"))
    job = json.loads("".join(os.environ.pop(f"COUNTERSIGN_CASES_{part}") for part in range(parts)))
    os.environ.pop("COUNTERSIGN_DRIVER", None)
    document: dict[str, Any] = {"results": [], "running": None, "full": False}
    _close_to_others()
    signal.signal(signal.SIGTERM, _stop)
    with contextlib.suppress(Stopped):
        _run_all(job, document)
        document["running"] = None
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.stdout.write(json.dumps(document))


def _close_to_others() -> None:
    """The forks inherit it; what they start by exec does not."""
    with contextlib.suppress(ImportError, OSError, AttributeError):  # no ctypes, or no Linux: an image may lack either
        import ctypes  # noqa: PLC0415 - only here, since an image may lack it

        ctypes.CDLL(None).prctl(SET_DUMPABLE, 0, 0, 0, 0)


def _stop(_number: int, _frame: Any) -> NoReturn:
    raise Stopped


def _run_all(job: dict[str, Any], document: dict[str, Any]) -> None:
    room, printed = DOCUMENT, PRINTED_IN_ALL
    for number, case in enumerate(job["cases"]):
        document["running"] = number
        result = _run(job, case)
        for stream in ("stdout", "stderr"):
            printed -= len(result.get(stream, ""))
            if printed < 0:
                result.pop(stream, None)
        room -= len(json.dumps(result)) + 2
        if room < 0:
            document["full"] = True
            return
        document["results"].append(result)


def _run(job: dict[str, Any], case: list[Any]) -> dict[str, Any]:
    """What one case came to: `answer`, the text that its process sent, and `exit`, how that ended (as `wait` says)."""
    pipes = [os.pipe() for _ in range(3)]
    pid = os.fork()
    if pid == 0:
        _be_the_case(job, case, pipes)
    for _, end in pipes:
        os.close(end)
    kept, status = [b"", b"", b""], -1
    try:
        status = _listen(pid, [end for end, _ in pipes], kept)
    finally:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            if status < 0:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        for end, _ in pipes:
            os.close(end)
    result: dict[str, Any] = {"exit": status} if status else {}
    if len(kept[0]) > ANSWER:
        result["too_large"] = True
    elif kept[0]:
        result["answer"] = kept[0].decode("ascii", "replace")
    for stream, data in (("stdout", kept[1]), ("stderr", kept[2])):
        if data:
            result[stream] = data.decode("utf-8", "replace")
    return result


def _listen(pid: int, ends: list[int], kept: list[bytes]) -> int:
    """Read until the process has ended, not until its pipes have: what it left behind may hold those open."""
    poller = select.poll()
    for end in ends:
        poller.register(end, select.POLLIN)
    still_open = set(ends)
    ended, status = False, 0
    while True:
        for end, _ in poller.poll(0 if ended else 20 if still_open else 1):
            chunk = os.read(end, 1 << 16)
            if not chunk:
                poller.unregister(end)
                still_open.discard(end)
            place = ends.index(end)
            kept[place] = kept[place] + chunk if place == 0 else (kept[place] + chunk)[-PRINTED:]
        if ended or len(kept[0]) > ANSWER:
            return status if ended else -1
        waited, status = os.waitpid(pid, os.WNOHANG)
        ended = waited == pid


def _be_the_case(job: dict[str, Any], case: list[Any], pipes: list[tuple[int, int]]) -> NoReturn:
    """The forked process: never returns, whatever the code does."""
    try:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for end, _ in pipes:
            os.close(end)
        answer, out, err = (end for _, end in pipes)
        for source, target in ((os.open(os.devnull, os.O_RDONLY), 0), (out, 1), (err, 2)):
            os.dup2(source, target)
            os.close(source)
        sys.modules["__main__"] = types.ModuleType("__main__")
        data = json.dumps(_answer(job, case)).encode("ascii")
        while data:
            data = data[os.write(answer, data) :]
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(0)


def _answer(job: dict[str, Any], case: list[Any]) -> list[Any]:
    place, args, kwargs = case
    module, function_name = job["functions"][place]
    sys.path.insert(0, os.path.abspath(job["path"]))  # noqa: PTH100 - pathlib would be imported for this alone
    try:
        function = importlib.import_module(module)
    except BaseException as error:  # noqa: BLE001 - whatever an import raises, SystemExit too, is what was observed
        traceback.print_exc()
        return ["import_failed", _told(error)]
    try:
        for name in function_name.split("."):
            function = getattr(function, name)
    except BaseException as error:  # noqa: BLE001 - a module's own __getattr__ may raise anything
        return ["no_function", _told(error)]
    try:
        value = function(*args, **kwargs)  # type: ignore[operator]  # a module until its parts are taken
    except BaseException as error:  # noqa: BLE001 - whatever the call raises is what was observed
        traceback.print_exc()
        return ["raised", [[c.__module__, c.__qualname__] for c in type(error).__mro__[:-1]], _told(error)]
    try:
        return ["returned", encode(value, [ANSWER])]
    except TooLarge:
        return ["too_large"]


def _told(error: BaseException) -> str:
    try:
        return repr(error)[:300]
    except BaseException:  # noqa: BLE001 - an exception's own __repr__ may raise anything
        return f"a {type(error).__qualname__} that cannot be shown"


def encode(value: Any, room: list[int], depth: int = 0) -> Any:
    """Plain data by exact type; a subclass, an object and what is nested too deep become the name of their type.

    `room` holds about how many bytes are left. Raises `TooLarge`.
    """
    kind = type(value)
    room[0] -= len(value) + 2 if kind is str else 2
    if room[0] < 0:
        raise TooLarge
    if value is None or kind is bool or kind is str:
        return value
    if kind is int:
        return value if value.bit_length() < 13_000 else {"other": "int with more than 13000 bits"}
    if kind is float:
        return value if value - value == 0 else {"float": str(value)}
    if depth >= DEPTH:
        return {"other": f"value nested more than {DEPTH} deep"}
    if kind is list:
        return [encode(part, room, depth + 1) for part in value]
    if kind is dict:
        pairs = value.items()
        return {"dict": [[encode(k, room, depth + 1), encode(v, room, depth + 1)] for k, v in pairs]}
    return {"other": kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"}


if __name__ == "__main__":
    main()
