"""An order's `environment` through `countersign verify`: what is set up once, what is built, what needs a human."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import docker
import pytest

from tests.integration.conftest import Project

SET_UP = "environment_set_up"
SECRET = f"s3cret-{uuid.uuid4().hex}"


@pytest.fixture(scope="module", autouse=True)
def no_new_images(shared: Project) -> Iterator[None]:
    """What these orders set up is removed from the engine again, and nothing that another test does meanwhile."""
    yield
    made = {
        row["payload"].get("image", "") for row in shared.answer("log", "show", "--json") if row["action"] == SET_UP
    }
    with closing(docker.APIClient()) as api:
        tags = [tag for image in api.images("countersign/setup") for tag in image["RepoTags"] or ()]
        for tag in made.intersection(tags):
            api.remove_image(tag, force=True)


def verified(project: Project, order: str, code: int, *arguments: str, **environment: str) -> dict[str, Any]:
    result = project.run("verify", order, "--json", *arguments, **environment)
    assert result.returncode == code, result.stdout + result.stderr
    report: dict[str, Any] = json.loads(result.stdout)
    return report


def test_what_the_base_asks_for_is_installed_once_and_seen_by_every_check(shared: Project) -> None:
    marker = uuid.uuid4().hex
    shared.write(base__lock_dot_txt=f"{marker}\n", work__lock_dot_txt=f"{marker}\n")
    order = shared.order(
        id="wo-setup",
        environment={
            "setup": ["test ! -e a.txt && cp lock.txt installed.txt && date +%N > when.txt"],
            "inputs": ["lock.txt"],
            "build": ["cp installed.txt built.txt"],
        },
        verification={
            "checks": [
                {"name": "installed", "command": f"grep -q {marker} installed.txt && grep -q after a.txt"},
                {"name": "built", "command": f"grep -q {marker} built.txt && cat when.txt"},
            ]
        },
    )
    first, second = verified(shared, order, 0), verified(shared, order, 0)
    assert first["checks"][1]["output"] == second["checks"][1]["output"] != "", "the second one took it from the cache"


def test_a_head_that_changes_an_input_needs_a_human(shared: Project) -> None:
    shared.write(base__lock_dot_txt="one\n", work__lock_dot_txt="two\n")
    environment = {"setup": ["cp lock.txt installed.txt"], "inputs": ["lock.txt"]}
    checks = {"checks": [{"name": "base", "command": "grep -q one installed.txt"}]}
    report = verified(shared, shared.order(id="wo-input", environment=environment, verification=checks), 4)
    assert [reason["code"] for reason in report["reasons"]] == ["input_changed"]
    assert report["checks"][0]["passed"], "and the checks ran on what the base asks for"


def test_a_set_up_that_fails_is_no_verdict_and_shows_no_secret(shared: Project) -> None:
    environment = {"setup": ['echo "told $TOKEN"; exit 7'], "secrets": ["TOKEN"]}
    checks = {"checks": [{"name": "any", "command": "true"}]}
    order = shared.order(id="wo-setup-fails", environment=environment, verification=checks)
    result = shared.run("verify", order, "--json", TOKEN=SECRET)
    assert result.returncode == 3
    assert "exit code 7" in result.stdout
    assert "told [secret TOKEN]" in result.stdout
    assert SECRET not in result.stdout + result.stderr


def test_a_secret_reaches_set_up_and_nothing_that_is_kept(shared: Project) -> None:
    environment = {"setup": ['test ${#TOKEN} = 39 && echo "used $TOKEN" && echo yes > used.txt'], "secrets": ["TOKEN"]}
    checks = {"checks": [{"name": "used", "command": "grep -q yes used.txt && ! env | grep TOKEN"}]}
    order = shared.order(id="wo-secret", environment=environment, verification=checks)
    verified(shared, order, 0, TOKEN=SECRET)
    kept = Path(shared.environment["XDG_STATE_HOME"])
    leaks = [str(path) for path in kept.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert leaks == []


def test_a_build_that_fails_is_the_works_failure(shared: Project) -> None:
    order = shared.order(
        id="wo-build",
        environment={"build": ["grep -q before a.txt || { echo cannot build; exit 5; }"]},
        verification={"checks": [{"name": "any", "command": "true"}]},
    )
    (line,) = verified(shared, order, 1)["checks"]
    assert (line["code"], line["base_outcome"]) == ("build_failed", "passed")
    assert "cannot build" in line["output"]


def test_whose_failure_it_is(shared: Project) -> None:
    shared.write(base__bin__tool="#!/bin/sh\n", work__bin__tool="#!/bin/sh\nexit 1\n")
    (shared.root / "base/bin/tool").chmod(0o755)
    (shared.root / "work/bin/tool").chmod(0o755)
    broken = [
        {"name": "mine", "command": "bin/tool"},
        {"name": "nobodys", "command": "no-such-tool --at-all", "required": False},
        {"name": "olds", "command": "grep -q never a.txt", "required": False},
    ]
    report = verified(shared, shared.order(id="wo-whose", verification={"checks": broken}), 1)
    lines = {line["name"]: (line["outcome"], line["base_outcome"]) for line in report["checks"]}
    assert lines == {
        "mine": ("failed", "passed"),
        "nobodys": ("could_not_run", "failed"),
        "olds": ("failed", "failed"),
    }


def test_what_only_the_image_lacks_is_no_verdict(shared: Project) -> None:
    order = shared.order(id="wo-lacks", verification={"checks": [{"name": "lint", "command": "no-such-linter ."}]})
    report = verified(shared, order, 3)
    assert "no-such-linter is not in the image" in report["checks"][0]["next_step"]
    assert "environment: {setup: [" in report["checks"][0]["next_step"]
