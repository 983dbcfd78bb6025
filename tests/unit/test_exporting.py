"""An export: rebuilt from store and trail, whole, checkable offline, and the same bytes each time."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from adapters.evidence.export import write
from adapters.evidence.folder import FolderStore
from adapters.trail import chain
from domain.base import sha256_hex
from domain.errors import Refused, Unavailable
from domain.events import RowFilter
from domain.references import of_record
from domain.report import Report
from entrypoints.cli import common, evidence
from tests.fakes.rounds import World

ORDER: dict[str, Any] = {
    "acceptance_criteria": [{"id": "says", "type": "file_contains", "params": {"path": "a.txt", "pattern": "after"}}],
    "verification": {"checks": [{"name": "tests", "command": "run tests"}]},
}
SEED = {"spec.json", "tests.json", "results.json", "verdict.json", "audits/index.json", "arguments/index.json"}


@pytest.fixture
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(tmp_path)
    world.write("work", **{"other.txt": "nothing looked at it\n"})
    monkeypatch.setattr(common, "open_trail", lambda: world.trail)
    monkeypatch.setattr(common, "open_evidence", lambda: world.store)
    await world.verify(world.order(**ORDER))
    return world


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(evidence.app, [str(argument) for argument in arguments])


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def sums(folder: Path) -> int:
    return subprocess.run(["sha256sum", "--strict", "--quiet", "-c", "SHA256SUMS"], cwd=folder, check=False).returncode


def test_it_has_the_seeds_folder_every_blob_and_the_rows(world: World) -> None:
    out = world.root / "out"
    result = run("export", "wo-1", "--output", out)
    assert result.exit_code == 0, result.output
    folder = out / "evidence/local/wo-1/1"
    assert SEED | {"changes.diff"} == set(files(folder))
    verdict = json.loads((folder / "verdict.json").read_bytes())
    assert (verdict["work_order_id"], verdict["verdict"], verdict["summary"]["audited"]) == ("wo-1", "PASS", 0)
    assert {"id", "description", "test_type", "command", "passed", "evidence"} <= set(verdict["criteria"][0])
    store = FolderStore(out / "evidence")
    (row,) = world.trail.rows(RowFilter(actions=("audit_completed",)))
    named = {str(row.payload["report"]), str(row.payload["record"])}
    assert all(store.get(digest) for digest in named)
    lines = (out / "trail.jsonl").read_text().splitlines()
    assert [json.loads(line)["action"] for line in lines] == [row.action for row in world.trail.rows()]
    assert [json.loads(line)["hash"] for line in lines] == [chain.content_hash(row) for row in world.trail.rows()]


async def test_blobs_are_those_of_the_round_and_with_trees_the_files_too(world: World) -> None:
    record = await world.verify(world.order(**ORDER), 2)
    plain, trees = world.root / "plain", world.root / "trees"
    run("export", "wo-1", "--output", plain)
    run("export", "wo-1", "--output", trees, "--with-trees")
    looked_at, unseen = sha256_hex(b"after\n"), sha256_hex(b"nothing looked at it\n")
    found = {path.name for path in (plain / "evidence/blobs").glob("*/*")}
    assert of_record(record) | {looked_at} <= found
    more = {path.name for path in (trees / "evidence/blobs").glob("*/*")}
    assert more - found == {unseen, sha256_hex(b"before\n")}


def test_it_is_rebuilt_and_not_copied(world: World) -> None:
    run("export", "wo-1", "--output", world.root / "first")
    folder = world.evidence / "local/wo-1/1"
    (folder / "verdict.json").write_text('{"verdict": "FAIL"}')
    (folder / "notes.txt").write_text("added by somebody")
    (folder / "spec.json").unlink()
    run("export", "wo-1", "--output", world.root / "second")
    shutil.rmtree(folder)
    run("export", "wo-1", "--output", world.root / "third")
    assert files(world.root / "first") == files(world.root / "second") == files(world.root / "third")


def test_it_can_be_checked_offline_and_says_what_was_changed(world: World) -> None:
    out = world.root / "out"
    run("export", "wo-1", "--output", out)
    assert sums(out) == 0
    listed = {line.split("  ", 1)[1] for line in (out / "SHA256SUMS").read_text().splitlines()}
    assert listed == set(files(out)) - {"SHA256SUMS"}
    (out / "trail.jsonl").write_bytes((out / "trail.jsonl").read_bytes().replace(b"passed", b"failed"))
    assert sums(out) != 0


def test_archives_are_the_same_bytes_each_time(world: World) -> None:
    first, second = world.root / "x" / "first.tar.gz", world.root / "second.tgz"
    assert run("export", "wo-1", "--output", first).exit_code == 0
    for path in world.evidence.rglob("*"):
        os.utime(path, (1, 1))
    assert run("export", "wo-1", "--output", second).exit_code == 0
    assert first.read_bytes() == second.read_bytes()
    assert first.read_bytes()[4:8] == bytes(4), "no time in the archive's head, RFC 1952"
    with tarfile.open(first) as archive:
        archive.extractall(world.root / "unpacked", filter="data")
    assert sums(world.root / "unpacked" / "local-wo-1") == 0
    run("export", "wo-1", "--output", world.root / "folder")
    assert files(world.root / "unpacked" / "local-wo-1") == files(world.root / "folder")


async def test_one_attempt_the_last_or_all(world: World) -> None:
    request = world.begin(world.order(**ORDER), 2)
    world.freeze(request)
    world.cancel(request)
    await world.verify(world.order(**ORDER), 3)
    exported = {}
    for name, options in (("last", []), ("first", ["--attempt", "1"]), ("two", ["--attempt", "2"]), ("all", ["--all"])):
        assert run("export", "wo-1", "--output", world.root / name, *options).exit_code == 0
        about = json.loads((world.root / name / "export.json").read_bytes())
        attempts = sorted(int(path.parent.name) for path in (world.root / name).glob("evidence/local/*/*/verdict.json"))
        exported[name] = (about["attempts"], attempts)
    assert exported == {"last": ([3], [3]), "first": ([1], [1]), "two": ([2], []), "all": ([1, 2, 3], [1, 3])}
    assert run("export", "wo-1", "--output", world.root / "no", "--all", "--attempt", "1").exception is not None
    assert run("export", "wo-1", "--output", world.root / "no", "--attempt", "4").exit_code == common.EXIT_NOT_FOUND
    assert run("export", "wo-2", "--output", world.root / "no").exit_code == common.EXIT_NOT_FOUND
    assert not (world.root / "no").exists()


@pytest.mark.parametrize("name", ["out", "out.tar.gz"])
def test_nothing_is_written_over_unless_it_is_an_export(world: World, name: str) -> None:
    out = world.root / name
    for already in ("folder", "file", "link"):
        if already == "folder":
            out.mkdir()
            (out / "mine.txt").write_text("mine")
        elif already == "file" and name == "out":
            out.write_text("mine")
        else:
            out.symlink_to(world.root / "work")
        for options in ([], ["--force"]):
            assert isinstance(run("export", "wo-1", "--output", out, *options).exception, Refused)
        shutil.rmtree(out) if already == "folder" else out.unlink()
    assert (world.root / "work/a.txt").read_text() == "after\n"
    assert run("export", "wo-1", "--output", out).exit_code == 0
    assert isinstance(run("export", "wo-1", "--output", out).exception, Refused)
    assert run("export", "wo-1", "--output", out, "--force").exit_code == 0
    assert not list(world.root.glob(".*.partial"))


def test_a_missing_blob_is_told_and_the_rest_is_written(world: World) -> None:
    (row,) = world.trail.rows(RowFilter(actions=("snapshot_frozen",)))
    head = str(row.payload["base"])
    (world.evidence / "blobs" / head[:2] / head).unlink()
    result = run("export", "wo-1", "--output", world.root / "out", "--json")
    assert (result.exit_code, json.loads(result.stdout)["missing"]) == (common.EXIT_UNAVAILABLE, [head])
    assert sums(world.root / "out") == 0


def test_a_damaged_blob_ends_it_and_leaves_nothing(world: World) -> None:
    (row,) = world.trail.rows(RowFilter(actions=("snapshot_frozen",)))
    head = str(row.payload["head"])
    (world.evidence / "blobs" / head[:2] / head).write_bytes(b"[]")
    with pytest.raises(Unavailable):
        write(world.root / "out", lambda: [("a", world.store.get(head))], "top")
    assert isinstance(run("export", "wo-1", "--output", world.root / "out").exception, Unavailable)
    assert not (world.root / "out").exists()
    assert not list(world.root.glob(".*.partial"))


def test_show_tells_of_an_edited_folder_and_shows_what_was_filed(world: World) -> None:
    before = run("show", "wo-1", "--json")
    assert (before.exit_code, before.stderr) == (0, "")
    verdict = world.evidence / "local/wo-1/1/verdict.json"
    verdict.write_text(verdict.read_text().replace('"PASS"', '"FAIL"'))
    after = run("show", "wo-1", "--json")
    assert (after.exit_code, after.stdout) == (0, before.stdout)
    assert "verdict.json is not what was filed: somebody edited it" in after.stderr
    verdict.unlink()
    assert "verdict.json is missing" in run("show", "wo-1", "--json").stderr


def test_show_lists_names_only_when_asked(world: World) -> None:
    named = json.loads(run("show", "wo-1", "--names", "--json").stdout)
    assert set(named["files"]) == SEED | {"changes.diff"}
    assert set(named["evidence"]) == {"says", "tests"}
    assert "VERIFIED" not in run("show", "wo-1", "--names").stdout
    assert "VERIFIED" in run("show", "wo-1").stdout


def test_show_of_a_report_that_is_gone_is_no_verdict(world: World) -> None:
    (row,) = world.trail.rows(RowFilter(actions=("audit_completed",)))
    report = str(row.payload["report"])
    (world.evidence / "blobs" / report[:2] / report).unlink()
    assert isinstance(run("show", "wo-1").exception, Unavailable)


async def test_the_record_gives_the_same_report_again(world: World) -> None:
    (row,) = world.trail.rows(RowFilter(actions=("audit_completed",)))
    report = Report.model_validate_json(world.store.get(str(row.payload["report"])))
    assert report.checks[0].evidence
    again = await asyncio.to_thread(run, "show", report.checks[0].evidence)
    assert json.loads(again.stdout)["item"]["criterion"]["id"] == "tests"


def test_every_command_has_an_example() -> None:
    for command in ("show", "export", "prune"):
        assert f"Example: countersign evidence {command}" in run(command, "--help").stdout
    assert isinstance(evidence.app, typer.Typer)
