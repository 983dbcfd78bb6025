"""Generated cases and properties: what a reference expects, what a seed brings back, who is to blame for what."""

from __future__ import annotations

import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import TypeAdapter

from adapters.checkers.again import Again
from adapters.checkers.registry import checkers
from domain.checks import Item, Observation, Outcome
from domain.criteria import Criterion
from domain.errors import Cause, Unavailable
from domain.generation import cases, derived_seed
from domain.order import Resources
from domain.ports import CheckContext, Finding, RunRequest
from domain.python_criteria import Generate
from domain.tree import Entry, Manifest
from tests.fakes import sandbox
from tests.fakes.evidence import MemoryStore
from tests.fakes.sandbox import LocalSandbox

CRITERION: TypeAdapter[Any] = TypeAdapter(Criterion)
PRIMES = """
def is_prime(n):
    if n < 0:
        raise ValueError("negative")
    return n > 1 and all(n % d for d in range(2, int(n ** 0.5) + 1))
"""
NUMBERS = [{"integer": {"min": -2, "max": 200}}]


class Watched(LocalSandbox):
    """Remembers what it was asked to run."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store)
        self.requests: list[RunRequest] = []

    async def run(self, request: RunRequest) -> Observation:
        self.requests.append(request)
        return await super().run(request)


class Bench:
    """A store, a sandbox, and criteria checked with them."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.sandbox = Watched(self.store)

    def tree(self, files: dict[str, str]) -> str:
        entries = [
            Entry(path=path, executable=True, size=len(text.encode()), digest=self.store.put(text.encode()))
            for path, text in files.items()
        ]
        return self.store.put(Manifest.of(entries).encode())

    async def check(
        self, type: str, params: dict[str, Any], work: dict[str, str], order: dict[str, str], limit: float = 200.0
    ) -> Finding:
        criterion = CRITERION.validate_python({"id": "AC-1", "type": type, "params": params, "timeout": limit})
        item = Item(spelling="criterion", criterion=criterion)
        context = CheckContext(
            round="round/s/t/1",
            tree=self.tree(work),
            image="local-python",
            resources=Resources(),
            order_files=self.tree(order) if order else "",
        )
        finding = await checkers(self.store, self.sandbox)[type].check(item, context)
        again = await Again(self.store).judge(
            item, Finding.model_validate_json(finding.model_dump_json()), context.tree
        )
        assert again in (None, (finding.outcome, finding.code)), "what is stored is judged as it was"
        assert again or finding.code in ("verification_timeout", "cases_too_large")
        return finding

    async def call(self, source: str, params: dict[str, Any], reference: str = "", **more: Any) -> Finding:
        params = {"module": "work", "function": "f", **params}
        return await self.check(
            "python_call", params, {"work.py": source}, {"r.py": reference} if reference else {}, **more
        )

    async def program(self, source: str, generate: dict[str, Any], reference: str, name: str = "r.sh") -> Finding:
        params = {"command": "sh work.sh", "generate": {"reference": name, **generate}}
        return await self.check("cli_io", params, {"work.sh": source}, {name: reference})


@pytest.fixture
def bench() -> Bench:
    return Bench()


def generate(*args: dict[str, Any], **more: Any) -> dict[str, Any]:
    inputs = {"args": list(args) or NUMBERS, "count": 20, **more}
    return {"function": "is_prime", "generate": {"reference": "r.py", **inputs}}


# generate


async def test_what_does_as_the_reference_does_passes(bench: Bench) -> None:
    sieve = "[n for n in range(2, 201) if all(n % d for d in range(2, int(n ** 0.5) + 1))]"
    source = f"FOUND = {sieve}\ndef is_prime(n):\n    if n < 0:\n        raise ValueError\n    return n in FOUND\n"
    finding = await bench.call(source, generate(), PRIMES)
    assert (finding.outcome, finding.text) == (Outcome.PASSED, "20 of 20 cases passed")
    assert finding.out_of_process
    assert finding.seed == finding.seen["seed"] is not None


@pytest.mark.parametrize(
    "source",
    [
        "TABLE = {2: True, 3: True, 4: False, 5: True}\ndef is_prime(n):\n    return TABLE.get(n, False)\n",
        "import sys\ndef is_prime(n):\n    return 'pytest' in sys.modules and n > 1\n",
        PRIMES.replace("int(n ** 0.5) + 1)", "int(n ** 0.5))"),
        PRIMES.replace("n > 1 and", "n < 160 and n > 1 and"),
        PRIMES.replace("ValueError", "KeyError"),
        PRIMES.replace("return n > 1 and", "return (n > 1) * 1 and"),
    ],
    ids=["table", "environment", "off by one", "wrong when large", "another exception", "another type"],
)
async def test_what_does_not_fails_and_the_seed_brings_the_case_back(bench: Bench, source: str) -> None:
    finding = await bench.call(source, generate(), PRIMES)
    assert (finding.outcome, finding.code) == (Outcome.FAILED, "wrong_result")
    assert f"(generated, seed {finding.seed}): " in finding.text
    again = await bench.call(source, generate(seed=finding.seed), PRIMES)
    assert again.text == finding.text


async def test_the_seed_follows_from_the_tree_unless_the_order_names_one(bench: Bench) -> None:
    order = bench.tree({"r.py": PRIMES})
    seeds = {source: (await bench.call(source, generate(), PRIMES)).seed for source in (PRIMES, PRIMES + "\n")}
    expected = {source: derived_seed(bench.tree({"work.py": source}), "AC-1", order) for source in seeds}
    assert seeds == expected
    assert len(set(seeds.values())) == 2
    assert (await bench.call(PRIMES, generate(seed=7), PRIMES)).seed == 7


async def test_the_reference_runs_where_nothing_of_the_work_is_and_nothing_of_it_where_the_work_runs(
    bench: Bench,
) -> None:
    secret = PRIMES.replace("ValueError", "SecretError").replace("def is", "class SecretError(Exception): pass\ndef is")
    secret = secret.replace("return n > 1", "return 'SECRET' if n == 7 else n > 1")
    finding = await bench.call(PRIMES, generate({"one_of": [7, -1, 8]}), secret)
    assert finding.text.startswith("is_prime(7) (generated, seed ")
    assert "expected 'SECRET'" in finding.text
    reference, work = bench.sandbox.requests
    assert reference.tree == bench.tree({"r.py": secret})
    assert reference.key != work.key
    assert "SECRET" not in work.model_dump_json()
    assert "SecretError" not in work.model_dump_json()
    assert [entry.path for entry in Manifest.decode(bench.store.get(work.tree)).entries] == ["work.py"]


async def test_a_reference_is_asked_once(bench: Bench) -> None:
    for source in (PRIMES, PRIMES + "\n", PRIMES + "\n\n"):
        assert (await bench.call(source, generate(seed=3), PRIMES)).outcome is Outcome.PASSED
    assert len(bench.sandbox.requests) == 4
    await bench.call(PRIMES, generate(seed=4), PRIMES)
    await bench.call(PRIMES, generate(seed=4), PRIMES + "\n")
    assert len(bench.sandbox.requests) == 8


async def test_numbers_that_are_none_are_expected_as_such(bench: Bench) -> None:
    reference = "def f(x):\n    return [float('nan'), float('inf') * x, {'é': -0.0}]\n"
    params = {"generate": {"reference": "r.py", "args": [{"integer": {"min": 1, "max": 9}}]}}
    assert (await bench.call(reference, params, reference)).text == "9 of 9 cases passed"
    assert (await bench.call(reference.replace("'inf'", "'nan'"), params, reference)).outcome is Outcome.FAILED


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("", "the reference r.py is not among the files beside the order"),
        ("def g(n): return n", "the reference r.py does not answer: is_prime(-2): the function is not there"),
        ("import nowhere", "the module cannot be imported: ModuleNotFoundError"),
        ("def is_prime(n): return (n,)", "returns what is no plain data: is_prime(-2) is <tuple>"),
        ("def is_prime(n): return [n, {1}]", "returns what is no plain data"),
        ("def is_prime(n): return nothing", "fails: is_prime(-2) raises NameError"),
        ("def is_prime(n): raise SystemExit", "fails: is_prime(-2) raises SystemExit"),
        ("def is_prime(n): return is_prime(n)", "fails: is_prime(-2) raises RecursionError"),
        ("def is_prime(n): raise ValueError(n)", "never returns anything: is_prime(-2) raises ValueError to be raised"),
        ("import os\ndef is_prime(n): os._exit(3)", "ended with exit code 3 before it answered"),
        ("def is_prime(n): return 'x' * 10**7", "returned more than is taken"),
        ("def is_prime(n): return 'x' * 10**5", "answers 20 cases with more than is kept"),
        ("import time\ndef is_prime(n): time.sleep(3600)", "was not run to its end: still running after 1 s"),
        ("import os\ndef is_prime(n): os.kill(os.getppid(), 9)", "was not run to its end: exit code"),
    ],
)
async def test_a_reference_that_tells_nothing_is_no_verdict(bench: Bench, reference: str, said: str) -> None:
    with pytest.raises(Unavailable) as caught:
        await bench.call("import nowhere", generate(), reference, limit=1.0 if "sleep" in reference else 200.0)
    assert caught.value.cause is Cause.REFERENCE_FAILED
    assert said in caught.value.reason
    assert caught.value.next_step
    assert not caught.value.retryable
    assert not bench.store.memos


async def test_cases_of_the_order_come_first_and_all_are_counted(bench: Bench) -> None:
    params = generate(count=10, seed=1) | {"cases": [{"args": [7], "returns": True}, {"args": [8], "returns": True}]}
    finding = await bench.call(PRIMES, params, PRIMES)
    assert finding.text == "is_prime(8): returned False, expected True; 11 of 12 cases passed"


async def test_more_than_is_kept_fails_the_work(bench: Bench) -> None:
    params = {"generate": {"reference": "r.py", "args": NUMBERS, "count": 20}}
    finding = await bench.call("def f(n):\n    return 'x' * 60_000\n", params, "def f(n):\n    return n\n")
    assert (finding.code, finding.text) == (
        "result_too_large",
        "the results of 20 cases together are more than is kept of them",
    )


# properties


def holds(name: str, *args: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"properties": [{"property": name, "args": list(args), "count": 30, "seed": 1, **more}]}


TEXT = {"text": {"alphabet": "aB -", "max_length": 8}}
WHOLE = {"integer": {"min": -100, "max": 100}}
SLUG = "def f(text):\n    return '-'.join(text.lower().replace('-', ' ').split())\n"
CODEC = "def f(text):\n    return [ord(c) for c in text]\ndef back(codes):\n    return ''.join(map(chr, codes))\n"


@pytest.mark.parametrize(
    ("params", "right", "wrong", "said"),
    [
        (holds("idempotent", TEXT), SLUG, SLUG.replace("return ", "return '.' + "), "f(f("),
        (
            holds("inverse", TEXT, **{"with": "back"}),
            CODEC,
            CODEC.replace("map(chr, codes)", "map(chr, codes)).strip("),
            "back(f(",
        ),
        (holds("monotone", WHOLE), "def f(n): return n // 3", "def f(n): return n * n", "expected at least"),
        (
            holds("monotone", WHOLE, direction="decreasing", strict=True),
            "def f(n): return -n",
            "def f(n): return -n // 3",
            "expected less than",
        ),
        (
            holds("raises", {"text": {"alphabet": "xyz"}}, exception="ValueError"),
            "def f(text): return int(text)",
            "def f(text): return text and int(text)",
            "expected ValueError to be raised",
        ),
    ],
)
async def test_a_property_holds_or_the_case_is_named(
    bench: Bench, params: dict[str, Any], right: str, wrong: str, said: str
) -> None:
    finding = await bench.call(right, params)
    assert finding.outcome is Outcome.PASSED, finding.text
    assert finding.seed == 1
    finding = await bench.call(wrong, params)
    assert (finding.outcome, finding.code) == (Outcome.FAILED, "wrong_result")
    assert said in finding.text
    assert f"({params['properties'][0]['property']}, seed 1): returned" in finding.text


@pytest.mark.parametrize(
    "source",
    [
        "import pathlib\nseen = pathlib.Path('notes')\n"
        "def f(text):\n    seen.write_text(text) if text else 0\n    return ''\n"
        "def back(_):\n    return seen.read_text() if seen.exists() else ''\n",
        "class Same(str):\n    __eq__ = lambda *_: True\n    __hash__ = str.__hash__\n"
        "def f(text):\n    return Same(text)\ndef back(text):\n    return Same('')\n",
    ],
    ids=["notes for the second call", "equal to everything"],
)
async def test_nothing_but_plain_data_goes_from_the_first_call_to_the_second(bench: Bench, source: str) -> None:
    text = {"text": {"alphabet": "ab", "min_length": 1}}
    finding = await bench.call(source, holds("inverse", text, count=5, **{"with": "back"}))
    assert (finding.outcome, finding.code) == (Outcome.FAILED, "wrong_result"), finding.text


async def test_the_other_function_may_be_in_another_module(bench: Bench) -> None:
    params = {"module": "one", "function": "f", **holds("inverse", WHOLE, **{"with": "two.half"})}
    work = {"one.py": "def f(n): return n * 2", "two.py": "def half(n): return n // 2"}
    assert (await bench.check("python_call", params, work, {})).text == "30 of 30 cases passed"


async def test_names_go_with_both_calls_of_idempotent(bench: Bench) -> None:
    params = holds("idempotent", TEXT, kwargs={"end": {"one_of": ["!", "?"]}})
    source = "def f(text, end):\n    return text if text.endswith(end) else text + end\n"
    assert (await bench.call(source, params)).outcome is Outcome.PASSED
    assert (await bench.call(source.replace("text.endswith(end)", "end == '!'"), params)).outcome is Outcome.FAILED


@pytest.mark.parametrize(
    ("source", "code", "said"),
    [
        ("def f(n): raise KeyError", "wrong_result", "raised KeyError(), expected a number, a text or a boolean"),
        ("def f(n): return None", "wrong_result", "returned None, expected a number, a text or a boolean"),
        ("def f(n): return str(n) if n > 0 else n", "wrong_result", "expected at least 0, which f(0) returned"),
        ("def f(n): return float('nan')", "wrong_result", "returned nan, expected at least nan"),
        (
            "import os\ndef f(n): os._exit(0)",
            "no_result",
            "ended with exit code 0 before it answered, expected a number",
        ),
        ("import nowhere", "import_failed", "the module cannot be imported"),
    ],
)
async def test_what_cannot_be_compared_is_no_order(bench: Bench, source: str, code: str, said: str) -> None:
    finding = await bench.call(source, holds("monotone", WHOLE))
    assert finding.code == code
    assert said in finding.text


async def test_a_second_call_that_never_ends_is_named(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = tmp_path / "over"  # once it is there the time is up, and not before
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + 1000 * over.exists())
    monkeypatch.setattr(sandbox, "time", clock)
    monkeypatch.setattr(sandbox, "TERM_TO_KILL_SECONDS", 2000.0)
    source = f"import time\ndef f(n):\n    while n > 1000:\n        open({str(over)!r}, 'w').close()\n"
    source += "        time.sleep(1)\n    return n + 2000\n"
    finding = await bench.call(source, holds("idempotent", WHOLE))
    assert finding.code == "verification_timeout"
    assert finding.text.startswith("f(f(-100)) (idempotent, seed 1): still running")


async def test_several_properties_are_one_run_and_one_more(bench: Bench) -> None:
    both = holds("idempotent", WHOLE)["properties"] + holds("monotone", WHOLE)["properties"]
    assert (await bench.call("def f(n): return max(n, 0)", {"properties": both})).text == "60 of 60 cases passed"
    assert [request.key.rpartition("/")[2] == "second" for request in bench.sandbox.requests] == [False, True]


async def test_a_finding_has_what_everything_follows_from(bench: Bench) -> None:
    finding = await bench.call(PRIMES, generate(count=3), PRIMES)
    criterion = Generate.model_validate(json.loads(json.dumps(finding.seen["criterion"]))["params"]["generate"])
    assert finding.seed is not None
    assert [case.args for case in cases(criterion, finding.seed)] == [[-2], [200], [0]]
    assert finding.seen["expected"] == [{"raises": "ValueError"}, {"returns": False}, {"returns": False}]
