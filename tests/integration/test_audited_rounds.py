"""`countersign verify` with an auditor, whose models are played by a server that speaks their protocols."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adapters.ledger import SqlLedger
from tests.auditor import KEY, KEY_VARIABLE, approve, audits, configure, look, stage_of
from tests.integration.conftest import LIMIT_SECONDS, Project, make_project, wait_for
from tests.provider import Provider, Received, Turn, call, calls, fault, providing, text

CAP = 0.5
"""Dollars a todo; the estimate of one request is above 0.08 of them, for 8,192 tokens out."""

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "audited"
WORDS = ("CANARY-OF-THE-EXPLANATION", "CANARY-OF-THE-EVIDENCE", "CANARY-OF-A-COMMAND", "CANARY-OF-ITS-OUTPUT")
CLAIM = {
    "explanation": f"I wrote the line; see [log]. {WORDS[0]}",
    "evidence": [{"label": "log", "type": "command_output", "data": WORDS[1]}],
    "files_modified": ["a.txt"],
    "commands_run": [{"command": f"echo {WORDS[2]}", "stdout": WORDS[3], "stderr": "", "exit_code": 0}],
}


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with providing() as serving:
        yield serving


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory, provider: Provider) -> Iterator[Project]:
    """A project whose auditor has two models, both of `provider`. Its host starts once."""
    made = make_project(tmp_path_factory.mktemp("audited"), tmp_path_factory.mktemp("state"))
    made.environment[KEY_VARIABLE] = KEY
    configure(made.root, provider.openai_url, provider.anthropic_url, todo=CAP)
    (made.root / "claim.json").write_text(json.dumps(CLAIM))
    yield made
    assert made.close().returncode == 0


@pytest.fixture
def sent(provider: Provider) -> Iterator[list[Received]]:
    """What the server is sent in this test."""
    provider.received.clear()
    yield provider.received


def order(project: Project, name: str, pattern: str = "after", **fields: Any) -> str:
    """One criterion that a program can tell, and one that only a judge can; nobody argues about it."""
    line = {"id": "AC-1", "type": "file_contains", "params": {"path": "a.txt", "pattern": pattern}}
    reads = {"id": "AC-2", "type": "subjective", "description": "reads well"}
    return project.order(id=name, acceptance_criteria=[line, reads], verification={"adversarial": "never"}, **fields)


def verified(project: Project, *arguments: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the report."""
    result = project.run("verify", *arguments, "--again", "--json")
    assert result.stdout, result.stderr
    report: dict[str, Any] = json.loads(result.stdout)
    return result.returncode, report


def codes(report: dict[str, Any]) -> list[str]:
    return [reason["code"] for reason in report["reasons"]]


def state_of(project: Project) -> Path:
    (folder,) = Path(project.environment["XDG_STATE_HOME"]).glob("countersign/*")
    return folder


def test_a_key_that_is_not_set_is_said_before_anything_is_started(audited: Project, sent: list[Received]) -> None:
    """First here: a host that is there may have it."""
    refused = audited.run("verify", order(audited, "wo-keyless"), **{KEY_VARIABLE: ""})
    assert (refused.returncode, refused.stderr) == (
        2,
        f"environment:1: {KEY_VARIABLE}: is not set, expected the key of 'first'\n"
        f"environment:1: {KEY_VARIABLE}: is not set, expected the key of 'second'\n",
    )
    assert not list(Path(audited.environment["XDG_STATE_HOME"]).glob("countersign/*/host.log"))


def test_an_approval_that_quotes_what_was_seen_verifies_and_the_first_look_is_blind(
    audited: Project, provider: Provider, sent: list[Received]
) -> None:
    provider.answers(audits([look], [approve]))
    name = order(audited, "wo-approved")
    code, report = verified(audited, name, "--claim", "claim.json")
    assert (code, report["verdict"], report["summary"]["audited"]) == (0, "PASS", True), report["reasons"]
    assert [stage_of(one) for one in sent] == ["blind", "informed"]
    assert {one.key for one in sent} == {KEY}
    code, report = verified(audited, name, "--claim", "claim.json")  # a second attempt has an earlier verdict
    assert code == 0
    blind, informed = ([one.text for one in sent if stage_of(one) == stage] for stage in ("blind", "informed"))
    for word in (*WORDS, "previous_verdicts", "audit_attempt", "commands_run", "the change has it"):
        assert not [one for one in blind if word in one], word
        assert word in informed[1], word
    rows = [row for row in audited.rows("wo-approved") if row["attempt"] == 2]
    said = [row["payload"] for row in rows if row["action"] == "role_pass_completed"]
    assert [(one["stage"], one["outcome"], one["model"], one["scripted"]) for one in said] == [
        ("blind", "answered", "first", False),
        ("informed", "answered", "first", False),
    ]
    assert [row["actor"]["role"] for row in rows if row["action"] == "audit_completed"] == ["auditor"]


def test_each_tool_reads_the_frozen_tree_and_what_would_write_is_refused_and_on_record(
    audited: Project, provider: Provider, sent: list[Received]
) -> None:
    reads = calls(
        ("Read", {"path": "a.txt"}),
        ("grep", {"pattern": "aft.r"}),
        ("glob", {"pattern": "*.txt"}),
        ("git_diff", {}),
    )
    refused = calls(
        ("Write", {"path": "a.txt", "text": "mine"}),
        ("bash", {"command": "id"}),
        ("Read", {"path": "../../etc/passwd"}),
        ("Read", {"path": "/etc/passwd"}),
        ("browser_navigate", {"url": "http://127.0.0.1:1/"}),
        ("git_log", {}),  # what the worker says of its work comes with the second look
    )
    runs = call("run_tests", {"name": "AC-1"})
    provider.answers(audits([reads, refused, runs, look], [call("git_log", {}), approve]))
    code, _ = verified(audited, order(audited, "wo-tools"))
    assert code == 0
    told = sent[1].user
    for words in ("after", "a.txt:1:", "+after", "-before"):
        assert words in told, words
    rows = audited.rows("wo-tools")
    listed = [row["payload"] for row in rows if row["action"] == "tool_refused"]
    assert sorted((one["tool"], one["code"]) for one in listed) == [
        ("Read", "outside_tree"),
        ("Read", "outside_tree"),
        ("Write", "no_such_tool"),
        ("bash", "no_such_tool"),
        ("browser_navigate", "no_such_tool"),
        ("git_log", "no_such_tool"),
    ]
    assert "root:" not in "".join(one.text for one in sent)


def test_the_other_protocol_stands_in_where_the_first_refuses_the_key(
    audited: Project, provider: Provider, sent: list[Received]
) -> None:
    answering = audits([look], [approve])
    provider.answers(lambda received: fault(401) if received.protocol == "openai" else answering(received))
    code, report = verified(audited, order(audited, "wo-fallback"))
    assert (code, report["verdict"]) == (0, "PASS")
    assert [one.protocol for one in sent] == ["openai", "anthropic"] * 2
    assert [one["model"] for one in report["audits"]] == ["second", "second"]


def test_an_approval_that_cites_nothing_is_asked_again_and_comes_to_nothing(
    audited: Project, provider: Provider, sent: list[Received]
) -> None:
    def uncited(received: Received) -> Turn:
        whole = approve(received).output
        assert whole is not None
        return Turn(output={**whole, "evidence_citations": []})

    provider.answers(audits([look], [uncited]))
    code, report = verified(audited, order(audited, "wo-uncited"))
    assert (code, report["verdict"], codes(report)) == (3, "INCONCLUSIVE", ["auditor_inconclusive"])
    assert [stage_of(one) for one in sent] == ["blind", "informed", "informed", "informed"]
    assert "at least one id in evidence_citations" in sent[2].user


def test_no_word_of_a_model_turns_a_failed_check_into_a_pass(
    audited: Project, provider: Provider, sent: list[Received]
) -> None:
    provider.answers(audits([look], [approve]))
    code, report = verified(audited, order(audited, "wo-failed", pattern="never written"))
    assert (code, report["verdict"]) == (1, "FAIL")
    assert codes(report)[0] == "no_match"
    assert [stage_of(one) for one in sent] == ["blind", "informed", "informed", "informed"]
    assert "'AC-1' is required and failed, so the work cannot be approved" in sent[2].user


def test_a_cap_ends_a_loop_before_it_is_passed(audited: Project, provider: Provider, sent: list[Received]) -> None:
    dear = (1_000, 12_000)  # tokens: $0.121, of which the estimate has less
    provider.answers(lambda received: call("Read", {"path": "a.txt", "start": received.answered + 1}, usage=dear))
    code, report = verified(audited, order(audited, "wo-dear"))
    assert (code, report["verdict"], codes(report)) == (4, "INCONCLUSIVE", ["cost_cap_exceeded"])
    assert report["usage"]["requests"] == len(sent) == 4
    assert report["usage"]["cost_usd"] == pytest.approx(4 * 0.121)
    assert report["usage"]["cost_usd"] < CAP < report["usage"]["cost_usd"] + 0.121


def test_text_that_is_no_answer_is_no_verdict(audited: Project, provider: Provider, sent: list[Received]) -> None:
    provider.answers(audits([text("VERDICT: PASS. Everything is fine, trust me.")]))
    code, report = verified(audited, order(audited, "wo-text"))
    assert (code, codes(report)) == (3, ["auditor_inconclusive"])
    assert len(sent) == 3


@pytest.mark.slow
def test_a_pass_that_was_killed_pays_for_nothing_twice(
    audited: Project, provider: Provider, sent: list[Received]
) -> None:
    """Eight requests, the worker killed while the fifth is under way: the four before it are not sent again."""
    steps = [call("Read", {"path": "a.txt", "start": number}) for number in range(1, 8)]
    playing = audits([*steps, look], [approve])
    killed = threading.Event()

    def script(received: Received) -> Turn:
        if stage_of(received) == "blind" and received.answered == 4 and len(sent) == 5:
            killed.wait(LIMIT_SECONDS)
        return playing(received)

    provider.answers(script)
    name = order(audited, "wo-killed")
    running = audited.start("verify", name, "--json")
    wait_for(lambda: len(sent) == 5)
    os.kill(audited.status()["worker_pid"], signal.SIGKILL)
    killed.set()
    out, err = running.communicate(timeout=LIMIT_SECONDS)
    assert running.returncode == 0, err
    report = json.loads(out)
    assert report["verdict"] == "PASS"
    blind = [one.answered for one in sent if stage_of(one) == "blind"]
    assert blind == [0, 1, 2, 3, 4, 4, 5, 6, 7]
    first, _ = report["audits"]
    assert (first["outcome"], len(sent)) == ("answered", 10)
    ledger = SqlLedger(f"sqlite:///{state_of(audited)}/trail.db")
    try:
        spent = ledger.spent("local", "wo-killed")
    finally:
        ledger.close()
    assert spent.requests == 10
    assert (spent.input_tokens, spent.output_tokens) == (900, 180)
    assert spent.micros == 9 * (100 + 200)
    assert 80_000 < spent.lost < 100_000


def test_the_example_is_played_from_a_script_and_says_so_everywhere(audited: Project, sent: list[Received]) -> None:
    """Last here: with another model the host makes way for another one."""
    scripted = {"COUNTERSIGN_MODEL": f"script:{EXAMPLE / 'auditor.yaml'}"}
    line = ("verify", str(EXAMPLE / "order.yaml"), "--workspace")
    right = audited.run(*line, str(EXAMPLE / "worker_right"), **scripted)
    assert (right.returncode, "scripted: no model judged" in right.stdout) == (0, True), right.stdout + right.stderr
    wrong = audited.run(*line, str(EXAMPLE / "worker_wrong"), "--json", **scripted)
    report = json.loads(wrong.stdout)
    assert (wrong.returncode, codes(report)) == (3, ["auditor_inconclusive"])
    assert [one["scripted"] for one in report["audits"]] == [True]
    passes = [row["payload"] for row in audited.rows("wo-audited") if row["action"] == "role_pass_completed"]
    assert [one["scripted"] for one in passes] == [True, True, True]
    assert sent == []
