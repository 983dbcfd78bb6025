"""Generated cases of programs: what a reference program does is expected, and who is to blame where it does nothing."""

from __future__ import annotations

import pytest

from domain.checks import Outcome
from domain.errors import Cause, Unavailable
from tests.unit.test_checkers_generated import TEXT, Bench


@pytest.fixture
def bench() -> Bench:
    return Bench()


RUNS = {"args": [{"integer": {"min": 0, "max": 99}}], "stdin": [TEXT, TEXT], "count": 6, "seed": 5}
PROGRAM = '[ "$1" = 0 ] && exit 3\necho "$1"\nsort\n'


async def test_a_program_that_does_as_the_reference_passes(bench: Bench) -> None:
    finding = await bench.program("echo $1 | grep -v '^0$' && sort || exit 3\n", RUNS, PROGRAM)
    assert (finding.outcome, finding.text) == (Outcome.PASSED, "6 of 6 cases passed")
    assert (finding.seed, finding.out_of_process) == (5, True)
    assert len(bench.sandbox.requests) == 7, "one for all cases of the reference"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("echo $1\nsort\n", "exit code 0, expected 3"),
        ('[ "$1" = 0 ] && exit 3\necho "$1"\nsort -r\n', "stdout: expected"),
    ],
)
async def test_a_program_that_does_not_fails_with_the_seed(bench: Bench, source: str, said: str) -> None:
    finding = await bench.program(source, RUNS, PROGRAM)
    assert finding.outcome is Outcome.FAILED
    assert said in finding.text
    assert ", generated, seed 5): " in finding.text


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("r.py", "import sys\nprint(sys.argv[1:], repr(sys.stdin.read()))\n"),
        ("deep/r.py", "import sys\nprint(sys.argv[1:], repr(sys.stdin.read()))\n"),
        ("run", "#!/usr/bin/env python3\nimport sys\nprint(sys.argv[1:], repr(sys.stdin.read()))\n"),
    ],
)
async def test_a_reference_is_run_by_its_kind_with_whatever_is_given(bench: Bench, name: str, reference: str) -> None:
    params = {"args": [{"text": {}}, {"one_of": ["", "$(id)", "'"]}], "stdin": {"text": {}}, "count": 5}
    work = f"cat >work.py <<'END'\n{reference}END\nexec python3 work.py \"$@\"\n"
    finding = await bench.program(work, params, reference, name)
    assert finding.outcome is Outcome.PASSED, finding.text


async def test_no_word_of_the_reference_enters_where_the_program_runs(bench: Bench) -> None:
    await bench.program("echo x", RUNS | {"args": [{"value": "given"}]}, "echo SECRET")
    work = bench.sandbox.requests[1:]
    assert len(work) == 6
    assert all("given" in request.command for request in work)
    assert not [request for request in work if "SECRET" in request.model_dump_json()]


@pytest.mark.parametrize(
    ("name", "reference", "said"),
    [
        ("r.sh", "exit 1", "never ends with 0: ['0'] ends with 1"),
        ("r.sh", "no-such-command", "cannot be run with ['0']: exit code 127"),
        ("run", "no interpreter\x00", "cannot be run with ['0']"),
        ("r.sh", "kill -9 $$", "cannot be run with ['0']: exit code 137"),
        ("r.sh", "head -c 900000 /dev/zero", "prints more than is kept of 6 cases"),
        ("r.sh", "sleep 3600", "was not run to its end: still running after 1 s"),
    ],
)
async def test_a_program_that_tells_nothing_is_no_verdict(bench: Bench, name: str, reference: str, said: str) -> None:
    params = {"command": "false", "generate": {"reference": name, **RUNS}}
    with pytest.raises(Unavailable) as caught:
        await bench.check("cli_io", params, {"x": ""}, {name: reference}, limit=1.0 if "sleep" in reference else 200.0)
    assert caught.value.cause is Cause.REFERENCE_FAILED
    assert said in caught.value.reason
