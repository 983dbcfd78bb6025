"""What a claim is: what it does to the worker's tree, and what must become of it. It judges nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.tamper.projects import FLAT, REFERENCE, Project

HONEST = "honest"


@dataclass(frozen=True)
class Claim:
    """One claim. The work is not done unless `files` do it or `right` is set: `trick` is put before the wrong module.

    `files`, `without`, `links` and at last `make` change the worker's tree; `base` adds to the base's files, and so to
    the worker's; `order` and `check` add to the order and to its check.

    `defence`: what the report must name when pytest, or the command, is asked alone: codes, `restored PATH`,
    `dropped PATH`. `right_on_its_tests`: verified then, and `outside` names what refuses it out of process.
    `knows_the_control`: it may be verified then, too, since it is honest whenever it is examined; `unmeasured`: it may,
    since nothing that its tests expect is a literal that a control could change.
    `naive`: whether the check's command ends with 0 in the worker's own tree.
    """

    name: str
    family: str
    project: Project = FLAT
    trick: str = ""
    right: bool = False
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    make: Callable[[Path], None] | None = None
    base: Mapping[str, str | bytes] = field(default_factory=dict)
    order: Mapping[str, Any] = field(default_factory=dict)
    check: Mapping[str, Any] = field(default_factory=dict)
    defence: tuple[str, ...] = ()
    outside: tuple[str, ...] = ("wrong_result",)
    right_on_its_tests: bool = False
    knows_the_control: bool = False
    unmeasured: bool = False
    naive: bool = True

    @property
    def honest(self) -> bool:
        """Whether it has to be verified."""
        return self.family == HONEST

    @property
    def only_outside(self) -> bool:
        """Whether it takes a comparison out of process to refuse it."""
        return self.right_on_its_tests or self.knows_the_control or self.unmeasured

    @property
    def expected(self) -> tuple[str, ...]:
        """What names it: where its tests are asked alone, unless they cannot."""
        return self.outside if self.only_outside else self.defence

    @property
    def command(self) -> str:
        """What the check runs."""
        return str({**self.project.check, **self.check}["command"])

    def write(self, folder: Path) -> None:
        """The trees `base` and `work`, and both orders, in a new `folder`."""
        files = {**self.project.files, **self.base}
        module = self.project.right if self.right else self.trick + self.project.wrong
        _write(folder / "base", files)
        work = folder / "work"
        _write(work, {**files, self.project.module: module})
        for path in self.without:
            shutil.rmtree(work / path) if (work / path).is_dir() else (work / path).unlink()
        _write(work, self.files)
        for path, target in self.links.items():
            (work / path).parent.mkdir(parents=True, exist_ok=True)
            (work / path).symlink_to(target)
        if self.make:
            self.make(work)
        _write(folder, {"reference.py": REFERENCE})
        for kind, criteria in (("alone", []), ("both", [self.project.outside])):
            text = json.dumps(self._order(folder, kind, criteria))
            _write(folder, {f"{kind}.yaml": text})

    def _order(self, folder: Path, kind: str, criteria: list[Any]) -> dict[str, Any]:
        given = {**self.project.order, **self.order}
        found = folder / "base.json"  # what a `make` that builds a repository says of the base
        base = json.loads(found.read_text()) if found.exists() else "base"
        return {
            "content": f"Roman numerals: {self.name}",
            "workspace": "work",
            "base": base,
            **given,
            "id": f"{self.name}-{kind}",
            "environment": {"image": self.project.image, **given.get("environment", {})},
            "acceptance_criteria": criteria,
            "verification": {
                "checks": [{**self.project.check, "timeout": 240, **self.check}],
                "auditor": {"enabled": False},
                "retries_on_failure": 0,  # what it changes is flakes' own tests' to show; it would double the time
                **given.get("verification", {}),
            },
        }


def _write(folder: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
