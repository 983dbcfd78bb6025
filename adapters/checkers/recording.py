"""Has a command's runs of pytest recorded, and reads back what the recorder wrote. What it means is `domain`'s.

The recorder goes into a folder beside the tree, under a random name; everything that it writes has the job's nonce and
is cut out of the standard output that people see.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from domain.base import Message, canonical_json
from domain.checks import Observation
from domain.command_criteria import CommandParams
from domain.mutation.edits import Edit
from domain.suite.runs import Found, Ran, Run, State, merged

PART = 96 * 1024  # bytes in one variable; Linux takes 128 KiB, execve(2)
LARGEST = 32 * 1024 * 1024  # bytes of one process's record: the tree may have written it

RECORDER = Path(__file__).with_name("recorder.py").read_text(encoding="utf-8")

_STATES: dict[str, State] = {
    "p": "passed",
    "f": "failed",
    "e": "error",
    "s": "skipped",
    "x": "xfailed",
    "X": "xpassed",
    "n": "not_run",
}
_ASSIGNED = re.compile(r"(?<![^\s;&|(){}'\"`])(PYTHONPATH|PYTEST_ADDOPTS)=")
_PREFIX = """COUNTERSIGN_ROOT=$(cd {up} && pwd -P) || exit 1
COUNTERSIGN_PLACE=${{COUNTERSIGN_ROOT%/*}}/{name}
mkdir -m 700 "$COUNTERSIGN_PLACE" && printf %s "$COUNTERSIGN_RECORDER" > "$COUNTERSIGN_PLACE/{name}.py" || exit 1
unset COUNTERSIGN_RECORDER
PYTHONPATH="$COUNTERSIGN_PLACE${{PYTHONPATH:+:$PYTHONPATH}}"
PYTEST_ADDOPTS="-p {name}${{PYTEST_ADDOPTS:+ $PYTEST_ADDOPTS}}"
export COUNTERSIGN_ROOT COUNTERSIGN_PLACE PYTHONPATH PYTEST_ADDOPTS
exec 9>&1
"""


class Canary(Message):
    """A test that must fail: what it and its file are called, and what its failure says."""

    name: str
    token: str


class Job(Message):
    """What the recorder is told. `nonce` and `name`, of its module, are random.

    `files`: the digest of each file that must stay as it is until the tests are read, after the `edits`. `keep`: the
    functions that run in a control, by file; those of the canary's run alone.
    """

    nonce: str
    name: str
    files: dict[str, str] = {}
    edits: dict[str, tuple[Edit, ...]] = {}
    keep: dict[str, tuple[str, ...]] = {}
    canary: Canary | None = None


class Recorded(Message):
    """What came out of a command: how many pytests loaded the recorder, and what each wrote at its end."""

    observation: Observation
    began: int = 0
    records: tuple[str, ...] = ()

    @cached_property
    def run(self) -> Run | None:
        """The run; None unless every process that began wrote a record that can be read."""
        if not self.began or len(self.records) != self.began:
            return None
        runs = [_run(record) for record in self.records]
        whole = [run for run in runs if run]
        return merged(whole) if len(whole) == len(runs) else None

    def without_output(self, keep: int = 0) -> Recorded:
        """With no more than the last `keep` characters of each output, which are stored elsewhere or not needed."""
        seen = self.observation
        tails = {
            name: text[-keep:] if keep else "" for name, text in (("stdout", seen.stdout), ("stderr", seen.stderr))
        }
        return self.model_copy(update={"observation": seen.model_copy(update=tails)})


def with_recorder(params: CommandParams, job: Job) -> CommandParams:
    """`params` with the recorder before its command."""
    told = {
        "nonce": job.nonce,
        "files": {name: digest[:32] for name, digest in job.files.items()},
        "edits": {name: [[e.start, e.end, e.text] for e in edits] for name, edits in job.edits.items()},
        "keep": job.keep,
        "canary": job.canary and job.canary.model_dump(),
    }
    text = base64.b64encode(zlib.compress(canonical_json(told), 9)).decode()
    parts = [text[start : start + PART] for start in range(0, len(text), PART)]
    numbered = {f"COUNTERSIGN_JOB_{number}": part for number, part in enumerate(parts)}
    up = "/".join(".." for _ in PurePosixPath(params.cwd).parts) or "."
    own = {"COUNTERSIGN_RECORDER": RECORDER, "COUNTERSIGN_JOB": str(len(parts)), **numbered}
    command = _PREFIX.format(up=up, name=job.name) + _first(params.command, job.name)
    return CommandParams(command=command, cwd=params.cwd, env={**params.env, **own})


def recorded(observed: Observation, nonce: str) -> Recorded:
    """What the recorder wrote among what the command printed, and the rest."""
    lines = re.compile(rf"\x1ecountersign:{re.escape(nonce)}:(began|ended):([A-Za-z0-9+/=]*)\x1e")
    found = lines.findall(observed.stdout)
    return Recorded(
        observation=observed.model_copy(update={"stdout": lines.sub("", observed.stdout)}),
        began=sum(kind == "began" for kind, _ in found),
        records=tuple(text for kind, text in found if kind == "ended"),
    )


def _first(command: str, name: str) -> str:
    """`command` with what it assigns to the two variables behind what the recorder needs in them."""
    own = {"PYTHONPATH": '"$COUNTERSIGN_PLACE":', "PYTEST_ADDOPTS": f'"-p {name} "'}
    return _ASSIGNED.sub(lambda match: f"{match[1]}={own[match[1]]}", command)


def _run(record: str) -> Run | None:
    """One process's run, None for what the recorder does not write."""
    try:
        inflate = zlib.decompressobj()
        data = inflate.decompress(base64.b64decode(record, validate=True), LARGEST)
        return None if inflate.unconsumed_tail else _Document.model_validate_json(_storable(data)).run()
    except (binascii.Error, zlib.error, ValueError, RecursionError):
        return None


def _storable(data: bytes) -> bytes:
    """JSON whose texts can be stored: half a character, which Python's strings may have, becomes a question mark."""
    return json.dumps(json.loads(data), ensure_ascii=False).encode("utf-8", "replace")


class _Document(Message):
    """The recorder's own JSON."""

    tests: list[tuple[str, str, int]]
    reasons: dict[str, str]
    uncollected: dict[str, str]
    left_out: dict[str, str]
    deselected: list[str]
    altered: list[str]
    config: dict[str, Any]
    status: int

    def run(self) -> Run | None:
        """With the names that people read, and ids from the tree's root. None: it was cut short."""
        if self.status < 0 or not {state for _, state, _ in self.tests} <= _STATES.keys():
            return None
        found = Found.model_validate(self.config)
        root = "" if found.root in (".", "outside") else f"{found.root}/"

        def named(texts: dict[str, str]) -> dict[str, str]:
            return {root + name: text for name, text in texts.items()}

        return Run(
            tests={root + name: Ran(state=_STATES[state], ms=ms) for name, state, ms in self.tests},
            reasons=named(self.reasons),
            uncollected=named(self.uncollected),
            left_out=named(self.left_out),
            deselected=tuple(root + name for name in self.deselected),
            altered=tuple(self.altered),
            found=(found,),
        )
