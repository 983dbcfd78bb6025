"""Checks that try to get out of their container: each ends as it should, alone, and leaves nothing behind."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from domain.checks import Outcome, classify
from tests.docker_bench import HEAR, KNOCK, MEMORY_BOMB, Bench


@dataclass(frozen=True)
class Hostile:
    """What a check does to get out of its container, and how it has to end."""

    name: str
    command: str = "true"
    code: str = "exit_code"  # that of `classify`; any of several, with a bar between them, where chance decides
    exit_code: int | None = None
    build: tuple[str, ...] = ()
    timeout: float = 240.0


HOSTILE = (
    Hostile("memory bomb", MEMORY_BOMB, "out_of_memory", 137),
    Hostile("fork bomb", "bomb() { bomb | bomb & }; bomb; sleep 60", "exit_code|verification_timeout", timeout=3),
    Hostile("disk filler", "cat /dev/zero > fill", exit_code=1),
    Hostile("kill all", "kill -9 -1", exit_code=137),
    Hostile("kill all, then a daemon", "setsid sleep 300 & kill -9 -1", exit_code=137),
    Hostile("stop all", "kill -STOP -1; sleep 300", "verification_timeout", timeout=1),
    Hostile("5 GB of text", "yes | head -c 5G", "output_flood"),
    Hostile("5 GB of zeros", "head -c 5G /dev/zero", "output_flood"),
    Hostile("5 GB of errors", "head -c 5G /dev/zero >&2", "output_flood"),
    Hostile("TERM ignored", "trap '' TERM; while :; do sleep 0.1; done", "verification_timeout", timeout=1),
    Hostile("daemon", "setsid sh -c 'trap \"\" TERM HUP; sleep 300' & exit 0", "ok", 0),
    Hostile("daemon that holds the output", "(setsid sleep 300 &) & exit 9", exit_code=9),
    Hostile("build that kills all", build=("kill -9 -1",), code="build_failed"),
    Hostile("build that stops all", build=("kill -STOP -1; sleep 300",), code="verification_timeout", timeout=1),
    Hostile("build with 5 GB of text", build=("yes | head -c 5G; exit 1",), code="build_failed"),
    Hostile(
        "build that forges the mark",
        build=(r"printf '\006' > /proc/$PPID/fd/1; exit 3",),
        code="build_failed",
        exit_code=3,
    ),
    Hostile("build that leaves a link for its output", build=("ln -sf /dev/full /work/output", "echo x"), code="ok"),
)


class TestHostile:
    @pytest.mark.parametrize("hostile", HOSTILE, ids=lambda hostile: hostile.name)
    async def test_it_fails_alone_and_leaves_nothing(self, bench: Bench, hostile: Hostile) -> None:
        normal = "for i in 1 2 3 4 5; do sleep 0.2; cat file; done; python3 -c 'print(len(bytearray(1 << 24)))'"
        seen, other = await asyncio.gather(
            bench.run(hostile.command, build=hostile.build, timeout=hostile.timeout),
            bench.run(normal, build=("true",) * len(hostile.build), timeout=240),
        )
        assert (other.exit_code, other.stdout) == (0, "content" * 5 + f"{1 << 24}\n"), other
        outcome, code, _ = classify(seen, hostile.timeout)
        assert code in hostile.code.split("|"), seen
        assert (outcome is Outcome.PASSED) == (hostile.code == "ok")
        assert hostile.exit_code in (None, seen.exit_code)
        assert len(bench.containers()) == len(bench.volumes()) == 1, "the round's seal and no more"

    @pytest.mark.slow
    async def test_a_hostile_server_does_not_touch_its_probe(self, bench: Bench) -> None:
        for command in ("kill -9 -1", "python3 -c 'x = bytearray(1 << 30)'", "kill -STOP -1; sleep 300"):
            seen = await bench.serve(f"{HEAR}; {command}", f"{KNOCK}; sleep 2; echo asked")
            assert (seen.probe.exit_code, seen.probe.stdout) == (0, "asked\n"), (command, seen)
            assert seen.server.exit_code == 137
            assert len(bench.containers()) == len(bench.volumes()) == 1
