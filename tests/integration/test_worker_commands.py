"""Worker commands as real processes: brief in, claim out; what they may not see, and what they print."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from adapters.masking.masker import Masker
from adapters.workers import commands, supervised
from adapters.workers.confinement import MARKER
from domain.brief import brief_of
from domain.claims.claim import faults
from domain.errors import Cause, Unavailable
from domain.order import WorkerCommand
from domain.status import TodoStatus
from domain.todo import OpenQuestion
from tests.worker_commands import CLAIM, CLAIM_PATH, ROOT, Place, writing


class TestWhatComesOfIt:
    async def test_brief_in_claim_out(self, place: Place) -> None:
        result = await place.run(f'cp "$COUNTERSIGN_BRIEF" brief.json; pwd; {writing(CLAIM)}')
        assert result.claim is not None
        assert result.claim.explanation == CLAIM["explanation"]
        assert (result.exit_code, result.timed_out, result.resumed) == (0, False, False)
        assert place.printed(result) == f"{place.workspace}\n"
        brief = json.loads((place.workspace / "brief.json").read_text())
        assert {"todo", "content", "criteria", "attempt", "retry_context", "question"} < brief.keys()
        assert brief["resumed"] is False
        folder = Path(brief["claim_path"]).parent
        assert not folder.exists(), "the private folder is gone"
        assert place.state not in folder.parents
        assert place.workspace not in folder.parents

    async def test_without_a_claim_the_output_is_one(self, place: Place) -> None:
        result = await place.run("echo compiling; echo 'no such file' >&2; exit 3")
        assert result.claim is not None
        assert faults(result.claim) == ()
        assert "exit code 3" in result.claim.explanation
        assert result.claim.evidence[0].data == "compiling\nno such file\n"
        assert result.exit_code == 3

    async def test_killed_by_a_signal_has_a_shell_s_exit_code(self, either: Place) -> None:
        assert (await either.run("kill -SEGV $$")).exit_code == 128 + signal.SIGSEGV

    async def test_an_open_question_is_answered(self, place: Place) -> None:
        request = place.request("true")
        asked = request.todo.model_copy(
            update={"status": TodoStatus.CLAIMED, "question": OpenQuestion(question="why?")}
        )
        answer = {"answer": "because", "additional_evidence": [{"label": "log", "type": "note", "data": "x"}]}
        result = await place.run(writing(answer), brief_of(asked))
        assert (result.answer, result.claim) == ("because", None)
        assert result.evidence[0].label == "log"
        silent = await place.run("echo hm", brief_of(asked), drive=2)
        assert silent.answer is not None
        assert silent.evidence[0].data == "hm\n"

    async def test_it_may_ask_a_human(self, place: Place) -> None:
        result = await place.run(writing({"question": "Which port?"}))
        assert (result.question, result.claim, result.problems) == ("Which port?", None, ())

    @pytest.mark.parametrize(
        ("command", "told"),
        [
            ("printf no > $claim", "claim.json:1: file: is not JSON"),
            ("printf '{\"explanation\": 3}' > $claim", "claim.json:1: explanation: the number 3, expected text"),
            ("ln -s /etc/passwd $claim", "claim.json:1: file: cannot be read"),
            ("mkfifo $claim", "claim.json:1: file: is no regular file"),
            ("mkdir $claim", "claim.json:1: file: is no regular file"),
            ("head -c 2000000 /dev/zero > $claim", "claim.json:1: file: has more than 1048576 bytes"),
            ("rm -r $(dirname $claim); ln -s /etc $(dirname $claim)", ""),
        ],
        ids=["no-json", "wrong-field", "link", "fifo", "folder", "large", "another-folder"],
    )
    async def test_what_is_no_claim_is_told(self, place: Place, command: str, told: str) -> None:
        result = await place.run(CLAIM_PATH + command)
        if told:
            assert result.claim is None
            assert result.problems[0].startswith(told), result.problems
        else:
            assert result.claim is not None
            assert "wrote no claim" in result.claim.explanation

    async def test_a_missing_workspace_is_no_failure_of_the_work(self, either: Place) -> None:
        either.workspace.rmdir()
        with pytest.raises(Unavailable) as raised:
            await either.run("true")
        assert raised.value.cause is Cause.WORKSPACE_UNREADABLE

    async def test_a_workspace_in_the_state_directory_is_refused(self, place: Place) -> None:
        place.workspace = place.state / "in" / "it"
        with pytest.raises(Unavailable, match="no worker command may see"):
            await place.run("true")

    async def test_the_temporary_folder_stays_as_it_is(
        self, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whatever the command has put in the private folder's place."""
        around = tmp_path / "around"
        around.mkdir(mode=0o755)
        monkeypatch.setattr(tempfile, "tempdir", str(around))
        for number, put in enumerate(("ln -s /etc .", "touch .", "mkdir . && chmod 0 .", "true"), start=1):
            there = put.replace(" .", ' "$folder"')
            await place.run(f'folder=$(dirname "$COUNTERSIGN_BRIEF"); rm -r "$folder"; {there}', drive=number)
            assert stat.S_IMODE(around.stat().st_mode) == 0o755
            assert list(around.iterdir()) == []

    async def test_locked_folders_are_removed(self, place: Place) -> None:
        result = await place.run(
            'cd "$(dirname "$COUNTERSIGN_BRIEF")"; pwd; mkdir -p a/b; touch a/b/c; chmod 0 a/b a .'
        )
        folder = place.printed(result).strip()
        assert await asyncio.to_thread(os.path.lexists, folder) is False

    @pytest.mark.skipif(os.geteuid() != 0, reason="the test above is the same for who is not root")
    def test_locked_folders_are_removed_by_who_is_not_root(self) -> None:
        """And the folder around stays as it is."""
        with tempfile.TemporaryDirectory() as around:
            Path(around).chmod(0o755)
            folder = Path(around, "folder")
            (folder / "a" / "b").mkdir(parents=True)
            (folder / "a" / "b" / "c").touch()
            for locked in (folder / "a" / "b", folder / "a", folder):
                locked.chmod(0)
                os.chown(locked, 65534, 65534)
            remove = f"import os; os.setuid(65534); remove(Path({str(folder)!r}))"
            boot = f"from pathlib import Path; from adapters.workers.folder import remove; {remove}"
            os.chown(around, 65534, 65534)
            subprocess.run([sys.executable, "-c", boot], cwd=ROOT, check=True)
            assert list(Path(around).iterdir()) == []
            assert stat.S_IMODE(Path(around).stat().st_mode) == 0o755


class TestOutput:
    async def test_a_flood_keeps_its_ends(self, place: Place) -> None:
        result = await place.run("echo begins; yes 0123456789 | head -c 30000000; echo; echo ends")
        text = place.printed(result)
        assert len(text) < 2 * 1024 * 1024 + 1000
        assert text.startswith("begins\n")
        assert text.endswith("\nends\n")
        assert "bytes and more are left out" in text
        assert result.claim is not None
        assert faults(result.claim) == ()

    async def test_it_is_masked_also_where_it_is_cut(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        secret = "s3cr3t-0123456789-abcdefgh"
        place.workers = place.new(masker=Masker({"API_KEY": secret.encode()}))
        monkeypatch.setenv("API_KEY", secret)
        monkeypatch.setattr(commands, "KEPT_BYTES", 1000)
        result = await place.run("for i in $(seq 200); do printf %s- $API_KEY; done", env=["API_KEY"])
        text = place.printed(result)
        assert "API_KEY" in text
        assert not any(secret[start : start + 6] in text for start in range(len(secret) - 6))
        assert result.claim is not None
        assert secret not in result.claim.model_dump_json()


class TestConfinement:
    async def test_it_gets_no_variable_that_it_may_not_have(
        self, either: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("COUNTERSIGN_STATE_DIR", "TEMPORAL_ADDRESS", "DATABASE_URL", "OTEL_X", "MODEL_KEY", "LC_TIME"):
            monkeypatch.setenv(name, "value")
        result = await either.run("env", env=["MODEL_KEY", "NOT_SET"])
        names = {line.partition("=")[0] for line in either.printed(result).splitlines()}
        assert {"MODEL_KEY", "LC_TIME", "PATH", "TERM", "COUNTERSIGN_BRIEF"} <= names
        assert not names & {"COUNTERSIGN_STATE_DIR", "TEMPORAL_ADDRESS", "DATABASE_URL", "OTEL_X", "NOT_SET"}

    async def test_it_has_three_descriptors_and_no_terminal(self, either: Place) -> None:
        # The list itself is read through one more.
        result = await either.run(f"{sys.executable} -c 'import os; print(sorted(os.listdir(\"/proc/self/fd\")))'; cat")
        assert either.printed(result) == "['0', '1', '2', '3']\n"

    async def test_it_ignores_no_signal(self, either: Place) -> None:
        """As Python does, and what it starts unless it sees to it: `yes | head` would never end in some programs."""
        kept = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGHUP, signal.SIGQUIT)}
        printed = either.printed(await either.run("grep SigIgn /proc/self/status"))
        for number, handler in kept.items():
            signal.signal(number, handler)
        ignored = int(printed.removeprefix("SigIgn:"), 16)
        assert ignored & 0x7FFF_FFFF == 0, "those above are the C library's own"

    async def test_it_sees_neither_the_state_nor_other_processes(self, place: Place, tmp_path: Path) -> None:
        other = tmp_path / "other.db"
        other.write_text("rows")
        place.workers = place.new(hidden=(other, tmp_path / "missing"))
        result = await place.run(
            f"ls -A {place.state}; cat {other}; touch {place.state}/x; rm -r {place.state}; kill -9 {os.getpid()};"
            f" umount {place.state}; unshare -rm umount {place.state}; cat {place.state}/trail.db; echo $$ >> {other};"
            " ls /proc | grep -c '^[0-9]'"
        )
        printed = place.printed(result).splitlines()
        assert result.isolation == "namespaces"
        assert printed[0] == MARKER
        assert int(printed[-1]) < 6, "its shell, what it runs, and the first process"
        assert not any("rows" in line for line in printed)
        assert (place.state / "trail.db").read_text() == other.read_text() == "rows"

    async def test_the_command_line_says_what_it_is_not_for(self, place: Place) -> None:
        command = f"{sys.executable} -P -c 'from entrypoints.cli.app import main; main()' log show"
        result = await place.run(f"PYTHONPATH={ROOT} COUNTERSIGN_STATE_DIR={place.state} {command}")
        assert result.exit_code == 1, place.printed(result)
        assert "a worker command runs here" in place.printed(result)

    async def test_ports_are_closed_to_it(self, place: Place) -> None:
        with socket.create_server(("127.0.0.1", 0)) as closed, socket.create_server(("127.0.0.1", 0)) as opened:
            ports = [server.getsockname()[1] for server in (closed, opened)]
            place.workers = place.new(ports=lambda: ports[:1])
            ask = "import socket,sys; print(socket.socket().connect_ex(('127.0.0.1', int(sys.argv[1]))))"
            result = await place.run(f'for p in {ports[0]} {ports[1]}; do {sys.executable} -c "{ask}" $p; done')
        if result.isolation == "namespaces":
            pytest.skip("this kernel has no Landlock that knows ports")
        assert place.printed(result) == "13\n0\n"

    async def test_where_it_cannot_be_confined_it_runs_and_that_is_said(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert place.workers.why_not_confined() == ""
        *python, boot = supervised._COMMAND
        refused = "from adapters.workers import confinement; confinement.NEWPID = 1; from"
        monkeypatch.setattr(supervised, "_COMMAND", (*python, boot.replace("from", refused)))
        assert place.workers.why_not_confined() == "[Errno 22] new namespaces: Invalid argument"
        result = await place.run("echo ran")
        assert (result.isolation, place.printed(result)) == ("environment", "ran\n")

    @pytest.mark.skipif(os.geteuid() != 0, reason="is about who is not root")
    def test_who_is_not_root_is_confined_as_well(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with tempfile.TemporaryDirectory() as folder:  # pytest's own are for their owner alone
            root = Path(folder)
            root.chmod(0o755)
            place = Place(root)
            place.state.chmod(0o755)
            self.confined_as_nobody(place, monkeypatch)

    def confined_as_nobody(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        worker = WorkerCommand(
            command=f"umount {place.state}; unshare -rm umount {place.state}; cat {place.state}/trail.db;"
            f"ls {place.state}; id -u; kill -9 {os.getpid()}; grep CapEff /proc/self/status"
        )
        *python, boot = supervised._COMMAND
        as_nobody = "import ctypes, os; os.setgroups([]); os.setgid(65534); os.setuid(65534)"
        owner_of_itself = "ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)"  # as a process is that was started by that user
        boot = boot.replace("main()", f"{as_nobody}; {owner_of_itself}; main()")
        monkeypatch.setattr(supervised, "_COMMAND", (*python, boot))
        plan = place.new(ports=lambda: [7])._plan(worker, Path("/"), Path("/no-brief"))
        ended = supervised.supervise(plan, lambda _: None, supervised.Lifeline(), lambda _: None)
        assert ended is not None
        printed = ended.head.decode()
        assert ended.isolation.startswith("namespaces"), ended
        assert f"{MARKER}\n65534\n" in printed
        assert "rows" not in printed
        assert "CapEff:\t0000000000000000\n" in printed
