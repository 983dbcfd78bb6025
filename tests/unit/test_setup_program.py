"""The shell program of a set-up, run by this host's `sh`: what is quoted arrives, a program cut short is not run."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.sandbox.setup_program import NOT_WHOLE, READ_PROGRAM, TEMPORARY, program, quoted
from domain.tree import Entry


@settings(max_examples=30, deadline=None)
@given(st.binary(max_size=60).map(lambda data: data.replace(b"\0", b"'")))
def test_any_bytes_arrive(value: bytes) -> None:
    script = b"export V=%s; exec printenv V" % quoted(value)
    run = subprocess.run(["/bin/sh"], input=script, capture_output=True, check=True)
    assert run.stdout == value + b"\n"


def read(text: bytes, tmp: str) -> subprocess.CompletedProcess[bytes]:
    script = READ_PROGRAM.replace(TEMPORARY, tmp)
    return subprocess.run(["/bin/sh", "-c", script, "sh", "END"], input=text, capture_output=True, check=False)


def test_a_program_that_is_not_whole_is_not_run(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = str(tmp_path_factory.mktemp("run"))
    assert read(b"echo 'ran\\'\nEND\nrest", folder).stdout == b"ran\\\n"
    cut = read(b"echo ran\n", folder)
    assert (cut.returncode, cut.stdout) == (NOT_WHOLE, b"")


def test_the_end_is_the_last_line() -> None:
    text = program(["true"], [Entry(path="a/-b 'c")], "END", exports={"A": b"b"}, bundle=b"")
    assert text.endswith(b"\nEND\n")
    assert b"rm -rf './a/-b '\"'\"'c' || exit" in text
    assert b"rmdir './a' 2>" in text
    assert b"SSL_CERT_FILE" not in text
    assert b"SSL_CERT_FILE" in program([], [], "END", exports={}, bundle=b"PEM")
