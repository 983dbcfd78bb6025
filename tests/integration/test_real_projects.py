"""Published packages, as they are: `init` writes an order by itself, the work is verified, one changed line is not.

They are fetched while the tests run, through pip and npm, from the registries that these are configured for.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.integration.conftest import Project, make_project

NO_REGISTRY = (
    *("could not resolve", "name or service not known", "temporary failure in name resolution", "connection refused"),
    *("network is unreachable", "enotfound", "econnrefused", "etimedout", "eai_again", "max retries exceeded"),
    *("connection to", "timed out"),
)
IDENTITY = ("-c", "user.name=nobody", "-c", "user.email=nobody@localhost")


@dataclass(frozen=True)
class Package:
    """One to verify: `good` is a line's part in `file`, and `bad` what stands there instead when it is broken."""

    name: str
    version: str
    file: str
    good: str
    bad: str
    repository: bool
    npm: bool = False


PACKAGES = (
    # setup.py, one package, one file of tests beside it
    Package("inflection", "0.5.1", "inflection/__init__.py", "word.replace('_', '-')", "word", True),
    # setup.py, tests inside the package
    Package("h11", "0.16.0", "h11/_connection.py", 'if b"close" in connection', "if False", True),
    # pyproject.toml with flit, src layout, requirements files
    Package("itsdangerous", "2.2.0", "src/itsdangerous/encoding.py", '.rstrip(b"=")', "", False),
    # pyproject.toml with hatchling, a version from the repository's tags, tests as an extra
    Package("humanize", "4.12.3", "src/humanize/lists.py", "len(items) == 1", "len(items) == 9", False),
    # package.json with a runner among its development dependencies
    Package("concat-map", "0.0.1", "index.js", "res.push.apply(res, x)", "res.push(x)", True, npm=True),
)

IN_EVERY_RUN = ("concat-map",)
"""The others are for `make long`: one shows that it works at all."""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project whose state directory, and so host, all packages share."""
    made = make_project(tmp_path_factory.mktemp("host"), tmp_path_factory.mktemp("xdg"))
    made.environment["COUNTERSIGN_STATE_DIR"] = str(tmp_path_factory.mktemp("state"))
    yield made
    assert made.run("down").returncode == 0


def fetch(package: Package, folder: Path) -> Path:
    """Its source archive, unpacked; skips where the registry cannot be reached at all."""
    archives = folder / "archives"
    archives.mkdir()
    reference = f"{package.name}{'@' if package.npm else '=='}{package.version}"
    if package.npm:
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("there is no npm on this machine to fetch with")
        command = [npm, "pack", reference]
    else:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-binary", ":all:", "--no-deps", reference]
    done = subprocess.run(command, cwd=archives, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0 and any(words in done.stderr.lower() for words in NO_REGISTRY):
        pytest.skip(f"no registry answers for {reference}: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    (archive,) = archives.iterdir()
    with tarfile.open(archive) as tar:
        tar.extractall(folder / "unpacked", filter="data")
    (root,) = (folder / "unpacked").iterdir()
    return root.rename(folder / package.name)


def commit(root: Path) -> None:
    for arguments in (["init", "-q"], ["add", "-A", "-f"], [*IDENTITY, "commit", "-q", "-m", "as published"]):
        subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True)


def break_it(root: Path, package: Package) -> None:
    file = root / package.file
    text = file.read_text()
    assert package.good in text, "the line to change is not there"
    file.write_text(text.replace(package.good, package.bad))


@pytest.mark.parametrize(
    "package",
    [pytest.param(p, id=p.name, marks=() if p.name in IN_EVERY_RUN else pytest.mark.slow) for p in PACKAGES],
)
def test_a_published_package_is_verified_as_it_is_and_not_when_it_is_broken(
    host: Project, tmp_path: Path, package: Package
) -> None:
    root = fetch(package, tmp_path)
    if package.repository:
        commit(root)
    project = Project(root, host.environment)
    found = project.answer("init", "--json")
    assert found["image"] == ("node" if package.npm else "python")
    assert found["pinned"] is False
    project.answer("trust", "--as", "human:ann", "--yes", "--json")
    good = project.run("verify", ".countersign/order.yaml")
    assert good.returncode == 0, json.dumps(found) + good.stdout + good.stderr
    break_it(root, package)
    bad = project.run("verify", ".countersign/order.yaml", "--json")
    assert bad.returncode == 1, bad.stdout + bad.stderr
    failed = [check["name"] for check in json.loads(bad.stdout)["checks"] if check["outcome"] == "failed"]
    assert "tests" in failed, failed
