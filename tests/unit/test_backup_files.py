"""The file of a backup, and what goes into it: all that is needed, checked when it is read, nothing overwritten."""

from __future__ import annotations

import asyncio
import io
import json
import os
import shutil
import stat
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from adapters.backup import archive
from adapters.backup.archive import ABOUT, About
from adapters.config.settings import Settings
from adapters.evidence.sweep import FolderSweep
from adapters.trail import SqlTrail
from domain.errors import Malformed, Refused
from domain.events import Actor
from entrypoints import backup
from entrypoints.backup import BackedUp, back_up
from entrypoints.host_files import Files, HostState, Process
from entrypoints.names import HOSTS, former_hosts, host_id
from entrypoints.pruning import Pruner
from entrypoints.restoring import restore
from tests.fakes.rounds import World

NOON = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)


def settings_of(root: Path, **more: object) -> Settings:
    return Settings.model_validate({"project": root.parent, "state_dir": root, **more})


@dataclass
class Machine:
    """A project with one round behind it, and its settings."""

    world: World
    settings: Settings
    folder: Path

    def back_up(self, name: str = "b.tar") -> tuple[Path, BackedUp]:
        file = self.folder / name
        return file, back_up(self.settings, file)

    def elsewhere(self, **more: object) -> Settings:
        """Another machine's, on which there is nothing yet."""
        return settings_of(self.folder / "other" / "state", **more)


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state directory with one round behind it."""
    root = tmp_path_factory.mktemp("lived")
    world = World(root)
    checked: dict[str, Any] = {"verification": {"checks": [{"name": "tests", "command": "run tests"}]}}
    asyncio.run(world.verify(world.order(**checked)))
    world.trail.close()
    (root / "workers" / "s" / "t").mkdir(parents=True)
    (root / "workers" / "s" / "t" / "1.json").write_text("{}")
    (root / "host.log").write_text("a log")
    return root


@pytest.fixture(autouse=True)
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """No power fails here, and a sync would wait for whatever else this machine writes."""
    monkeypatch.setattr(os, "sync", lambda: None)


@pytest.fixture
def machine(lived: Path, tmp_path: Path) -> Iterator[Machine]:
    root = tmp_path / "state"
    shutil.copytree(lived, root)
    world = World(root)
    yield Machine(world, settings_of(root), tmp_path)
    world.trail.close()


def contents(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", ["b.tar", "b.tar.gz", "b.tgz"])
def test_what_was_backed_up_is_restored_on_an_empty_machine(machine: Machine, name: str) -> None:
    file, done = machine.back_up(name)
    assert (done.check.faults, done.check.unproven, done.damaged) == ((), (), ())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    there = machine.elsewhere()
    assert restore(there, file).files == done.about.files
    before, after = contents(machine.settings.state_dir), contents(there.state_dir)
    same = {path for path in before if path.startswith(("evidence/", "workers/")) or path == "heads.jsonl"}
    assert {path: after[path] for path in same} == {path: before[path] for path in same}
    assert after.keys() - same == {"trail.db"}
    assert stat.S_IMODE(there.state_dir.stat().st_mode) == 0o700
    trail = SqlTrail(there.database_url, there.state_dir / "heads.jsonl")
    assert list(trail.rows()) == list(machine.world.trail.rows())
    assert trail.verify() == done.check
    assert sorted(path.name for path in machine.folder.iterdir()) == sorted([name, "other", "state"]), "no scratch"


def test_places_of_ones_own_are_restored_to_places_of_ones_own(machine: Machine, tmp_path: Path) -> None:
    file, _ = machine.back_up()
    (tmp_path / "blobs").mkdir()
    there = machine.elsewhere(evidence_dir=tmp_path / "blobs", database_url=f"sqlite:///{tmp_path}/own/own.db")
    restore(there, file)
    assert contents(tmp_path / "blobs") == contents(machine.settings.evidence_dir)
    own = SqlTrail(there.database_url, there.state_dir / "heads.jsonl")
    assert own.verify().faults == ()
    assert "trail.db" not in contents(there.state_dir)
    _, again = Machine(machine.world, there, tmp_path).back_up("again.tar")
    assert {name for name in again.about.files if name.endswith(".db")} == {"trail.db"}


def test_a_round_that_the_copied_trail_does_not_know_is_not_copied(machine: Machine) -> None:
    """It would be foreign to the restored trail, and `evidence prune` refuses where something is."""
    machine.world.store.place("local", "wo-1", 2, "report.json", b"{}")
    file, _ = machine.back_up()
    there = machine.elsewhere()
    restore(there, file)
    assert list(FolderSweep(there.evidence_dir).attempts()) == [("local", "wo-1", 1)]


def test_a_damaged_blob_is_named_and_copied(machine: Machine) -> None:
    path = next(machine.settings.evidence_dir.glob("blobs/??/*"))
    path.write_bytes(b"something else")
    file, done = machine.back_up()
    assert done.damaged == (path.name,)
    restore(machine.elsewhere(), file)


def test_evidence_that_is_pruned_meanwhile_spoils_the_backup(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    before = backup._evidence

    def pruned(*arguments: object) -> object:
        machine.world.store.put(b"garbage")
        for path in machine.settings.evidence_dir.rglob("*"):
            os.utime(path, (0, 0))
        sweep = FolderSweep(machine.settings.evidence_dir)
        Pruner(machine.world.trail, machine.world.store, sweep, datetime.now(UTC)).run(
            0, Actor(role="human", identity="ann")
        )
        return before(*arguments)  # type: ignore[arg-type] # it takes what the real one takes

    monkeypatch.setattr(backup, "_evidence", pruned)
    with pytest.raises(Refused) as caught:
        machine.back_up()
    assert caught.value.code == "pruned_meanwhile"
    assert not (machine.folder / "b.tar").exists()


def test_other_machines_todos_are_this_ones_after_a_restore(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backup, "host_id", lambda: "old")
    file, _ = machine.back_up()
    there = machine.elsewhere()
    restore(there, file)
    assert former_hosts(there.state_dir) == ("old",)
    monkeypatch.setattr(backup, "host_id", lambda: "newer")
    _, again = Machine(machine.world, there, machine.folder).back_up("again.tar")
    assert again.about.hosts == ("newer", "old")
    assert former_hosts(machine.settings.state_dir) == ()
    (there.state_dir / HOSTS).write_text(f"old\n{host_id()}\n")
    assert former_hosts(there.state_dir) == ("old",), "its own queue is polled anyway"


def test_nothing_is_written_over(machine: Machine) -> None:
    file, _ = machine.back_up()
    with pytest.raises(Refused, match="never written over") as caught:
        machine.back_up()
    assert caught.value.code == "exists"
    before = contents(machine.settings.state_dir)
    with pytest.raises(Refused) as caught:
        restore(machine.settings, file)
    assert caught.value.code == "state_exists"
    evidence = machine.folder / "full"
    (evidence / "blobs").mkdir(parents=True)
    with pytest.raises(Refused) as caught:
        restore(machine.elsewhere(evidence_dir=evidence), file)
    assert caught.value.code == "state_exists"
    me = HostState(host=Process.of(os.getpid()))
    Files(machine.settings.state_dir).write(me)
    with pytest.raises(Refused) as caught:
        restore(machine.settings, file)
    assert caught.value.code == "host_runs"
    Files(machine.settings.state_dir).state.unlink()
    assert contents(machine.settings.state_dir) == before


@pytest.mark.parametrize(
    "own", [{"database_url": "postgresql://ann@db/trail"}, {"temporal_address": "temporal.internal:7233"}]
)
def test_servers_of_ones_own_have_backups_of_their_own(tmp_path: Path, own: dict[str, str]) -> None:
    settings = settings_of(tmp_path / "state", **own)
    for command in (back_up, restore):
        with pytest.raises(Refused) as caught:
            command(settings, tmp_path / "b.tar")
        assert (caught.value.code, "docs/deploying.md" in caught.value.next_step) == ("not_embedded", True)
    assert not (tmp_path / "state").exists()


def test_what_a_backup_does_not_have_is_said(machine: Machine) -> None:
    own = {"evidence_url": "s3://bucket/prefix", "payload_key_file": machine.folder / "key"}
    done = back_up(settings_of(machine.settings.state_dir, **own), machine.folder / "b.tar")
    assert not [name for name in done.about.files if name.startswith("evidence/")]
    told = " ".join(done.about.elsewhere)
    assert "s3://bucket/prefix" in told
    assert str(machine.folder / "key") in told


def test_a_project_without_a_trail_and_a_name_that_packs_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused) as caught:
        back_up(settings_of(tmp_path / "state"), tmp_path / "b.tar")
    assert caught.value.code == "nothing_here"
    for name in ("b.zip", "b", "what?/b.tar"):
        with pytest.raises(Malformed, match=r"\.tar"):
            back_up(settings_of(tmp_path / "state"), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


Change = Callable[[Path], None]


def cut_off(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def without_its_end(file: Path) -> None:
    with tarfile.open(file) as tar:
        last = tar.getmember(ABOUT)
    file.write_bytes(file.read_bytes()[: last.offset])


def one_byte_changed(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[600] ^= 1
    file.write_bytes(data)


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def of_a_later_version(file: Path) -> None:
    rewritten(file, lambda about: {**about, "format": archive.FORMAT + 1})


def without_a_digest(file: Path) -> None:
    rewritten(file, lambda about: {**about, "files": {}})


def rewritten(file: Path, change: Callable[[dict[str, object]], dict[str, object]]) -> None:
    with tarfile.open(file) as tar:
        found = [(member, (tar.extractfile(member) or io.BytesIO()).read()) for member in tar]
    with tarfile.open(file, "w") as tar:
        for member, data in found:
            new = json.dumps(change(json.loads(data))).encode() if member.name == ABOUT else data
            member.size = len(new)
            tar.addfile(member, io.BytesIO(new))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (cut_off, "cut off"),
        (without_its_end, "cut off"),
        (one_byte_changed, "trail.db is not what was backed up"),
        (emptied, "cut off"),
        (of_a_later_version, "has format 2, this version knows 1"),
        (without_a_digest, "is not what was backed up"),
    ],
)
def test_what_is_no_whole_backup_is_not_restored(machine: Machine, change: Change, said: str) -> None:
    file, _ = machine.back_up()
    change(file)
    there = machine.elsewhere()
    with pytest.raises(Malformed, match=said):
        restore(there, file)
    assert not there.state_dir.exists()
    assert list(there.state_dir.parent.iterdir()) == [], "nothing half restored stays"


@pytest.mark.parametrize(
    "name", ["../trail.db", "/tmp/trail.db", "evidence/../../x", "evidence/.ssh", "host.json", "evidence", "a\nb"]
)
def test_a_name_that_no_backup_has_is_not_unpacked(tmp_path: Path, name: str) -> None:
    file = tmp_path / "b.tar"
    with tarfile.open(file, "w") as tar:
        tar.addfile(tarfile.TarInfo(name), io.BytesIO())
    (tmp_path / "into").mkdir()
    with pytest.raises(Malformed, match="which no backup has"):
        archive.unpack(file, tmp_path / "into")
    assert contents(tmp_path) == {"b.tar": file.read_bytes()}


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE])
def test_only_plain_files_are_unpacked(tmp_path: Path, kind: bytes) -> None:
    file = tmp_path / "b.tar"
    with tarfile.open(file, "w") as tar:
        member = tarfile.TarInfo("trail.db")
        member.type, member.linkname = kind, "/etc/passwd"
        tar.addfile(member)
    with pytest.raises(Malformed, match="which no backup has"):
        archive.unpack(file, tmp_path)


def test_a_file_that_is_gone_when_its_turn_comes_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(b"it")
    about = About(version="1", made_at=NOON, project="/p", hosts=("h",))
    named = [("heads.jsonl", tmp_path / "gone"), ("trail.db", tmp_path / "there")]
    assert list(archive.write(tmp_path / "b.tar", named, about).files) == ["trail.db"]


def test_a_project_without_evidence_or_server_has_a_backup_all_the_same(tmp_path: Path) -> None:
    settings = settings_of(tmp_path / "state")
    SqlTrail(settings.database_url, settings.state_dir / "heads.jsonl").close()
    done = back_up(settings, tmp_path / "b.tar")
    assert set(done.about.files) == {"trail.db", "heads.jsonl"}
    restore(settings_of(tmp_path / "other" / "state"), tmp_path / "b.tar")
