"""What a reader sees wrong with a drafted check by its words, and what is right although it looks like that."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from domain.drafts.record import Fault
from domain.drafts.shell import parts_in
from domain.drafts.wording import fault_of_words
from domain.roles.designed import DraftedCheck

CHECK: TypeAdapter[DraftedCheck] = TypeAdapter(DraftedCheck)
CALLS: dict[str, Any] = {"module": "m", "function": "f", "cases": [{"args": ["http://example.com"], "returns": 1}]}
ANSWERS: dict[str, Any] = {"command": "python app.py", "cases": [{"args": ["https://example.com"], "stdout": "ok"}]}


def made(type_: str = "command_exit_zero", **params: Any) -> DraftedCheck:
    return CHECK.validate_python({"id": "AC-1", "type": type_, "params": params})


def fault(command: str) -> Fault | None:
    told = fault_of_words(made(command=command))
    return told[0] if told else None


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("true", "vacuous"),
        (":", "vacuous"),
        ("exit 0", "vacuous"),
        ("# nothing", "vacuous"),
        ("echo all good && true", "vacuous"),
        ("python check.py || true", "vacuous"),
        ("python check.py || exit 0", "vacuous"),
        ("python check.py; exit 0", "vacuous"),
        ("python check.py ; echo done", "vacuous"),
        ("python check.py\necho ok", "vacuous"),
        ("python check.py || echo failed", "vacuous"),
        ("python check.py &", "vacuous"),
        ("test $((RANDOM % 2)) = 0", "flaky"),
        ('[ "$RANDOM" -gt 0 ]', "flaky"),
        ("python -c 'import random; assert random.random() < 0.5'", "flaky"),
        ("python -c 'from random import randint; assert randint(0, 1)'", "flaky"),
        ("shuf -i 0-1 -n 1 | grep 1", "flaky"),
        ("ls | sort -R | head -1 | grep a", "flaky"),
        ("test $(uuidgen) != x", "flaky"),
        ("python -c 'import uuid; assert f(uuid.uuid4())'", "flaky"),
        ("head -c 1 /dev/urandom | grep a", "flaky"),
        ('test "$(date +%N)" -gt 5', "flaky"),
        ("python -c 'import time; assert time.time() % 2 < 1'", "flaky"),
        ("node -e 'process.exit(Math.random() < 0.5)'", "flaky"),
        ("python app.py & sleep 1; python ask.py", "flaky"),
        ("curl -sf https://service.example/version", "needs_network"),
        ("wget -q example.org", "needs_network"),
        ('test -n "$(curl -s http://example.org)"', "needs_network"),
        ("bash -c 'curl -s example.org | grep x'", "needs_network"),
        ("timeout 5 ping -c 1 example.org", "needs_network"),
        ("pip install requests && python check.py", "needs_network"),
        ("python -m pip install -e .", "needs_network"),
        ("npm ci", "needs_network"),
        ("apt-get -y install jq", "needs_network"),
        ("git clone https://example.org/x.git", "needs_network"),
        ("nc -z example.org 80", "needs_network"),
        ("python app.py --source https://example.org/data.csv", "needs_network"),
        ("python -c \"from urllib.request import urlopen; urlopen('https://example.org')\"", "needs_network"),
    ],
)
def test_what_is_plain_is_told_by_its_name(command: str, code: Fault) -> None:
    assert fault(command) == code


@pytest.mark.parametrize(
    "command",
    [
        "python check.py",
        "test -f src/solution.py",
        "python check.py && echo ok",
        "set -e; python check.py; echo done",
        "test -f a || exit 1; grep -q b a || exit 1; echo ok",
        "printf '7\\n' | python app.py",
        "grep -q 'time.time(' src/x.py",
        "grep -qE 'https?://example.org/docs' README.md",
        "! grep -rq curl scripts/",
        "python -c 'import random; random.seed(7); assert f(random.random())'",
        "shuf --random-source=seed.txt words.txt | head -1",
        "python -c \"from links import host; assert host('https://example.org/a') == 'example.org'\"",
        "python app.py & until curl -sf http://localhost:8000/health; do sleep 0.1; done",
        "curl -sf http://127.0.0.1:8000/",
        "pip install --no-index --no-deps .",
        "npm test",
        "git log --oneline",
        "test -f tests/random.txt",
        "python -m timeit_report --date 2026-01-01",
        "date -d 2026-01-01 +%A | grep Thursday",
        "cat <<'EOF' | python app.py\ncurl is mentioned here\nEOF",
    ],
)
def test_what_only_looks_like_it_is_let_through(command: str) -> None:
    assert fault(command) is None


@pytest.mark.parametrize(
    "check",
    [
        made("python_call", **CALLS),
        made("cli_io", **ANSWERS),
        made("command_output", command="grep -c x a.txt || true", stdout="0\n"),
    ],
)
def test_inputs_are_no_commands_and_an_expected_output_is_no_vacuity(check: DraftedCheck) -> None:
    assert fault_of_words(check) is None


@pytest.mark.parametrize(
    "check",
    [
        made(command="python check.py", control={"command": "false"}),
        made(
            "python_call",
            module="m",
            function="f",
            generate={"reference": "ref.py", "args": [{"integer": {"min": 0, "max": 9}}]},
        ),
    ],
)
def test_a_draft_has_no_files_beside_the_order(check: DraftedCheck) -> None:
    told = fault_of_words(check)
    assert told
    assert told[0] == "does_not_run"


def test_output_that_depends_on_nothing_is_vacuous_whatever_is_expected_of_it() -> None:
    told = fault_of_words(made("command_output", command="echo ok", stdout="ok\n"))
    assert told
    assert told[0] == "vacuous"
    assert "`echo ok`" in told[1]


def test_a_command_is_taken_apart_where_the_shell_does() -> None:
    command = "cd src && X=1 timeout 5 ./run.sh -v | tee out; bash -c 'curl x'; test \"$(wget y)\" = z"
    assert [program for program, _ in parts_in(command)] == ["cd", "run.sh", "tee", "bash", "curl", "test", "wget"]
    assert [program for program, _ in parts_in("echo 'an open quotation")] == ["echo"]
    assert list(parts_in("  ")) == []
    document = "cat <<EOF > x.txt; wc -l x.txt\ncurl y\nEOF\nls"
    assert [program for program, _ in parts_in(document)] == ["cat", "wc", "ls"]
    assert [program for program, _ in parts_in("bash <<'EOF'\ncurl y\nEOF")] == ["bash", "curl"]
