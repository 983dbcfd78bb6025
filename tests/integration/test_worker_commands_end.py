"""Worker commands as real processes: nothing of them is left whatever happens, and none is run twice."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from adapters.masking.masker import Masker
from adapters.workers import commands, drives, supervised
from adapters.workers.commands import CommandWorkers
from adapters.workers.drives import Drive
from adapters.workers.results import KILLED
from domain.brief import brief_of
from domain.errors import Unavailable
from domain.life import WorkInput, WorkResult
from domain.order import WorkerCommand
from tests.fakes.evidence import MemoryStore
from tests.worker_commands import CLAIM, ROOT, Place, alive, daemons, eventually, time_is_over_once, writing


@pytest.fixture
def mark() -> str:
    """Seconds for `sleep` that nobody else sleeps."""
    return f"{10_000 + os.getpid()}.{time.time_ns() % 10**9}"


class TestItsEnd:
    async def test_what_it_left_behind_is_ended_with_it(self, either: Place, mark: str) -> None:
        result = await either.run(f"{daemons(mark)} echo done")
        assert either.printed(result) == "done\n"
        assert not alive(mark)

    @pytest.mark.parametrize("trap", ["exit 7", ""], ids=["ends", "ignores"])
    async def test_it_is_ended_after_its_time(
        self, either: Place, mark: str, trap: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(commands, "GRACE_SECONDS", 0.3)
        monkeypatch.setattr(supervised, "_COMMAND", time_is_over_once(either.workspace / "began"))
        async with asyncio.timeout(100):
            result = await either.run(
                f"trap '{trap}' TERM; {daemons(mark)} echo works; touch began; while :; do sleep 0.05; done",
                timeout=0.5,
            )
        assert (result.timed_out, result.exit_code) == (True, None)
        assert result.claim is not None
        assert "0.5 seconds" in result.claim.explanation
        assert either.printed(result).startswith("works\n")
        assert not alive(mark)

    async def test_a_claim_counts_though_it_did_not_end(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(supervised, "_COMMAND", time_is_over_once(place.workspace / "began"))
        result = await place.run(f"{writing(CLAIM)}; touch began; sleep 250", timeout=0.5)
        assert result.claim is not None
        assert result.claim.explanation == CLAIM["explanation"]
        assert result.timed_out

    async def test_cancelled_nothing_is_left(self, either: Place, mark: str) -> None:
        running = asyncio.create_task(either.run(f"{daemons(mark)} touch began; exec sleep {mark}"))
        assert await asyncio.to_thread(eventually, (either.workspace / "began").exists)
        assert await asyncio.to_thread(eventually, lambda: alive(mark))
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert not alive(mark)

    def test_it_is_ended_when_countersign_is_killed_and_then_run_again(self, either: Place, mark: str) -> None:
        """With SIGKILL, while the command runs."""
        request = either.request(
            f"{daemons(mark)} grep -q '\"resumed\": true' $COUNTERSIGN_BRIEF && exit; touch began; sleep {mark}"
        )
        here = "tests.integration.test_worker_commands_end"
        run = f"from {here} import run_elsewhere; run_elsewhere({str(either.state)!r})"
        confined = "" if either.workers._cannot_confine else "confined"
        command = [sys.executable, "-c", run, request.model_dump_json(), confined]
        with subprocess.Popen(command, cwd=ROOT) as other:
            assert eventually((either.workspace / "began").exists)
            other.kill()
        record = Drive(either.state / "workers", request).read()
        assert record is not None
        assert record.result is None
        result = asyncio.run(either.workers.run(request, brief_of(request.todo), lambda _: None))
        assert result.resumed
        assert not alive(mark)
        assert not os.path.lexists(record.folder)

    async def test_it_ends_by_itself_when_countersign_is_killed(self, either: Place, mark: str) -> None:
        lifeline = supervised.Lifeline()
        plan = either.workers._plan(
            WorkerCommand(command=f"trap '' TERM; {daemons(mark)} echo $$ > began; sleep {mark}; sleep {mark}"),
            either.workspace,
            Path("/no-brief"),
        )
        plan |= {"grace": 0.3, "confined": either.workers._cannot_confine == ""}
        running = asyncio.create_task(
            asyncio.to_thread(supervised.supervise, plan, lambda _: None, lifeline, lambda _: None)
        )
        assert await asyncio.to_thread(eventually, (either.workspace / "began").exists)
        lifeline.cut()  # as the end of the process does that holds it
        ended = await running
        assert ended is not None
        assert ended.stopped
        assert not alive(mark)

    async def test_a_killed_supervisor_takes_the_command_along(self, place: Place, mark: str) -> None:
        request = place.request(f"{daemons(mark)} touch began; sleep {mark}")
        running = asyncio.create_task(place.workers.run(request, brief_of(request.todo), lambda _: None))
        assert await asyncio.to_thread(eventually, (place.workspace / "began").exists)
        record = Drive(place.state / "workers", request).read()
        assert record is not None
        os.kill(record.process, signal.SIGKILL)
        result = await running
        assert (result.problems, result.claim, result.exit_code) == ((KILLED,), None, None)
        assert eventually(lambda: not alive(mark))


class TestOnce:
    async def test_a_drive_with_a_result_is_not_run_again(self, place: Place) -> None:
        request = place.request("echo run >> runs")
        first = await place.workers.run(request, brief_of(request.todo), lambda _: None)
        again = await place.new().run(request, brief_of(request.todo), lambda _: None)
        assert again == first
        assert (place.workspace / "runs").read_text() == "run\n"
        next_drive = await place.run("echo run >> runs", drive=2)
        assert not next_drive.resumed
        assert (place.workspace / "runs").read_text() == "run\nrun\n"

    async def test_one_that_still_runs_is_ended_first(
        self, either: Place, mark: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(drives, "ENDS_BY_ITSELF", 0.1)
        script = f"{daemons(mark)} [ -e began ] && exit 5; touch began; sleep {mark}"
        request = either.request(script)
        first = asyncio.create_task(either.workers.run(request, brief_of(request.todo), lambda _: None))
        assert await asyncio.to_thread(eventually, (either.workspace / "began").exists)
        second = await either.workers.run(request, brief_of(request.todo), lambda _: None)
        assert (second.resumed, second.exit_code) == (True, 5)
        (ended,) = await asyncio.gather(first, return_exceptions=True)
        assert isinstance(ended, Unavailable) or (isinstance(ended, WorkResult) and ended.problems == (KILLED,))
        assert not alive(mark)
        again = await either.workers.run(request, brief_of(request.todo), lambda _: None)
        assert again == second, "what the first came to has not replaced it"

    async def test_it_says_now_and_then_that_it_runs(self, place: Place) -> None:
        said: list[str] = []
        request = place.request("echo 12345; until [ -e heard ]; do sleep 0.05; done")

        def hear(text: str) -> None:
            said.append(text)
            if text.endswith(" s, 6 bytes of output"):
                (place.workspace / "heard").touch()

        await place.workers.run(request, brief_of(request.todo), hear)
        last = re.fullmatch(r"the worker command runs for (\d+) s, 6 bytes of output", said[-1])
        assert last, said
        assert len(said) <= int(last[1]), "once a second"


def run_elsewhere(state: str) -> None:
    """The same in a process of its own, to be killed: the request is its first argument."""
    workers = CommandWorkers(MemoryStore(), Masker({}), Path(state))
    workers._cannot_confine = "" if sys.argv[2] else "not here"
    drive = WorkInput.model_validate_json(sys.argv[1])
    asyncio.run(workers.run(drive, brief_of(drive.todo), lambda _: None))
