"""Sandboxes on the real engine, after which nothing may be left there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docker_bench import Bench


@pytest.fixture(scope="module")
async def python_image() -> str:
    bench = Bench()
    image = await bench.sandbox.prepare("python", print)
    bench.close()
    return image.id


@pytest.fixture
def bare() -> Iterator[Bench]:
    """A sandbox without an image, after which nothing may be left."""
    bench = Bench()
    yield bench
    left = (bench.containers(), bench.volumes())
    bench.close()
    assert left == ([], [])


@pytest.fixture
async def bench(bare: Bench, python_image: str) -> Any:
    bare.image = python_image
    yield bare
    await bare.sandbox.release(bare.round)


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    return tmp_path / "images"


@pytest.fixture
def own(python_image: str, folders: Path) -> Iterator[Bench]:
    """A sandbox over folders of the test's own, whose images go afterwards."""
    bench = Bench(folders)
    yield bench
    made = {f"countersign/{folder.name}" for folder in folders.glob("*/")} | {"countersign/test-empty"}
    for image in bench.api.images():
        for tag in image["RepoTags"] or ():
            if tag.rpartition(":")[0] in made:
                bench.api.remove_image(tag, force=True)
    left = (bench.containers(), bench.volumes())
    bench.close()
    assert left == ([], [])
