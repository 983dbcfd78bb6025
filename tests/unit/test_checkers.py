"""The criterion checkers: files from the stored tree, commands through a scripted sandbox, calls through the driver."""

import asyncio
import json
import os
import re
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from adapters.checkers import files, plain_data
from adapters.checkers.calls import PART, Call, environment
from adapters.checkers.commands import difference
from adapters.checkers.python_call import judge
from adapters.checkers.registry import checkers
from adapters.checkers.search import SearchFailed, search
from adapters.checkers.trials import trials
from domain.base import sha256_hex
from domain.checks import Item, Observation, Outcome
from domain.criteria import CRITERION_TYPES, Criterion, Subjective
from domain.errors import Cause, Unavailable
from domain.messages import Image, SetupInput
from domain.order import Resources
from domain.ports import CheckContext, Finding, ProbeRequest, Progress, RunRequest, Served
from domain.python_criteria import PythonCall
from domain.tree import Entry, Manifest
from tests.fakes.evidence import MemoryStore
from tests.processes import children

CRITERION: TypeAdapter[Any] = TypeAdapter(Criterion)


def stored(store: MemoryStore, contents: Mapping[str, bytes | str]) -> str:
    """The digest of a stored manifest of `contents` by path: bytes are a file, a string is a link's target."""
    entries = [
        Entry(path=path, kind="link", target=what)
        if isinstance(what, str)
        else Entry(path=path, size=len(what), digest=store.put(what))
        for path, what in contents.items()
    ]
    return store.put(Manifest.of(entries).encode())


class Scripted:
    """A sandbox that observes what it was told to, and remembers what it was asked."""

    def __init__(self, observation: Observation | Unavailable) -> None:
        self.observation = observation
        self.requests: list[RunRequest] = []

    async def prepare(self, image: str, progress: Progress) -> Image:
        raise AssertionError("a checker prepares no image")

    async def setup(self, request: SetupInput, progress: Progress) -> Image:
        raise AssertionError("a checker sets nothing up")

    async def ready(self, image: Image, setup: SetupInput | None, progress: Progress) -> Image:
        raise AssertionError("a checker has its image")

    async def serve(self, served: RunRequest, probe: ProbeRequest) -> Served:
        raise AssertionError("nothing is to be served")

    async def run(self, request: RunRequest) -> Observation:
        self.requests.append(request)
        if isinstance(self.observation, Unavailable):
            raise self.observation
        return self.observation

    async def release(self, round: str) -> None:
        raise AssertionError("a checker releases nothing")

    async def reap(self) -> int:
        raise AssertionError("a checker reaps nothing")


class InPlace(Scripted):
    """A sandbox without walls: runs the command in a folder, bounded by `timeout` as the real one is.

    `over`: the time is up as soon as that file is there, and not before.
    """

    def __init__(self, folder: Path, over: Path | None = None) -> None:
        super().__init__(Observation(exit_code=0))
        self.folder = folder
        self.over = over

    async def run(self, request: RunRequest) -> Observation:
        self.requests.append(request)
        process = await asyncio.create_subprocess_exec(
            *("timeout", "-k", "60", str(3600 if self.over else request.timeout), "sh", "-c", request.command),
            cwd=self.folder / request.cwd,
            env={"PATH": os.environ["PATH"], **request.env},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        if self.over:
            while process.returncode is None and not self.over.exists():  # noqa: ASYNC110 - a file has no event
                await asyncio.sleep(0.01)
            process.send_signal(signal.SIGALRM)  # by which `timeout` knows the time
        stdout, stderr = await process.communicate()
        assert process.returncode is not None
        return Observation(
            exit_code=process.returncode,
            stdout=stdout.decode(errors="replace"),
            stderr=stderr.decode(errors="replace"),
            timed_out=process.returncode in (124, 137),
        )


def item(type: str, params: dict[str, Any], **more: Any) -> Item:
    criterion = CRITERION.validate_python({"id": "AC-1", "type": type, "params": params, **more})
    return Item(spelling="criterion", criterion=criterion)


def context(tree: str = "0" * 64) -> CheckContext:
    return CheckContext(round="round/s/t/1", tree=tree, image="sha256:abc", resources=Resources())


def test_every_deterministic_type_has_its_checker_and_no_other() -> None:
    found = checkers(MemoryStore(), Scripted(Observation(exit_code=0)))
    assert set(found) == (set(CRITERION_TYPES) | {"pytest"}) - {"subjective"}
    assert all(type == checker.type for type, checker in found.items())
    assert not Subjective.deterministic


# file_exists, file_contains


async def on_files(contents: Mapping[str, bytes | str], type: str, params: dict[str, Any], **more: Any) -> Finding:
    store = MemoryStore()
    checker = checkers(store, Scripted(Observation(exit_code=0)))[type]
    return await checker.check(item(type, params, **more), context(stored(store, contents)))


TREE: dict[str, bytes | str] = {
    "src/solution.py": b'import math\n\ndef is_prime(n):\n    print(f"{i}")\n    return n > 1\n',
    "src/binary": b"\x00\xff\xfe prime \x80\n",
    "link": "src/solution.py",
    "folder": "src",
    "out": "../../etc/passwd",
    "absolute": "/etc/passwd",
    "loop": "loop",
}


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("src/solution.py", "ok"),
        ("src", "ok"),
        ("link", "ok"),
        ("folder/solution.py", "ok"),
        ("src/missing.py", "not_found"),
        ("src/solution.py/x", "not_found"),
        ("out", "not_found"),
        ("absolute", "not_found"),
        ("loop", "not_found"),
    ],
)
async def test_file_exists_follows_links_inside_the_tree_only(path: str, code: str) -> None:
    finding = await on_files(TREE, "file_exists", {"path": path})
    assert (finding.code, finding.outcome) == (code, Outcome.PASSED if code == "ok" else Outcome.FAILED)
    assert finding.out_of_process
    assert path in finding.text


async def test_file_exists_tells_where_a_link_ended_and_the_content() -> None:
    finding = await on_files(TREE, "file_exists", {"path": "link"})
    content = TREE["src/solution.py"]
    assert isinstance(content, bytes)
    assert finding.seen["entry"] == {
        "kind": "file",
        "path": "src/solution.py",
        "size": len(content),
        "digest": sha256_hex(content),
    }


@pytest.mark.parametrize(
    ("path", "pattern", "code"),
    [
        ("src/solution.py", "def is_prime", "ok"),
        ("src/solution.py", "^def is_prime.*:$", "ok"),
        ("src/solution.py", r"\Adef is_prime", "no_match"),
        ("src/solution.py", r'print\(f"{i}"\)', "ok"),
        ("link", "import math", "ok"),
        ("src/binary", "prime", "ok"),
        ("src/binary", "\ufffd", "ok"),
        ("src/solution.py", "no such thing", "no_match"),
        ("src", "x", "is_directory"),
        ("src/missing.py", "x", "not_found"),
        ("out", "root", "not_found"),
    ],
)
async def test_file_contains(path: str, pattern: str, code: str) -> None:
    finding = await on_files(TREE, "file_contains", {"path": path, "pattern": pattern})
    assert (finding.code, finding.outcome) == (code, Outcome.PASSED if code == "ok" else Outcome.FAILED)
    assert finding.out_of_process


async def test_file_contains_shows_the_first_matching_line() -> None:
    finding = await on_files(TREE, "file_contains", {"path": "src/solution.py", "pattern": r"is_prime\("})
    assert finding.text == "src/solution.py:3: 'def is_prime(n):'"
    assert finding.seen["match"] == {"line": 3, "text": "def is_prime(n):"}


async def test_a_pattern_with_braces_is_not_fuzzy() -> None:
    finding = await on_files({"a.py": b'print(f"")'}, "file_contains", {"path": "a.py", "pattern": r'print\(f"{i}"\)'})
    assert finding.code == "no_match"


async def test_a_catastrophic_pattern_ends_in_time() -> None:
    started = time.monotonic()
    finding = await on_files(
        {"a": b"a" * 64 + b"!"}, "file_contains", {"path": "a", "pattern": "(a|a)*$x"}, timeout=0.5
    )
    assert (finding.outcome, finding.code) == (Outcome.FAILED, "verification_timeout")
    assert finding.duration_ms >= 500
    assert time.monotonic() - started < 60, "it would take years"


async def test_a_file_too_large_to_search_failed_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LARGEST", 3)
    finding = await on_files({"a": b"aaaa"}, "file_contains", {"path": "a", "pattern": "a"})
    assert (finding.outcome, finding.code) == (Outcome.FAILED, "file_too_large")
    assert "4 bytes" in finding.text


async def test_a_search_without_an_answer_says_why() -> None:
    with pytest.raises(SearchFailed, match=re.escape("error: unterminated character set")):
        await search("[", b"", 10)


async def test_a_cancelled_search_leaves_no_process() -> None:
    before = children()
    task = asyncio.create_task(search("(a|a)*$x", b"a" * 64 + b"!", 3600))
    async with asyncio.timeout(60):
        while children() <= before:  # noqa: ASYNC110 - a process that begins has no event
            await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert children() <= before


@pytest.mark.parametrize("type", ["file_exists", "file_contains"])
async def test_a_tree_that_the_store_lost_is_no_verdict(type: str) -> None:
    params = {"path": "a", "pattern": "a"} if type == "file_contains" else {"path": "a"}
    with pytest.raises(Unavailable) as caught:
        await checkers(MemoryStore(), Scripted(Observation(exit_code=0)))[type].check(item(type, params), context())
    assert caught.value.cause is Cause.STORE_UNAVAILABLE


# command_exit_zero, command_output


async def on_observation(observation: Observation, type: str, params: dict[str, Any], **more: Any) -> Finding:
    checker = checkers(MemoryStore(), Scripted(observation))[type]
    return await checker.check(item(type, {"command": "run", **params}, **more), context())


async def test_a_command_is_asked_for_as_the_criterion_says() -> None:
    sandbox = Scripted(Observation(exit_code=0, stdout="out", stderr="err", duration_ms=7))
    params = {"command": "make check", "cwd": "sub", "env": {"A": "b"}}
    finding = await checkers(MemoryStore(), sandbox)["command_exit_zero"].check(
        item("command_exit_zero", params, timeout=9.0), context("f" * 64)
    )
    assert sandbox.requests == [
        RunRequest(
            key=f"round/s/t/1/AC-1/{'f' * 16}",
            round="round/s/t/1",
            tree="f" * 64,
            image="sha256:abc",
            command="make check",
            cwd="sub",
            env={"A": "b"},
            timeout=9.0,
            resources=Resources(),
        )
    ]
    assert (finding.outcome, finding.exit_code, finding.stdout, finding.stderr, finding.duration_ms) == (
        *(Outcome.PASSED, 0, "out", "err", 7),
    )
    assert not finding.out_of_process
    assert finding.seen["observation"] == sandbox.observation.model_dump(mode="json")  # type: ignore[union-attr]  # no error was scripted


@pytest.mark.parametrize(
    ("observation", "code"),
    [
        (Observation(exit_code=0), "ok"),
        (Observation(exit_code=1), "exit_code"),
        (Observation(exit_code=127), "command_not_found"),
        (Observation(exit_code=0, timed_out=True), "verification_timeout"),
    ],
)
async def test_command_exit_zero(observation: Observation, code: str) -> None:
    finding = await on_observation(observation, "command_exit_zero", {})
    assert finding.code == code


@pytest.mark.parametrize("type", ["command_exit_zero", "command_output", "python_call"])
async def test_an_engine_that_is_gone_is_no_verdict(type: str) -> None:
    params: dict[str, dict[str, Any]] = {
        "command_exit_zero": {"command": "x"},
        "command_output": {"command": "x", "stdout": ""},
        "python_call": {"module": "m", "function": "f", "cases": [{"returns": 1}]},
    }
    gone = Unavailable(Cause.ENGINE_UNAVAILABLE, "no engine", "start it")
    with pytest.raises(Unavailable):
        await checkers(MemoryStore(), Scripted(gone))[type].check(item(type, params[type]), context())


@pytest.mark.parametrize(
    ("observation", "params", "code"),
    [
        (Observation(exit_code=0, stdout="True\n"), {"stdout": "True\n"}, "ok"),
        (Observation(exit_code=0, stdout="True"), {"stdout": "True\n"}, "output_mismatch"),
        (Observation(exit_code=0, stdout="True\r\n"), {"stdout": "True\n"}, "output_mismatch"),
        (Observation(exit_code=0, stdout="x"), {"stdout": ""}, "output_mismatch"),
        (Observation(exit_code=0, stderr="e"), {"stdout": ""}, "ok"),
        (Observation(exit_code=0, stderr="e"), {"stderr": "f"}, "output_mismatch"),
        (Observation(exit_code=3, stderr="e"), {"stderr": "e", "exit_code": 3}, "ok"),
        (Observation(exit_code=0, stdout="a"), {"stdout": "a", "exit_code": 3}, "exit_code"),
        (Observation(exit_code=1, stdout="a"), {"stdout": "a"}, "exit_code"),
        (Observation(exit_code=0, stdout="a", timed_out=True), {"stdout": "a"}, "verification_timeout"),
        (Observation(exit_code=0, stdout="1 passed\nbye\n"), {"stdout_pattern": r"^\d+ passed$"}, "ok"),
        (Observation(exit_code=0, stdout="passed\n"), {"stdout_pattern": r"\d+ passed"}, "output_mismatch"),
        (Observation(exit_code=0, stdout="a"), {"stdout": "a", "stderr_pattern": "warn"}, "output_mismatch"),
        (Observation(exit_code=0, stdout="a", truncated=True), {"stdout": "a"}, "output_truncated"),
        (Observation(exit_code=0, stdout="a..z", truncated=True), {"stdout_pattern": "z$"}, "ok"),
    ],
)
async def test_command_output(observation: Observation, params: dict[str, Any], code: str) -> None:
    finding = await on_observation(observation, "command_output", params)
    assert (finding.code, finding.outcome) == (code, Outcome.PASSED if code == "ok" else Outcome.FAILED)
    assert finding.out_of_process


async def test_a_catastrophic_pattern_on_output_ends_in_time() -> None:
    seen = Observation(exit_code=0, stdout="a" * 64)
    finding = await on_observation(seen, "command_output", {"stdout_pattern": "(a|a)*$x"}, timeout=0.5)
    assert finding.code == "verification_timeout"


def test_a_difference_is_shown_escaped_and_short() -> None:
    assert difference("stdout", "True\n", "\x1b[31mFalse\n") == (r"stdout: expected 'True\n', seen '\x1b[31mFalse\n'")
    long = difference("stdout", "a" * 10_000 + "b", "a" * 10_000 + "c" * 10_000)
    assert "differs at character 10000" in long
    assert len(long) < 700
    assert "ab'" in long


# python_call: the driver, for real, and the judgement of what it wrote


async def on_module(
    folder: Path, source: str, cases: list[dict[str, Any]], function: str = "f", over: Path | None = None, **more: Any
) -> Finding:
    (folder / "src").mkdir()
    (folder / "src" / "solution.py").write_text(source)
    params = {"path": "src", "module": "solution", "function": function, "cases": cases}
    return await checkers(MemoryStore(), InPlace(folder, over))["python_call"].check(
        item("python_call", params, **more), context()
    )


ECHO = "def f(*args, **kwargs):\n    return [list(args), kwargs] if kwargs else args[0]\n"
PLAIN: list[Any] = [
    *(None, True, False, 0, 1, -1, 2**64, 1.0, 0.5, -0.0, 1e300, "", "text", 'é😀\x00\n"', [], {}),
    *([1, [2, [3]]], {"a": {"b": [None]}}, {"dict": []}, {"other": "x"}, {"float": "nan"}),
]


async def test_plain_data_comes_back_as_it_went(tmp_path: Path) -> None:
    cases = [{"args": [value], "returns": value} for value in PLAIN]
    cases.append({"args": [1], "kwargs": {"key": "v"}, "returns": [[1], {"key": "v"}]})
    finding = await on_module(tmp_path, ECHO, cases)
    assert (finding.outcome, finding.text) == (Outcome.PASSED, f"{len(cases)} of {len(cases)} cases passed")
    assert finding.out_of_process
    assert finding.exit_code == 0


async def test_what_is_expected_never_goes_in(tmp_path: Path) -> None:
    case: dict[str, Any] = {"args": ["in"], "returns": "SECRET-VALUE"}
    params = {"module": "solution", "function": "f", "cases": [case, {"args": [], "raises": "SecretError"}]}
    criterion = item("python_call", params).criterion
    assert isinstance(criterion, PythonCall)
    told = environment("src", [trial.call for trial in trials(criterion.params, 0)])
    assert told is not None
    assert "in" in told["COUNTERSIGN_CASES_0"]
    assert not any("SECRET-VALUE" in text or "SecretError" in text for text in told.values())


def python_call(cases: list[dict[str, Any]]) -> PythonCall:
    criterion = item("python_call", {"module": "m", "function": "f", "cases": cases}).criterion
    assert isinstance(criterion, PythonCall)
    return criterion


async def test_many_arguments_go_in_parts_and_too_many_not_at_all(tmp_path: Path) -> None:
    told = environment(".", [Call("m", "f", ["x" * 700_000])])
    assert told is not None
    assert max(map(len, told.values())) <= PART
    finding = await on_module(tmp_path, "f = len", [{"args": ["x" * 700_000], "returns": 700_000}])
    assert finding.outcome is Outcome.PASSED
    many = {"module": "m", "function": "f", "cases": [{"args": ["\u00e9" * 400_000], "returns": 1}]}
    sandbox = Scripted(Observation(exit_code=0))
    finding = await checkers(MemoryStore(), sandbox)["python_call"].check(item("python_call", many), context())
    assert (finding.code, sandbox.requests) == ("cases_too_large", [])


@pytest.mark.parametrize(
    ("returned", "expected", "shown"),
    [
        ("1", True, "returned 1, expected True"),
        ("True", 1, "returned True, expected 1"),
        ("1.0", 1, "returned 1.0, expected 1"),
        ("1", 1.0, "returned 1, expected 1.0"),
        ("0", None, "returned 0, expected None"),
        ("None", False, "returned None, expected False"),
        ("(1, 2)", [1, 2], "returned <tuple>, expected [1, 2] (only None, bool"),
        ("{1}", [1], "returned <set>"),
        ("b'x'", "x", "returned <bytes>"),
        ("[1, (2,)]", [1, [2]], "first difference at [1]"),
        ("{'a': [1, 2]}", {"a": [1, 3]}, "first difference at ['a'][1]"),
        ("{'a': 1, 'b': 2}", {"a": 1}, "returned {'a': 1, 'b': 2}, expected {'a': 1}"),
        ("{1: 2}", {"1": 2}, "returned <dict with a key that is no str>"),
        ("float('nan')", None, "returned nan"),
        ("float('-inf')", 1.0, "returned -inf"),
        ("'\\ud800'", "x", r"returned '\ud800'"),
        ("10 ** 5000", 1, "returned <int with more than 13000 bits>"),
        ("(lambda: 1)", 1, "returned <function>"),
        (
            "type('int', (int,), {'__eq__': lambda s, o: True, '__hash__': int.__hash__})(1)",
            1,
            "returned <solution.int>",
        ),
        ("type('Any', (), {'__eq__': lambda s, o: True, '__repr__': lambda s: '1'})()", 1, "returned <solution.Any>"),
        ("[type('S', (str,), {})('a')]", ["a"], "first difference at [0]"),
    ],
)
async def test_types_are_strict(tmp_path: Path, returned: str, expected: Any, shown: str) -> None:
    finding = await on_module(tmp_path, f"def f():\n    return {returned}\n", [{"returns": expected}])
    assert (finding.outcome, finding.code) == (Outcome.FAILED, "wrong_result")
    assert shown in finding.text
    assert finding.text.startswith("f(): ")
    assert finding.text.endswith("; 0 of 1 cases passed")


async def test_the_first_failing_case_is_named_with_what_it_printed(tmp_path: Path) -> None:
    source = (
        "def is_prime(n):\n    print('looking at', n)\n"
        "    if n == 0:\n        raise ValueError('no zero')\n    return n in (2, 3, 4)\n"
    )
    cases = [{"args": [n], "returns": n in (2, 3)} for n in (2, 0, 4, 3)]
    finding = await on_module(tmp_path, source, cases, function="is_prime")
    assert finding.text == "is_prime(0): raised ValueError('no zero'), expected False; 2 of 4 cases passed"
    assert finding.stdout == "looking at 0\n"
    assert finding.stderr.rstrip().endswith("ValueError: no zero")


@pytest.mark.parametrize(
    ("body", "raises", "passes"),
    [
        ("raise TypeError('x')", "TypeError", True),
        ("raise TypeError('x')", "builtins.TypeError", True),
        ("raise TypeError('x')", "Exception", True),
        ("raise Own('x')", "Own", True),
        ("raise Own('x')", "solution.Own", True),
        ("raise Own('x')", "LookupError", True),
        ("raise Own('x')", "other.Own", False),
        ("raise Own('x')", "TypeError", False),
        ("raise Own('x')", "object", False),
        ("raise SystemExit(0)", "SystemExit", True),
        ("raise SystemExit(0)", "TypeError", False),
        ("return 'TypeError'", "TypeError", False),
        ("return TypeError", "TypeError", False),
        ("f()", "RecursionError", True),
    ],
)
async def test_an_exception_is_known_by_its_class_or_a_base(
    tmp_path: Path, body: str, raises: str, passes: bool
) -> None:
    source = f"class Own(KeyError):\n    pass\n\ndef f():\n    {body}\n"
    finding = await on_module(tmp_path, source, [{"raises": raises}])
    assert finding.outcome is (Outcome.PASSED if passes else Outcome.FAILED)
    if not passes:
        assert f"expected {raises} to be raised" in finding.text


async def test_a_dotted_function_and_its_module_are_found_on_the_path_that_is_given(tmp_path: Path) -> None:
    source = "class A:\n    @staticmethod\n    def double(n):\n        return n * 2\n"
    finding = await on_module(tmp_path, source, [{"args": [2], "returns": 4}], function="A.double")
    assert finding.outcome is Outcome.PASSED


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("raise ImportError('nothing here')", "import_failed"),
        ("import sys; sys.exit(0)", "import_failed"),
        ("def f(:", "import_failed"),
        ("g = 1", "no_function"),
        ("f = 3", "wrong_result"),
        ("import os; os._exit(0)", "no_result"),
    ],
)
async def test_a_module_that_cannot_be_used_failed(tmp_path: Path, source: str, code: str) -> None:
    finding = await on_module(tmp_path, source, [{"returns": None}, {"raises": "ImportError"}])
    assert (finding.outcome, finding.code) == (Outcome.FAILED, code)


@pytest.mark.parametrize(
    ("body", "code", "shown"),
    [
        ("sys.exit(0)", "wrong_result", "raised SystemExit(0)"),
        ("os._exit(0)", "no_result", "ended with exit code 0 before it answered"),
        ("os._exit(3)", "no_result", "ended with exit code 3 before it answered"),
        ("ctypes.string_at(0)", "no_result", "was killed by SIGSEGV"),
        ("os.kill(os.getpid(), 9)", "no_result", "was killed by SIGKILL"),
        ("os.kill(os.getppid(), 9)", "exit_code", "exit code"),
        ("os.kill(os.getppid(), 15); time.sleep(9)", "no_result", "cut short"),
        ("os.closerange(0, 100); return True", "no_result", "before it answered"),
        ("pid = os.fork(); pid and os.waitpid(pid, 0); return True", "no_result", "something else than one result"),
        ("return 'x' * 100_000_000", "result_too_large", "returned more than is taken"),
        ("return [[0] * 1000] * 100_000", "result_too_large", "returned more than is taken"),
        ("a = []; a.append(a); return a", "wrong_result", "returned [[[[[...]]]]]"),
        (
            "[os.write(n, b'[\"returned\", true]') for n in range(3, 9) if ok(n)]; return True",
            "no_result",
            "one result",
        ),
        ("os.write(ours(), b'x' * 9_000_000); return True", "result_too_large", "more than is taken"),
        ("os.write(ours(), b'[\"returned\"]'); os._exit(0)", "no_result", "something else"),
        ("os.write(ours(), b'[\"returned\", NaN]'); os._exit(0)", "no_result", "something else"),
        ('os.write(ours(), b\'["returned", {"a": 1}]\'); os._exit(0)', "no_result", "something else"),
        ("os.write(ours(), b'[' * 99_999); os._exit(0)", "no_result", "something else"),
        ("os.write(ours(), b'[\"returned\", ' + b'9' * 5000 + b']'); os._exit(0)", "no_result", "something else"),
        ("open(f'/proc/{os.getppid()}/fd/1', 'w').write(FORGED); return True", "no_result", "not the one document"),
        ("builtins.isinstance = builtins.type = None; return 3", "no_result", "before it answered"),
        ("json.dumps = lambda *a, **k: '[]'; return 3", "wrong_result", "returned 3"),
    ],
)
async def test_code_that_does_what_it_likes_has_not_passed(tmp_path: Path, body: str, code: str, shown: str) -> None:
    source = f"""
import builtins, ctypes, json, os, stat, sys, time
FORGED = json.dumps({{"results": [{{"answer": '["returned", true]'}}], "running": None, "full": False}})
def ok(fd):
    try:
        return stat.S_ISFIFO(os.fstat(fd).st_mode)
    except OSError:
        return False
def ours():
    return next(fd for fd in range(3, 99) if ok(fd))
def f():
    {body}
"""
    finding = await on_module(tmp_path, source, [{"returns": True}])
    assert (finding.outcome, finding.code) == (Outcome.FAILED, code), finding.text
    assert shown in finding.text


@pytest.mark.parametrize(
    "body",
    [
        "print('garbage'); os.write(1, b'{}'); os.write(2, b'[]'); return n",
        "sys.stdout.write('x' * 5_000_000); return n",
        "os.fork() or (os.setsid(), time.sleep(1), os._exit(0)); return n",
        "sys.stdout = sys.stderr = None; sys.setrecursionlimit(80); return n",
        "atexit.register(os._exit, 3); threading.Thread(target=time.sleep, args=(300,)).start(); return n",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); return n",
    ],
)
async def test_odd_code_with_the_right_answer_passes_in_time(tmp_path: Path, body: str) -> None:
    source = f"import atexit, os, signal, sys, threading, time\ndef f(n):\n    {body}\n"
    started = time.monotonic()
    finding = await on_module(tmp_path, source, [{"args": [n], "returns": n} for n in range(3)])
    assert finding.outcome is Outcome.PASSED, finding.text
    assert time.monotonic() - started < 150, "nothing of it is waited for"


async def test_a_case_cannot_spoil_the_next(tmp_path: Path) -> None:
    body = "global n; n += 1; json.loads = builtins.len = None; return n"
    source = f"import json, builtins\nn = 0\ndef f():\n    {body}\n"
    finding = await on_module(tmp_path, source, [{"returns": 1}, {"returns": 1}])
    assert finding.outcome is Outcome.PASSED, finding.text


@pytest.mark.parametrize(
    ("ignoring", "meanwhile"),
    [("", "pass"), ("signal.signal(signal.SIGTERM, signal.SIG_IGN)", "time.sleep(1)")],
    ids=["busy", "asleep and deaf"],
)
async def test_a_call_that_never_returns_is_named(tmp_path: Path, ignoring: str, meanwhile: str) -> None:
    source = "import signal, time\ndef f(n):\n"
    over = tmp_path / "over"
    source += f"    {ignoring}\n    while n == 7:\n        open({str(over)!r}, 'w').close()\n"
    source += f"        {meanwhile}\n    return n\n"
    finding = await on_module(
        tmp_path, source, [{"args": [n], "returns": n} for n in (1, 7, 2)], timeout=5.0, over=over
    )
    assert (finding.outcome, finding.code) == (Outcome.FAILED, "verification_timeout")
    assert finding.text == "f(7): still running after 5 s"


async def test_more_results_than_are_kept_say_so(tmp_path: Path) -> None:
    cases = [{"args": [400_000], "returns": ""} for _ in range(3)]
    finding = await on_module(tmp_path, "def f(n):\n    return 'x' * n\n", cases)
    assert finding.code == "result_too_large"
    assert finding.text == "the results of 3 cases together are more than is kept of them"


@pytest.mark.parametrize("count", [250, pytest.param(1000, marks=pytest.mark.slow)])
async def test_many_cases_are_quick(tmp_path: Path, count: int) -> None:
    before = os.times()
    finding = await on_module(tmp_path, ECHO, [{"args": [n], "returns": n} for n in range(count)])
    assert finding.outcome is Outcome.PASSED, finding.text
    after = os.times()
    spent = (after.children_user - before.children_user, after.children_system - before.children_system)
    assert 0 < sum(spent) < 0.03 * count, "of a processor, which others may need at the same time"


async def test_what_was_seen_is_enough_to_judge_again(tmp_path: Path) -> None:
    finding = await on_module(tmp_path, ECHO, [{"args": [1], "returns": 1}, {"args": [2], "returns": 3}])
    stored = json.loads(json.dumps(finding.seen))
    criterion = CRITERION.validate_python(stored["criterion"])
    observed = Observation.model_validate(stored["observation"])
    verdict, _ = judge(trials(criterion.params, 0), observed, criterion.timeout)
    assert verdict == (finding.outcome, finding.code, finding.text)


@pytest.mark.parametrize(
    "stdout",
    [
        "",
        "{}",
        "not json",
        '{"results": [], "running": null, "full": false}',
        '{"results": [{"answer": "[\\"returned\\", 1]"}], "running": 0, "full": false}',
        '{"results": [{"answer": "[\\"returned\\", 1]"}], "running": null, "full": false} {}',
        '{"results": [{"answer": "[\\"returned\\", 1]"}], "running": -5, "full": false}',
        '{"results": ' + "[" * 100_000,
    ],
)
def test_a_document_that_is_not_whole_is_no_result(stdout: str) -> None:
    verdict, _ = judge(trials(python_call([{"returns": 1}]).params, 0), Observation(exit_code=0, stdout=stdout), 60)
    assert verdict[:2] == (Outcome.FAILED, "no_result")


def test_comparing_and_showing_what_is_deep_or_strange_ends() -> None:
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    assert plain_data.difference(deep, deep) is None
    assert plain_data.difference(deep, [1]) == "[0]"
    assert len(plain_data.shown(deep)) < 300
    assert len(plain_data.shown({str(n): "x" * 1000 for n in range(1000)})) <= 300
    assert plain_data.printable("a\x1b\n\ud800é") == "a\\x1b\\n\\ud800é"
