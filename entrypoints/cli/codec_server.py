"""`countersign codec-server`: has the Web UI and `temporal` show what payload encryption hides."""

from __future__ import annotations

import re
import signal
import sys
from typing import Annotated

import typer

from adapters.encryption.keys import MAKE, read_keys
from adapters.encryption.server import CodecServer
from domain.errors import Malformed, Problem
from domain.fields import quoted
from entrypoints.cli import common
from entrypoints.host_files import Files

ORIGIN = re.compile(r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?|https?://\[[0-9a-f:]+\](:[0-9]{1,5})?")


def codec_server(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Where it listens on 127.0.0.1; 0 is a free port.")
    ] = 8081,
    origin: Annotated[
        list[str] | None,
        typer.Option(help="A Web UI that may ask, such as https://temporal.example; more than one may be given."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable on stdout.")] = False,
) -> None:
    """Decrypt what the Web UI and `temporal` show, with the keys of this project, until Ctrl-C. On this machine alone.

    Without --origin it is the Web UI of this project's own host that may ask.

    Example: countersign codec-server --origin https://temporal.example
    """
    settings = common.settings()
    if settings.payload_key_file is None:
        expected = f"expected a file with a key, from: {MAKE}; without one nothing is encrypted"
        raise _malformed("environment", "COUNTERSIGN_PAYLOAD_KEY_FILE", "is not set", expected)
    origins = [_checked(one) for one in origin or ()] or _own_ui()
    with CodecServer(port, read_keys(settings.payload_key_file), origins) as server:
        signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGINT))
        if as_json:
            common.emit_json({"endpoint": server.endpoint, "origins": origins})
        else:
            common.out(f"endpoint  {server.endpoint}")
            common.out(f"pages     {', '.join(origins) or 'none: name the Web UI with --origin'}")
            common.out(
                "show it to nobody: whoever has it and runs something on this machine can read what is encrypted"
            )
        sys.stdout.flush()
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return


def _own_ui() -> list[str]:
    """As people may have it in their browser."""
    state = Files(common.settings().state_dir).alive()
    return [state.ui, state.ui.replace("127.0.0.1", "localhost")] if state and not common.settings().remote else []


def _checked(origin: str) -> str:
    if ORIGIN.fullmatch(plain := origin.rstrip("/")):
        return plain
    expected = "expected scheme, name and perhaps port, such as https://temporal.example"
    raise _malformed("command line", "--origin", f"{quoted(origin)} is no page's origin", expected)


def _malformed(file: str, field: str, what: str, expected: str) -> Malformed:
    return Malformed([Problem(file=file, line=1, field=field, what=what, expected=expected)])
