"""Records what pytest collected and what became of each test, and writes it as one line; it judges nothing.

A plugin for pytest 7 or later on Python 3.9 or later. It runs in the container, from a folder beside the tree, under a
name that nobody can guess (`recording.py` puts it there); nothing of ours imports it. It is there before any code of
the tree is, and takes what it was told out of the environment, so that a pytest which a test starts is not recorded.

In a control run it also changes what it is told to change, before anything is collected, keeps only the tests it is
told to keep, and puts a canary behind them: a test that must fail.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import pytest

REASONS = 60  # failures whose reason is told
REASON = 400  # characters of one
BY_SEVERITY = "pXxsfe"

_dumps, _compress, _encode, _write, _digest = json.dumps, zlib.compress, base64.b64encode, os.write, hashlib.sha256

Job = dict[str, Any]


class Recorder:
    """What was seen by one process of pytest; in a worker of xdist, what its controller cannot see."""

    def __init__(self) -> None:
        self.place = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - before pathlib can be patched
        self.job: Job = _told()
        self.own = bool(self.job)
        self.process = os.getpid()
        self.channel = _channel() if self.own else -1
        self.tests: dict[str, list[Any]] = {}
        self.order: list[str] = []
        self.reasons: dict[str, str] = {}
        self.uncollected: dict[str, str] = {}
        self.left_out: dict[str, str] = {}
        self.deselected: list[str] = []
        self.altered: list[str] = []
        self.canary = ""
        self.config: dict[str, Any] = {}
        self.status = -1
        _hide(__name__, self.place)
        if self.own:
            self.say("began", "")
            self.alter()

    @property
    def root(self) -> Path:
        """Where the tree is."""
        return Path(self.job["root"])

    def say(self, kind: str, text: str) -> None:
        """Write to the descriptor that nobody else was given; a copy of this process has nothing to say."""
        if os.getpid() != self.process:
            return
        data = f"\x1ecountersign:{self.job['nonce']}:{kind}:{text}\x1e".encode("ascii")
        while data:
            try:
                data = data[_write(self.channel, data) :]
            except BlockingIOError:
                time.sleep(0.01)

    def alter(self) -> None:
        """Make the edits of the control, unless another process of the same command has made them."""
        for name, edits in self.job["edits"].items():
            path = self.root / name
            data = path.read_bytes()
            if self.sum(data) != self.job["files"][name]:
                for start, end, text in sorted(edits, reverse=True):
                    data = data[:start] + text.encode("utf-8") + data[end:]
                path.write_bytes(data)

    @staticmethod
    def sum(data: bytes) -> str:
        """The first half of the digest by which the job names a file's content."""
        return _digest(data).hexdigest()[:32]

    def relative(self, path: Any) -> str:
        """A path as the tree has it, empty outside of it."""
        try:
            return Path(os.path.realpath(str(path))).relative_to(self.root).as_posix()
        except ValueError:
            return ""

    def argument(self, text: str) -> str:
        """A path or id that pytest was given, as the tree has it; the whole tree for what is no path."""
        path, separator, test = text.partition("::")
        return (self.relative(path) if Path(path).exists() else "") + separator + test or "."

    def compare(self, name: str) -> None:
        """Whether a file is still what the frozen tree has."""
        expected = self.job["files"].get(name)
        if expected and name not in self.altered:
            try:
                same = self.sum((self.root / name).read_bytes()) == expected
            except OSError:
                same = False
            if not same:
                self.altered.append(name)

    def report(self, report: Any) -> None:
        """One phase of one test: setup, call or teardown. The worst of them is what became of it."""
        if report.outcome == "rerun":
            self.tests.pop(report.nodeid, None)
            return
        seen = self.tests.setdefault(report.nodeid, ["", 0.0])
        state = _state(report)
        if state != "p" or report.when == "call":
            seen[0] = max(seen[0] or "p", state, key=BY_SEVERITY.find)
        seen[1] += getattr(report, "duration", 0.0)
        if state in "fe" and (len(self.reasons) < REASONS or self.is_canary(report.nodeid)):
            self.reasons.setdefault(report.nodeid, _reason(report))

    def is_canary(self, nodeid: str) -> bool:
        """Whether the id is that of the canary."""
        canary = self.job.get("canary")
        return canary is not None and canary["name"] in nodeid

    def document(self) -> dict[str, Any]:
        """All that was seen, in the order of collection."""
        known = dict.fromkeys(self.order)
        known.update(dict.fromkeys(self.tests))
        return {
            "tests": [[name, *_rounded(self.tests.get(name))] for name in known],
            "reasons": self.reasons,
            "uncollected": self.uncollected,
            "left_out": self.left_out,
            "deselected": self.deselected,
            "altered": self.altered,
            "config": self.config,
            "status": self.status,
        }


def _told() -> Job:
    """The job, taken out of the environment; empty in a worker of xdist, which gets it from its controller."""
    root = os.environ.pop("COUNTERSIGN_ROOT", "")
    os.environ.pop("COUNTERSIGN_PLACE", None)
    parts = int(os.environ.pop("COUNTERSIGN_JOB", "0"))
    text = "".join(os.environ.pop(f"COUNTERSIGN_JOB_{part}") for part in range(parts))
    if not text:
        return {}
    job: Job = json.loads(zlib.decompress(base64.b64decode(text)))
    job["root"] = os.path.realpath(root)
    return job


def _channel() -> int:
    """A copy of the descriptor that the command's shell opened, or of standard output where that did not arrive."""
    try:
        kept = os.dup(9)
    except OSError:
        return os.dup(1)
    os.close(9)
    return kept


def _hide(name: str, place: str) -> None:
    """Out of the environment, and to where no import looks first; a worker of xdist imports it from there."""
    options = os.environ.pop("PYTEST_ADDOPTS", "").replace(f"-p {name}", "").strip()
    if options:
        os.environ["PYTEST_ADDOPTS"] = options
    paths = [path for path in os.environ.pop("PYTHONPATH", "").split(os.pathsep) if path != place]
    if paths and paths != [""]:
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    sys.path[:] = [path for path in sys.path if path != place] + [place]


def _state(report: Any) -> str:
    """A letter: passed, skipped, xfailed, xpassed (X), failed, or error, which is a failure outside of the test."""
    if report.outcome == "passed":
        return "X" if hasattr(report, "wasxfail") and report.when == "call" else "p"
    if report.outcome == "skipped":
        return "x" if hasattr(report, "wasxfail") else "s"
    return "f" if report.when == "call" else "e"


def _rounded(seen: Any) -> tuple[str, int]:
    return (seen[0] or "n", round(seen[1] * 1000)) if seen else ("n", 0)


def _reason(report: Any) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else str(report.longrepr)[-REASON:]
    return str(text)[:REASON]


_recorder = Recorder()


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: Any) -> None:
    """In a control run, nothing ends it early and tracebacks are cheap; in a worker of xdist, take the job."""
    if _is_worker(config):
        _recorder.job = json.loads(config.workerinput["countersign"])
    if _recorder.job.get("canary"):
        quiet = {
            "maxfail": 0,
            "stepwise": False,
            "stepwise_skip": False,
            "lf": False,
            "failedfirst": False,
            "reruns": 0,
        }
        for name, value in {**quiet, "tbstyle": "line", "continue_on_collection_errors": True}.items():
            setattr(config.option, name, value)


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """How the tests are found and chosen here, and where from."""
    config = session.config
    if not hasattr(config, "workerinput"):
        chosen = [getattr(config.option, name, None) for name in ("keyword", "markexpr", "deselect")]
        _recorder.config = {
            "root": _recorder.relative(config.rootpath) or ("." if config.rootpath == _recorder.root else "outside"),
            "args": [_recorder.argument(str(arg)) for arg in config.args],
            "chooses": any(chosen),
            **{name: list(config.getini(name)) for name in ("python_files", "python_classes", "python_functions")},
        }


def pytest_collectstart(collector: Any) -> None:
    """Just before a file is read for its tests."""
    if isinstance(collector, pytest.File):
        _recorder.compare(_recorder.relative(collector.path))


def pytest_collectreport(report: Any) -> None:
    """A file, or a class, whose tests are not known."""
    if report.outcome == "failed":
        _recorder.uncollected[report.nodeid] = _reason(report)
    elif report.outcome == "skipped":
        _recorder.left_out[report.nodeid] = str(report.longrepr)[:REASON]


def pytest_deselected(items: Any) -> None:
    """Tests that options, or plugins, leave out."""
    _recorder.deselected += [item.nodeid for item in items]


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_collection_modifyitems(session: Any, items: Any) -> Any:
    """Outermost: the order in which tests were found, whoever mixes it, and last what the control asks for."""
    found = [item.nodeid for item in items]
    yield
    canary = _recorder.job.get("canary")
    if canary or _recorder.job.get("keep"):
        keep = {name: set(functions) for name, functions in _recorder.job["keep"].items()}
        items[:] = [item for item in items if _function(item.nodeid) in keep.get(_recorder.relative(item.path), ())]
    if canary:
        items += _canary(session, items, canary)
    last = {item.nodeid for item in items}
    _recorder.order = [name for name in found if name in last]


def _function(nodeid: str) -> str:
    """What a test is called in its file, without its parameters."""
    return nodeid.partition("::")[2].partition("[")[0].partition("@")[0]


def _canary(session: Any, items: Any, canary: dict[str, str]) -> list[Any]:
    """A test in a file of its own, beside one of the others, that no fixture of theirs keeps from failing."""
    folder = Path(str(items[0].path)).parent if items else Path(session.config.rootpath)
    name, token = canary["name"], canary["token"]
    pattern = session.config.getini("python_files")[0]
    path = folder / (pattern if pattern.endswith(".py") and set(pattern).isdisjoint("/?[") else "*.py").replace(
        "*", name
    )
    function = session.config.getini("python_functions")[0].strip("*") + name
    beside = folder / f"{name}.{os.getpid()}"
    beside.write_text(f'def {function}():\n    assert "{token}" == "", "{token}"\n', encoding="ascii")
    beside.replace(path)
    found: list[Any] = list(pytest.Module.from_parent(session, path=path).collect())
    for item in found:
        item.fixturenames.clear()
    return found


def pytest_collection_finish() -> None:
    """Importing one test file must not have changed another, nor what tests read."""
    for name in _recorder.job["files"]:
        _recorder.compare(name)


def pytest_runtest_logreport(report: Any) -> None:
    """What came of one phase of a test; with xdist the controller hears of those of all workers."""
    _recorder.report(report)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """The run was not cut short."""
    _recorder.status = int(exitstatus)
    if hasattr(session.config, "workeroutput"):
        seen = {"order": _recorder.order, "deselected": _recorder.deselected, "altered": _recorder.altered}
        session.config.workeroutput["countersign"] = _dumps(seen)


def pytest_unconfigure(config: pytest.Config) -> None:
    """The end: one line."""
    if not _is_worker(config) and _recorder.own:
        data = _dumps(_recorder.document(), separators=(",", ":")).encode("ascii")
        _recorder.say("ended", _encode(_compress(data, 9)).decode("ascii"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """Workers load this plugin, too; no test runs in this process, so it can be in the environment again."""
    own = [f"-p {__name__}", os.environ.get("PYTEST_ADDOPTS", "")]
    os.environ["PYTEST_ADDOPTS"] = " ".join(own).strip()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """What a worker is told."""
    node.workerinput["countersign"] = _dumps(_recorder.job)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(ids: Any) -> None:
    """Every worker has the same tests."""
    _recorder.order = _recorder.order or list(ids)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """What a worker saw that its controller cannot."""
    seen = json.loads(getattr(node, "workeroutput", {}).get("countersign", "{}"))
    if seen:
        _recorder.order = seen["order"]
        _recorder.deselected = seen["deselected"]
        _recorder.altered += [name for name in seen["altered"] if name not in _recorder.altered]
