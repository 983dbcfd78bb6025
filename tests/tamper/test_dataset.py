"""The catalogue as data sets: all of it is written and read, and what `eval` counts is what the judging saw."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from adapters.config.dataset_file import load_dataset
from adapters.config.order_file import load_order
from scripts import tamper_dataset
from tests.integration.conftest import Project
from tests.tamper import dataset, evaluation, examples
from tests.tamper.catalogue import ALL, CHEATS, HONEST
from tests.tamper.conftest import judge

FEW = ("done", "addopts-collect-only", "new-test-file-does-the-work", "an-object-is-forged")
"""Verified, refused, verified by its tests alone, and not to be told."""

ALONE = {"a-table-of-the-tests-answers": "a-table-under-tests-alone"}
"""Claims that the example has under tests alone, too, and what it calls them there."""


@pytest.mark.slow
def test_the_whole_catalogue_is_written_and_read(tmp_path: Path) -> None:
    assert tamper_dataset.main([str(tmp_path / "all")]) is None
    for name in dataset.FILES.values():
        loaded = load_dataset(tmp_path / "all" / name)
        assert [claim.label.id for claim in loaded.claims] == [claim.name for claim in ALL]
        assert Counter(claim.label.valid for claim in loaded.claims) == {True: len(HONEST), False: len(CHEATS)}
        assert [claim.label.stratum for claim in loaded.claims] == [claim.family for claim in ALL]


def test_some_are_written_as_the_judging_writes_them(tmp_path: Path) -> None:
    assert tamper_dataset.main([str(tmp_path / "few"), ",".join(FEW[:2])]) is None
    assert {path.name for path in (tmp_path / "few").iterdir()} == {*FEW[:2], *dataset.FILES.values()}
    for claim in dataset.chosen(ALL, FEW[:2]):
        claim.write(tmp_path / claim.name)
        assert _files(tmp_path / "few" / claim.name) == _files(tmp_path / claim.name)
    orders = [claim.order_file for claim in load_dataset(tmp_path / "few" / "out-of-process.yaml").claims]
    assert {Path(file).name for file in orders} == {"both.yaml"}


def test_the_example_has_the_catalogue_s_claims_as_they_are(tmp_path: Path) -> None:
    examples.write(tmp_path)
    folders = {path.name for path in examples.FOLDER.iterdir() if path.is_dir()}
    assert folders == {"base", *examples.NAMES}
    for name in (*folders, "reference.py"):
        assert _files(examples.FOLDER / name) == _files(tmp_path / name), name


def test_the_example_has_the_catalogue_s_orders_and_labels(tmp_path: Path) -> None:
    loaded = {claim.label.id: claim for claim in load_dataset(examples.FOLDER.parent / "dataset.yaml").claims}
    differing = {"id", "content", "domain", "workspace", "base"}
    for claim in examples.claims():
        claim.write(tmp_path / claim.name)
        asked = {claim.name: "both", ALONE.get(claim.name, ""): "alone"}
        for name, kind in ((name, kind) for name, kind in asked.items() if name):
            found, written = loaded[name], load_order(tmp_path / claim.name / f"{kind}.yaml")
            assert found.label.valid is claim.honest
            assert Path(found.order.workspace) == examples.FOLDER / claim.name
            said, expected = (order.model_dump(exclude=differing) for order in (found.order, written))
            for order in (said, expected):
                for criterion in order["acceptance_criteria"]:
                    criterion.pop("description")
            assert said == expected, name


@pytest.mark.parametrize("arguments", [[], ["a", "b", "c"], ["{full}"], ["{new}", "no-such-claim"]])
def test_what_cannot_be_written_is_told(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("kept")
    places = {"full": str(tmp_path / "full"), "new": str(tmp_path / "new")}
    assert tamper_dataset.main([text.format(**places) for text in arguments])
    assert not (tmp_path / "new").exists()
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["file"]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_figures_are_those_of_the_catalogue(project: Project) -> None:
    judged = judge(project, dataset.chosen(ALL, FEW))
    assert [problem for one in judged for problem in one.problems] == []
    evaluation.compare(project, judged, "--from-stored")
    evaluation.compare(project, judged)


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
