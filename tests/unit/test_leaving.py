from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def ended(raised: str) -> subprocess.CompletedProcess[str]:
    """A process that printed something and then left with `SystemExit(raised)`."""
    script = f"""
        import atexit
        from entrypoints.leaving import leave
        atexit.register(print, "taken apart")
        print("said")
        leave(SystemExit({raised}))
    """
    return subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("raised", "code", "told"), [("None", 0, ""), ("4", 4, ""), ("'no'", 1, "no\n")])
def test_all_is_said_and_the_interpreter_is_not_taken_apart(raised: str, code: int, told: str) -> None:
    left = ended(raised)
    assert (left.returncode, left.stdout, left.stderr) == (code, "said\n", told)


def test_what_nobody_reads_any_more_has_a_code_of_its_own() -> None:
    script = "import os, sys; from entrypoints.leaving import leave; r, w = os.pipe(); os.close(r)\n"
    script += "sys.stdout = open(w, 'w'); print('lost'); leave(SystemExit(0))"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 3


@pytest.mark.parametrize("order", ["examples/is_prime/order.yaml", "no such file"])
def test_a_command_whose_readers_have_gone_does_not_end_as_a_verdict_does(order: str) -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-c", "from entrypoints.cli.app import main; main()", "graph", order]
    with os.fdopen(write, "w") as gone:
        left = subprocess.run(command, stdout=gone, stderr=gone, check=False, cwd=ROOT)
    assert left.returncode == 3
