"""Asks one HTTP server until it answers, and writes the answer as one JSON document; judges nothing.

Runs as text in a container of its own on the served one's network, `python3 -I -c "$COUNTERSIGN_PROBE"`, on Python 3.9
or later; nothing imports it. It knows the request and no expected value. No redirect is followed, no proxy is used.
What answers is hostile: lines, headers and body are bounded, and so is the time, however slowly bytes trickle in.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import signal
import sys
import time
import urllib.parse
from typing import Any, NoReturn

BODY = 512 * 1024  # bytes: as base64 with the headers they stay below the 1 MiB that is kept of a container's output
HEADERS = 64 * 1024  # characters of all headers that are told
PAUSE = 0.1  # seconds before it is asked again
SAFE = "/%:=&?~+!$,;'@()*[]"  # of a URL's path and query, besides letters and digits: left as written


class Stopped(BaseException):
    """The time is up."""


def main() -> None:
    """Ask as `COUNTERSIGN_JOB_*` says until something answers, the time is up, or TERM comes."""
    parts = int(os.environ["COUNTERSIGN_JOB"])
    job = json.loads("".join(os.environ[f"COUNTERSIGN_JOB_{part}"] for part in range(parts)))
    document: dict[str, Any] = {"status": None, "headers": [], "body": "", "truncated": False, "error": ""}
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, job["limit"])
    with contextlib.suppress(Stopped):
        _ask(job, document)
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.stdout.write(json.dumps(document))


def _stop(_number: int, _frame: Any) -> NoReturn:
    raise Stopped


def _ask(job: dict[str, Any], document: dict[str, Any]) -> None:
    """Ask until there is an answer; why the last try failed is in the document until then."""
    while True:
        connection = http.client.HTTPConnection(*_address(job["url"]))
        try:
            _send(connection, job)
            response = connection.getresponse()
        except OSError as error:  # refused, reset, closed before an answer: it may not have begun to listen
            document["error"] = _told(error)
        except (http.client.HTTPException, ValueError) as error:
            document["error"] = f"what answered is no HTTP: {_told(error)}"
            return
        else:
            document["error"] = "the answer did not end in time"
            _read(response, document)
            return
        finally:
            connection.close()
        time.sleep(PAUSE)


def _address(url: str) -> tuple[str, int]:
    parts = urllib.parse.urlsplit(url)
    return parts.hostname or "", parts.port or 80


def _send(connection: http.client.HTTPConnection, job: dict[str, Any]) -> None:
    parts = urllib.parse.urlsplit(job["url"])
    target = urllib.parse.quote(parts.path or "/", SAFE) + (
        f"?{urllib.parse.quote(parts.query, SAFE)}" * bool(parts.query)
    )
    headers = {name: value.encode() for name, value in job["headers"].items()}
    connection.request(job["method"], target, base64.b64decode(job["body"]) or None, headers)


def _read(response: http.client.HTTPResponse, document: dict[str, Any]) -> None:
    """The answer's parts, as they come; `error` is empty only when all of the body was read, or as much as ever is."""
    kept = 0
    for name, value in response.getheaders():
        kept += len(name) + len(value)
        if kept <= HEADERS:
            document["headers"].append([name, value])
    body = b""
    try:
        while len(body) <= BODY and (piece := response.read1(BODY + 1 - len(body))):
            body += piece
        early = len(body) <= BODY and bool(response.length)
        document["error"] = f"the body ended {response.length} bytes early" if early else ""
    except (OSError, http.client.HTTPException, ValueError) as error:
        document["error"] = f"the body cannot be read: {_told(error)}"
    finally:
        document["status"], document["truncated"] = response.status, len(body) > BODY
        document["body"] = base64.b64encode(body[:BODY]).decode("ascii")


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:300]


if __name__ == "__main__":
    main()
