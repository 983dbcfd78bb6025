"""The checkers on real containers, above all calls into modules that cheat."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from adapters.checkers.calls import document_in
from adapters.checkers.registry import checkers
from adapters.sandbox.sandbox import DockerSandbox
from domain.checks import Item, Outcome
from domain.criteria import Criterion
from domain.order import Resources
from domain.ports import CheckContext, Finding
from domain.tree import Entry, Manifest
from tests.fakes.evidence import MemoryStore

IMAGES = Path(__file__).resolve().parents[2] / "sandbox_images"
CRITERION: TypeAdapter[Any] = TypeAdapter(Criterion)

Check = Callable[..., Awaitable[Finding]]

LIMITS = (6.0, 40.0, 120.0)
"""Seconds for cases of which one never ends: the next where an engine that stands still has not got past the first."""


@pytest.fixture(scope="module")
async def docker() -> AsyncIterator[tuple[DockerSandbox, MemoryStore, str]]:
    """The real sandbox with the Python image, and the store that it reads trees from."""
    store = MemoryStore()
    sandbox = DockerSandbox(store, images_dir=IMAGES, base_image=None, owner=f"test-{uuid.uuid4().hex}")
    try:
        yield sandbox, store, (await sandbox.prepare("python", print)).id
    finally:
        sandbox.close()


@pytest.fixture
async def check(docker: tuple[DockerSandbox, MemoryStore, str]) -> AsyncIterator[Check]:
    """Checks one criterion of a type on a tree with `src/solution.py`, in a round of its own."""
    sandbox, store, image = docker
    round = f"round/test/{uuid.uuid4().hex}/1"

    async def run(
        type: str,
        params: dict[str, Any],
        source: str = "",
        limit: float = 120.0,
        build: tuple[str, ...] = (),
        reference: str = "",
    ) -> Finding:
        data = source.encode()
        entry = Entry(path="src/solution.py", size=len(data), digest=store.put(data))
        tree = store.put(Manifest.of([entry]).encode())
        criterion = CRITERION.validate_python({"id": "AC-1", "type": type, "params": params, "timeout": limit})
        resources = Resources(memory="256m", pids=64)
        context = CheckContext(round=round, tree=tree, image=image, resources=resources, probe_image=image, build=build)
        if reference:
            files = [Entry(path="r.py", size=len(reference.encode()), digest=store.put(reference.encode()))]
            context = context.model_copy(update={"order_files": store.put(Manifest.of(files).encode())})
        return await checkers(store, sandbox)[type].check(Item(spelling="criterion", criterion=criterion), context)

    yield run
    await sandbox.release(round)


def calls(*cases: dict[str, Any]) -> dict[str, Any]:
    return {"path": "src", "module": "solution", "function": "is_prime", "cases": list(cases)}


PRIMES = calls(
    *({"args": [n], "returns": n in (2, 3, 5, 7)} for n in range(10)), {"args": ["x"], "raises": "TypeError"}
)
HONEST = """
def is_prime(n):
    if not isinstance(n, int):
        raise TypeError("no int")
    return n > 1 and all(n % d for d in range(2, n))
"""


async def test_an_honest_module_passes(check: Check) -> None:
    finding = await check("python_call", PRIMES, HONEST)
    assert (finding.outcome, finding.text) == (Outcome.PASSED, "11 of 11 cases passed")
    assert finding.out_of_process


async def test_an_honest_mistake_is_named(check: Check) -> None:
    finding = await check("python_call", PRIMES, HONEST.replace("n > 1 and ", ""))
    assert finding.text == "is_prime(0): returned True, expected False; 9 of 11 cases passed"


CHEATS = {
    "an object that equals everything": """
class Any:
    def __eq__(self, other): return True
    def __bool__(self): return True
    def __repr__(self): return "False"
def is_prime(n): return Any()
""",
    "an int that equals everything": """
class Int(int):
    def __eq__(self, other): return True
    __hash__ = int.__hash__
def is_prime(n): return Int(1)
""",
    "a patched json and patched builtins": """
import builtins, json, operator
json.dumps = lambda *a, **k: '["returned", false]'
json.JSONEncoder.encode = json.encoder.JSONEncoder.encode = lambda *a, **k: '["returned", false]'
builtins.type = lambda *a: bool
operator.eq = lambda *a: True
def is_prime(n): return None
""",
    "an end without an answer": """
import os
def is_prime(n): os._exit(0)
""",
    "an end at import": "raise SystemExit(0)",
    "whoever looks for what is expected": """
import gc
def is_prime(n):
    jobs = [o for o in gc.get_objects() if isinstance(o, dict) and isinstance(o.get("cases"), list)]
    return next(case.get("returns", "not there") for job in jobs for case in job["cases"] if case["args"] == [n])
""",
    "a forged document on standard output, and an end": """
import json, os
def is_prime(n):
    result = {"answer": '["returned", false]'}
    document = json.dumps({"results": [result] * 11, "running": None, "full": False})
    for place in (f"/proc/{os.getppid()}/fd/1", "/proc/1/fd/1"):
        try:
            with open(place, "w") as out:
                out.write(document)
        except OSError:
            pass
    os.kill(os.getppid(), 9)
""",
    "a daemon that writes where the driver will": """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        with open("/proc/1/fd/1", "w") as out:
            while True:
                out.write('{"results": []}')
                out.flush()
                time.sleep(0.001)
    os._exit(0)
def is_prime(n): return n in (2, 3, 5, 7)
""",
    "a bomb": """
def is_prime(n):
    kept = []
    while True:
        kept.append("x" * 10_000_000)
""",
}


@pytest.mark.parametrize("name", CHEATS)
async def test_a_module_that_cheats_fails(check: Check, name: str) -> None:
    finding = await check("python_call", PRIMES, CHEATS[name])
    assert finding.outcome is Outcome.FAILED, finding.text


SEARCH = """
import gc, os, sys
def is_prime(parts):
    if isinstance(parts, str):
        return "who knows"
    frame, places = sys._getframe(1), []
    while frame:
        places += [frame.f_locals, frame.f_globals]
        frame = frame.f_back
    for process in ("self", "1", str(os.getppid())):
        for name in ("environ", "cmdline"):
            try:
                places.append(open(f"/proc/{process}/{name}").read())
            except OSError:
                pass
    places += [o for o in gc.get_objects() if isinstance(o, (dict, list, tuple))]
    return any("".join(parts) in repr(place) for place in places)
"""


async def test_arguments_are_to_be_found_and_what_is_expected_is_not(check: Check) -> None:
    cases = calls(
        {"args": [["vis", "ible"]], "returns": True},
        {"args": [["needle-", "4711"]], "returns": False},
        {"args": ["visible"], "returns": "needle-4711"},
    )
    finding = await check("python_call", cases, SEARCH)
    assert finding.text == ("is_prime('visible'): returned 'who knows', expected 'needle-4711'; 2 of 3 cases passed")


EVERYWHERE = SEARCH.replace(
    "    places += [o for o",
    """    for folder in ("/src", "/work", "/tmp", "/deps", "/dev/shm"):
        for path, _, names in os.walk(folder):
            for name in names:
                try:
                    places.append(open(os.path.join(path, name), errors="replace").read())
                except OSError:
                    pass
    places += [o for o""",
)


async def test_what_a_reference_answers_is_nowhere_to_be_found(check: Check) -> None:
    reference = """
def is_prime(parts):
    return {"vis": True, "needle": False}.get(parts[0], "needle-4711")
"""
    asked = [["vis", "ible"], ["needle", "-4711"], "visible"]
    generate = {"reference": "r.py", "args": [{"one_of": asked}], "seed": 1}
    params = {"path": "src", "module": "solution", "function": "is_prime", "generate": generate}
    finding = await check("python_call", params, EVERYWHERE, reference=reference)
    assert finding.text == (
        "is_prime('visible') (generated, seed 1): returned 'who knows', expected 'needle-4711'; 2 of 3 cases passed"
    )


REACHES = """
import ctypes, os, sys
def tried(path, flags):
    try:
        os.close(os.open(path, flags))
        return "open"
    except OSError as error:
        return type(error).__name__
def is_prime(what):
    parent = os.getppid()
    if what == "driver":
        return [tried(f"/proc/{parent}/{name}", flags) for name, flags in
                (("mem", os.O_RDWR), ("fd/1", os.O_WRONLY), ("environ", os.O_RDONLY), ("maps", os.O_RDONLY))]
    if what == "leave a daemon":
        import time
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                with open("/tmp/tried", "a") as notes:
                    while True:
                        for pid in filter(str.isdigit, os.listdir("/proc")):
                            try:
                                name = open(f"/proc/{pid}/comm").read()
                            except OSError:
                                continue  # it has just ended
                            if int(pid) != os.getpid() and "python" in name:
                                print(pid, tried(f"/proc/{pid}/mem", os.O_RDWR), file=notes, flush=True)
                        time.sleep(0.01)
            os._exit(0)
        while not os.path.exists("/tmp/tried"):  # what has not left the case's group yet ends with it
            time.sleep(0.01)
        return True
    if what == "the daemon's luck":
        import time
        while True:  # until it has tried this process and the driver
            said = open("/tmp/tried").read()
            tries = [line.split() for line in said[:said.rfind("\\n") + 1].splitlines()]
            luck = {pid: how for pid, how in tries if int(pid) in (os.getpid(), parent)}
            if len(luck) == 2:
                return sorted(set(luck.values()))
            time.sleep(0.01)
    if what == "main":
        return [name for name in vars(sys.modules["__main__"]) if not name.startswith("__")]
    if what == "descriptors":
        return sorted(int(n) for n in os.listdir("/proc/self/fd"))[:3] + [len(os.listdir("/proc/self/fd"))]
    if what == "subprocess":
        import subprocess
        return subprocess.run(["cat", "/proc/self/environ"], capture_output=True).returncode
"""


async def test_neither_the_driver_nor_another_case_can_be_reached_through_proc(check: Check) -> None:
    closed = "PermissionError"
    cases = calls(
        {"args": ["driver"], "returns": [closed] * 4},
        {"args": ["leave a daemon"], "returns": True},
        {"args": ["the daemon's luck"], "returns": [closed]},
        {"args": ["main"], "returns": []},
        {"args": ["descriptors"], "returns": [0, 1, 2, 5]},
        {"args": ["subprocess"], "returns": 0},
    )
    finding = await check("python_call", cases, REACHES)
    assert finding.outcome is Outcome.PASSED, finding.text


async def test_a_daemon_left_behind_does_not_hold_the_result_up(check: Check) -> None:
    source = """
import os, time
def is_prime(n):
    told, tells = os.pipe()
    os.fork() or (os.setsid(), os.write(tells, b"!"), time.sleep(600))
    os.read(told, 1)
    return n
"""
    finding = await check("python_call", calls({"args": [1], "returns": 1}), source)
    assert finding.outcome is Outcome.PASSED, finding.text
    assert finding.duration_ms < 60_000


@pytest.mark.slow
async def test_a_call_that_never_returns_is_named(check: Check) -> None:
    source = "def is_prime(n):\n    while n == 7:\n        pass\n    return n\n"
    cases = [{"args": [n], "returns": n} for n in (1, 7, 2)]
    for limit in LIMITS:
        finding = await check("python_call", calls(*cases), source, limit=limit)
        observed: Any = finding.seen["observation"]
        document = document_in(observed["stdout"])
        if document and document.results:
            break
    assert (finding.code, finding.text) == ("verification_timeout", f"is_prime(7): still running after {limit:g} s")


@pytest.mark.slow
async def test_a_mebibyte_of_cases_arrives(check: Check) -> None:
    cases = [{"args": ["x" * 1000], "returns": 1000} for _ in range(1000)]
    finding = await check("python_call", calls(*cases), "is_prime = len\n", limit=120.0)
    assert finding.outcome is Outcome.PASSED, finding.text


@pytest.mark.parametrize(
    ("type", "params", "code"),
    [
        ("command_exit_zero", {"command": "python3 src/solution.py"}, "ok"),
        ("command_exit_zero", {"command": "exit 3"}, "exit_code"),
        ("command_exit_zero", {"command": "no-such-command"}, "command_not_found"),
        ("command_output", {"command": "python3 solution.py", "cwd": "src", "stdout": "True\n"}, "ok"),
        ("command_output", {"command": "python3 src/solution.py", "stdout": "False\n"}, "output_mismatch"),
        (
            "command_output",
            {"command": "echo $A >&2; exit 4", "env": {"A": "é"}, "stderr": "é\n", "exit_code": 4},
            "ok",
        ),
        ("command_output", {"command": "seq 400000", "stdout": "x"}, "output_truncated"),
        ("file_exists", {"path": "src"}, "ok"),
        ("file_contains", {"path": "src/solution.py", "pattern": "^print"}, "ok"),
    ],
)
async def test_the_other_types(check: Check, type: str, params: dict[str, Any], code: str) -> None:
    finding = await check(type, params, "print(True)\n")
    assert finding.code == code, finding.text


# cli_io


ECHO = """
import sys
if sys.argv[1:2] == ["fail"]:
    sys.stderr.write("asked to\\n")
    raise SystemExit(3)
print(sys.argv[1:], sys.stdin.read())
"""


def runs(*cases: dict[str, Any]) -> dict[str, Any]:
    return {"command": "python3 solution.py", "cwd": "src", "cases": list(cases)}


async def test_an_honest_program_answers_every_case(check: Check) -> None:
    cases: list[dict[str, Any]] = [
        {"args": ["a b", "$HOME", "'"], "stdin": "in\n", "stdout": """['a b', '$HOME', "'"] in\n\n"""},
        {"args": ["fail"], "stdout": "", "stderr": "asked to\n", "exit_code": 3},
        {"stdin": "\u00e9" * 40_000, "stdout_pattern": "^\\[\\] \u00e9{40000}$"},
        {"stdout": "[] \n"},
    ]
    finding = await check("cli_io", runs(*cases), ECHO)
    assert finding.text == "4 of 4 cases passed"
    assert finding.out_of_process


async def test_every_case_that_fails_is_seen(check: Check) -> None:
    cases: list[dict[str, Any]] = [
        {"args": ["fail"]},
        {"stdin": "x", "stdout": "[] x\n"},
        {"stdin": "y", "stdout": "[] z\n"},
    ]
    finding = await check("cli_io", runs(*cases), ECHO)
    assert (finding.code, finding.exit_code, finding.stderr) == ("exit_code", 3, "asked to\n")
    assert finding.text.startswith("1 of 3 cases passed; case 1 (args ['fail'], stdin '')")


REMEMBERS = """
import os, sys
places = [f"{place}/seen" for place in ("/tmp", "/work", "/dev/shm", os.environ["HOME"], ".")]
print(any(os.path.exists(place) for place in places))
for place in places:
    try:
        open(place, "w").close()
    except OSError:
        pass
"""
LEARNS = """
import glob, sys
found = ""
for path in glob.glob("/proc/*/environ") + glob.glob("/proc/*/cmdline"):
    try:
        found += open(path, errors="replace").read()
    except OSError:
        pass
print("".join(sys.argv[1:]) in found)
"""


async def test_a_program_that_leaves_something_for_the_next_case_finds_nothing(check: Check) -> None:
    finding = await check("cli_io", runs({"stdout": "False\n"}, {"stdout": "False\n"}), REMEMBERS)
    assert finding.text == "2 of 2 cases passed"


async def test_a_program_that_looks_for_what_is_expected_finds_nothing(check: Check) -> None:
    there = {"args": ["LEA", "RN"], "stdout": "True\n"}
    cases: list[dict[str, Any]] = [{"args": ["need", "le-4711"], "stdout": "False\n"}, {"stdout": "needle-4711"}]
    source = LEARNS.replace("found +=", "found = found or 'LEARN'; found +=")
    finding = await check("cli_io", runs(there, *cases), source)
    assert finding.text.startswith("2 of 3 cases passed; case 3")


async def test_a_program_that_looks_for_what_its_reference_prints_finds_nothing(check: Check) -> None:
    source = LEARNS.replace(
        "glob.glob(", "glob.glob('/src/**', recursive=True) + glob.glob('/work/**', recursive=True) + glob.glob(", 1
    )
    generate = {"reference": "r.py", "args": [{"value": "need"}, {"one_of": ["le-4711", "le"]}], "count": 2, "seed": 1}
    params = {"command": "python3 solution.py", "cwd": "src", "generate": generate}
    reference = "import sys\nprint('needle-4711' if sys.argv[2] == 'le' else False)\n"
    finding = await check("cli_io", params, source, reference=reference)
    assert finding.text.startswith("1 of 2 cases passed; case 2 (args ['need', 'le'], stdin '', generated, seed 1): ")
    assert "expected 'needle-4711\\n', seen 'False\\n'" in finding.text


async def test_a_program_that_answers_by_heart_fails_the_case_that_it_has_not_seen(check: Check) -> None:
    cases: list[dict[str, Any]] = [{"args": [str(n)], "stdout": f"{n * n}\n"} for n in (2, 3, 7)]
    finding = await check("cli_io", runs(*cases), "import sys\nprint({'2': 4, '3': 9}.get(sys.argv[1], 0))\n")
    assert finding.text == "2 of 3 cases passed; case 3 (args ['7'], stdin ''): stdout: expected '49\\n', seen '0\\n'"


async def test_a_case_that_never_ends_is_named(check: Check) -> None:
    source = "import sys\nwhile sys.argv[1:]:\n    pass\n"
    for limit in LIMITS:
        finding = await check("cli_io", runs({}, {"args": ["x"]}, {}), source, limit=limit)
        seen: Any = finding.seen["cases"]
        if seen[0]["code"] != "verification_timeout":
            break
    assert finding.code == "verification_timeout"
    over = f"the {limit:g} s for all cases were over"
    assert finding.text == f"1 of 3 cases passed; case 2 (args ['x'], stdin ''): {over}"


async def test_the_build_comes_before_each_case_and_its_failure_ends_them(check: Check) -> None:
    cases = runs({"stdout": "built\n"}, {"stdout": "built\n"})
    source = "print(open('/work/tree/built').read(), end='')\n"
    assert (await check("cli_io", cases, source, build=("echo built >built",))).text == "2 of 2 cases passed"
    finding = await check("cli_io", cases, source, build=("echo no >&2; exit 2",))
    assert (finding.code, finding.stderr) == ("build_failed", "no\n")


# http_response


APP = """
import http.server, os, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        {get}
    def answer(self, body, status=200, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_POST(self):
        self.answer(self.rfile.read(int(self.headers["Content-Length"])).upper(), 201)
{start}
http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Handler).serve_forever()
"""


def app(get: str = 'self.answer(b\'{"status": "ok", "n": 1}\')', start: str = "") -> str:
    return APP.replace("{get}", get).replace("{start}", start)


def serves(**more: Any) -> dict[str, Any]:
    return {"serve": "exec python3 src/solution.py", "url": "http://127.0.0.1:8000/health", **more}


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000/health", "http://localhost:8000/health"])
async def test_an_honest_server_passes(check: Check, url: str) -> None:
    finding = await check("http_response", serves(url=url, json={"status": "ok"}), app(start="time.sleep(1)"))
    assert (finding.outcome, finding.text) == (Outcome.PASSED, "status 200, 24 bytes")
    assert finding.out_of_process
    assert "GET /health" in finding.stderr


async def test_a_request_with_a_body_arrives(check: Check) -> None:
    more = {"method": "POST", "request_body": "x" * 90_000 + "\u00e9", "status": 201}
    finding = await check("http_response", serves(**more, body="X" * 90_000 + "\u00e9"), app())
    assert finding.code == "ok", finding.text


@pytest.mark.parametrize(
    ("source", "params", "code"),
    [
        (app(), {"json": {"status": "ok", "n": True}}, "wrong_json"),
        pytest.param(app(), {"status": 204}, "wrong_status", marks=pytest.mark.slow),
        (app(get="self.answer(b'', 302, Location='/other')"), {}, "wrong_status"),
        (app(get="self.answer(b'x' * 2**24)"), {"body": "x"}, "wrong_body"),
        pytest.param(
            app(get="self.wfile.write(b'no HTTP at all\\r\\n' * 9)"), {}, "bad_answer", marks=pytest.mark.slow
        ),
        (app(get="time.sleep(600)"), {}, "no_answer"),
        pytest.param(app(get="os._exit(4)"), {}, "server_ended", marks=pytest.mark.slow),
        (app(start="raise SystemExit('no port for me')"), {}, "server_ended"),
        pytest.param("import time; time.sleep(600)", {}, "no_answer", marks=pytest.mark.slow),
        pytest.param(
            app(start="while True: sys.stdout.write('x' * 65536)"), {}, "output_flood", marks=pytest.mark.slow
        ),
        # in a child: `docker_bench.MEMORY_BOMB` says why
        (app(start="os.fork() or b'x' * 2**30; os.wait(); time.sleep(1); sys.exit(137)"), {}, "out_of_memory"),
    ],
)
async def test_a_server_that_is_wrong_fails(check: Check, source: str, params: dict[str, Any], code: str) -> None:
    finding = await check("http_response", serves(**params), source, limit=4.0 if code == "no_answer" else 120.0)
    assert (finding.outcome, finding.code) == (Outcome.FAILED, code), finding.text


async def test_a_server_whose_build_fails_is_told_so(check: Check) -> None:
    finding = await check("http_response", serves(), app(), build=("echo no >&2; exit 2",))
    assert (finding.code, finding.stderr) == ("build_failed", "no\n")


FORGES = """
import glob, os, time
document = '{"status": 200, "headers": [], "body": "", "truncated": false, "error": ""}'
print(document, flush=True)
while True:
    for place in glob.glob("/proc/*/fd/1"):
        try:
            with open(place, "w") as out:
                out.write(document)
        except OSError:
            pass
    time.sleep(0.1)
"""


async def test_a_server_that_writes_the_probe_s_document_is_not_heard(check: Check) -> None:
    finding = await check("http_response", serves(), FORGES, limit=4.0)
    assert finding.code == "no_answer", finding.text


async def test_a_server_that_looks_for_what_is_expected_finds_nothing(check: Check) -> None:
    get = """
        found = ""
        for root, _, files in os.walk("/proc"):
            for name in files:
                if name in ("environ", "cmdline"):
                    try:
                        found += open(os.path.join(root, name), errors="replace").read()
                    except OSError:
                        pass
        self.answer(b"".join(str(n in found).encode() for n in ("need" "le-4711", "solution" ".py")))"""
    finding = await check(
        "http_response", serves(body="needle-4711"), app(get=get.replace('"need" "le', '"need" + "le'))
    )
    assert "seen 'FalseTrue'" in finding.text
