"""A frozen workspace with a repair for it; and, as a program, a repair that is killed at each of its steps in turn.

`python -m tests.repairs FOLDER` prints how many steps there were; it fails where another run ends otherwise.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from adapters.snapshot.patterns import UNFINISHED
from adapters.snapshot.snapshots import FileSnapshots
from domain.fix_messages import Applied, ApplyInput
from domain.messages import FreezeInput
from domain.tree import Entry, Manifest
from tests.fakes.evidence import MemoryStore

OLD = {
    ".gitignore": b"build/\n",
    "src/a.py": b"def a():\n    return 1\n",
    "src/b.py": b"def b():\r\n    return 1\r\n",
    "src/deep/c.py": b"c = 1\n",
    "README.md": b"read\n",
}
NEW = {
    "src/a.py": b"def a():\n    return 2\n",
    "src/b.py": b"def b():\r\n    return 2\r\n",
    "src/deep/c.py": b"c = \xff\x00",
}
STEPS = ("open", "fstat", "stat", "read", "write", "fchmod", "fsync", "rename", "unlink", "close", "scandir")


class Desk:
    """A base, a workspace that is a copy of it, and what is stored of them."""

    def __init__(self, folder: Path, old: Mapping[str, bytes] = OLD) -> None:
        self.base, self.work = folder / "base", folder / "work"
        for path, content in old.items():
            (self.base / path).parent.mkdir(parents=True, exist_ok=True)
            (self.base / path).write_bytes(content)
        self.anew()
        self.store = MemoryStore()
        self.snapshots = FileSnapshots(self.store)
        self.look = FreezeInput(round="r", workspace=str(self.work), base=str(self.base))

    def anew(self) -> None:
        """The workspace as it was frozen."""
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.base, self.work)

    def frozen(self) -> str:
        """The workspace's manifest, by digest."""
        return self.snapshots.freeze(self.look, lambda _: None).head

    def repair(self, new: Mapping[str, bytes] = NEW, **changed: Entry | None) -> ApplyInput:
        """From the workspace as it is to the same with other content; `changed` entries instead, None for no entry."""
        head = self.frozen()
        entries = dict(Manifest.decode(self.store.get(head)).by_path)
        for path, content in new.items():
            found = {"digest": self.store.put(content), "size": len(content)}
            entries[path] = entries[path].model_copy(update=found)
        merged: dict[str, Entry | None] = {**entries, **changed}
        fixed = Manifest.of(entry for entry in merged.values() if entry is not None)
        return ApplyInput(freeze=self.look, head=head, fixed=self.store.put(fixed.encode()))

    def apply(self, request: ApplyInput) -> Applied:
        """Once."""
        return self.snapshots.apply(request, lambda _: None)

    def files(self) -> dict[str, bytes]:
        """What is in the workspace, links and what is no file left out."""
        found = (path for path in self.work.rglob("*") if path.is_file() and not path.is_symlink())
        return {str(path.relative_to(self.work)): path.read_bytes() for path in found}

    def unfinished(self) -> list[str]:
        """What is left of writing."""
        return [path for path in self.files() if UNFINISHED in path]


@contextmanager
def at_step(number: int, act: Callable[[], object]) -> Iterator[list[int]]:
    """Let `act` happen right before the `number`th call of the system in the block; how many there were so far."""
    real = {name: getattr(os, name) for name in STEPS}
    taken = [0]

    def counting(name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            taken[0] += 1
            if taken[0] == number:
                for other, function in real.items():
                    setattr(os, other, function)
                act()
            return real[name](*arguments, **named)

        return call

    for name in STEPS:
        setattr(os, name, counting(name))
    try:
        yield taken
    finally:
        for name, function in real.items():
            setattr(os, name, function)


def kill_at_each_step(desk: Desk) -> int:
    """Kill a run at its first call of the system, one at its second, and so on; after each, another one ends it."""
    request = desk.repair()
    step = 0
    while True:
        step += 1
        desk.anew()
        child = os.fork()
        if child == 0:
            with at_step(step, lambda: os.kill(os.getpid(), signal.SIGKILL)):
                os._exit(0 if desk.apply(request) == Applied(paths=tuple(NEW)) else 1)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        files = desk.files()
        assert all(files[path] in (OLD[path], NEW[path]) for path in NEW), f"step {step}: {files}"
        replaced = {path: (desk.work / path).stat().st_ino for path in NEW if files[path] == NEW[path]}
        assert desk.apply(request) == Applied(paths=tuple(NEW)), f"step {step}"
        assert desk.files() == OLD | NEW, f"step {step}"
        assert replaced.items() <= {path: (desk.work / path).stat().st_ino for path in NEW}.items(), f"step {step}"
        if status == 0:
            return step
        assert status == -signal.SIGKILL, f"step {step}: {status}"


if __name__ == "__main__":
    print(kill_at_each_step(Desk(Path(sys.argv[1]))))
