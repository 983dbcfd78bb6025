"""Exit code 4 of `verify` leads somewhere: a person finds the round, decides, and the next round is told."""

from __future__ import annotations

import json
import os
import shlex
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.integration.conftest import Project, alive, wait_for
from tests.people import refusals, rows, status, waits
from tests.signing_people import ANN, EVE, people

UNCHECKED: dict[str, Any] = {"objective_only": True}


def judged(project: Project, name: str, code: int = 4, **fields: Any) -> dict[str, Any]:
    """A round of an order without checks: its report."""
    order = project.order(id=name, verification=UNCHECKED, **fields)
    ended = project.run("verify", order, "--json")
    assert ended.returncode == code, ended.stderr
    report: dict[str, Any] = json.loads(ended.stdout)
    return report


def waiting(project: Project, name: str) -> bool:
    """Whether the standalone todo is in the inbox."""
    return name in [one["todo"] for one in waits(project, "local")]


def test_the_commands_that_the_report_names_resolve_it(shared: Project) -> None:
    report = judged(shared, "wo-any")
    review, approve, reject = report["next"]
    assert review == "countersign review local/wo-any"
    assert approve == "countersign approve local/wo-any --expected-version 1"
    assert reject == "countersign reject local/wo-any --feedback TEXT --expected-version 1"
    (entry,) = waits(shared, "local")
    assert (entry["todo"], entry["kind"], entry["next"]) == ("wo-any", "nothing_to_check", report["next"])
    page = shared.answer(*shlex.split(review)[1:], "--json")
    assert (page["standalone"], page["current"], page["snapshot"]) == (
        True,
        True,
        report["snapshot"]["head_digest"],
    )
    assert [one["path"] for one in page["difference"]["files"]] == ["a.txt"]

    tried = shared.answer(*shlex.split(approve)[1:], "--dry-run", "--json")
    assert (tried["status"], tried["dry_run"]) == ("verified", True)
    assert waiting(shared, "wo-any")
    done = shared.answer(*shlex.split(approve)[1:], "--reason", "read it", "--json")
    assert (done["status"], done["review_status"], done["attempt"]) == ("verified", "approved", 1)
    assert not waiting(shared, "wo-any")
    assert status(shared, "local/wo-any") == ("verified", "approved")
    (row,) = rows(shared, "local/wo-any", "approved")
    assert (row["attempt"], row["payload"]["snapshot"]) == (1, report["snapshot"]["head_digest"])
    assert row["payload"]["reason"] == "read it"
    assert shared.run("log", "verify").returncode == 0

    answered = judged(shared, "wo-any", 0)
    assert (answered["attempt"], answered["verdict"], answered["next"]) == (1, "PASS", [])
    assert (answered["remembered"]["kind"], answered["remembered"]["attempt"]) == ("approved", 1)
    again = shared.run("approve", "wo-any", "--json")
    assert again.returncode == 1
    assert json.loads(again.stdout)["code"] == "illegal_transition"
    assert refusals(shared, "local/wo-any") == [("approve", "illegal_transition")]


def test_a_rejection_holds_for_its_tree_and_goes_to_the_next_attempt(shared: Project) -> None:
    judged(shared, "wo-back")
    shared.answer("reject", "local/wo-back", "--feedback", "say why in a.txt", "--json")
    assert not waiting(shared, "wo-back")
    answered = judged(shared, "wo-back", 1)
    assert (answered["attempt"], answered["remembered"]["kind"]) == (1, "rejected")
    assert answered["retry_context"]["human_feedback"] == "say why in a.txt"
    ended = shared.run("verify", "wo-back.yaml", "--again", "--json")
    assert ended.returncode == 1, ended.stderr
    report = json.loads(ended.stdout)
    assert [reason["code"] for reason in report["reasons"]] == ["rejected_by_person"]
    assert report["retry_context"]["human_feedback"] == "say why in a.txt"
    before = shared.root.joinpath("work", "a.txt").read_text()
    try:
        shared.write(work__a_dot_txt="after, because\n")
        report = judged(shared, "wo-back")
        assert [reason["code"] for reason in report["reasons"]] == ["nothing_to_check"]
        assert waiting(shared, "wo-back")
        stale = shared.run("approve", "local/wo-back", "--expected-version", "1", "--json")
        assert stale.returncode == 6
        assert json.loads(stale.stdout)["code"] == "stale_version"
        shared.answer("approve", "local/wo-back", "--json")
        assert status(shared, "local/wo-back") == ("verified", "approved")
    finally:
        shared.write(work__a_dot_txt=before)


@pytest.mark.parametrize(
    "command",
    [
        ("return", "local/wo-alone", "--reason", "x"),
        ("unblock", "local/wo-alone", "--clarification", "x"),
        ("todo", "edit", "local/wo-alone", "--set", "content=x"),
        ("todo", "delete", "local/wo-alone"),
        ("todo", "start", "local/wo-alone", "--as", "worker:bot"),
    ],
)
def test_what_only_a_todo_of_a_session_takes_is_refused_with_the_way_out(
    shared: Project, command: tuple[str, ...]
) -> None:
    if not shared.rows("local/wo-alone"):
        judged(shared, "wo-alone")
    answer = shared.run(*command, "--json")
    assert answer.returncode == 1, answer.stdout + answer.stderr
    refused = json.loads(answer.stdout)
    assert refused["code"] == "stands_alone"
    assert "countersign" in refused["next_step"]
    assert status(shared, "local/wo-alone") == ("needs_human", "escalated")


def test_of_two_people_at_once_one_decides(shared: Project) -> None:
    judged(shared, "wo-twice")
    acts = (("approve", "local/wo-twice", "--json"), ("reject", "local/wo-twice", "--feedback", "no", "--json"))
    with ThreadPoolExecutor(2) as both:
        ended = list(both.map(lambda act: shared.run(*act), acts))
    decided = rows(shared, "local/wo-twice", "approved", "changes_requested")
    codes = [one.returncode for one in ended]
    if codes == [0, 0]:  # the second read what the first had done, and decided differently
        first, second = decided
        assert {first["action"], second["action"]} == {"approved", "changes_requested"}, ended
        assert second["before"]["status"] == first["after"]["status"] != first["before"]["status"], ended
    else:
        assert len(decided) == 1, ended
        assert sorted(codes) in ([0, 1], [0, 6]), ended
    assert shared.run("log", "verify").returncode == 0


def worker_of(project: Project) -> int | None:
    """The process id of the worker that runs now."""
    told = json.loads(project.run("status", "--json").stdout)
    found: int | None = told.get("worker_pid")
    return found if found and alive(found) else None


def test_a_decision_after_everything_was_killed_is_done_once(project: Project) -> None:
    judged(project, "wo-any")
    before = project.status()
    for name in ("host_pid", "worker_pid", "server_pid"):
        os.kill(before[name], signal.SIGKILL)
    wait_for(lambda: not any(alive(before[name]) for name in ("host_pid", "worker_pid", "server_pid")))
    assert waiting(project, "wo-any"), "the inbox asks no workflow"
    act = project.start("approve", "local/wo-any", "--json")
    wait_for(lambda: worker_of(project) is not None or act.poll() is not None)
    if (worker := worker_of(project)) is not None:  # the act is under way, or about to be
        os.kill(worker, signal.SIGKILL)
    out, err = act.communicate(timeout=300)
    assert act.returncode == 0, err
    assert json.loads(out)["status"] == "verified"
    assert len(rows(project, "local/wo-any", "approved")) == 1


def test_where_signatures_are_required_only_a_signed_decision_is_taken(project: Project) -> None:
    keys = people(project, "required")
    report = judged(project, "wo-any")
    assert " --key FILE " in f"{report['next'][1]} "
    refused = project.run("approve", "local/wo-any", "--json")
    assert refused.returncode == 1
    assert json.loads(refused.stdout)["code"] == "signature_required"
    unknown = project.run("approve", "local/wo-any", "--key", keys.key(EVE), "--json")
    assert json.loads(unknown.stdout)["code"] == "unknown_signer"
    done = project.answer("approve", "local/wo-any", "--key", keys.key(ANN), "--json")
    assert (done["status"], done["signer"]) == ("verified", ANN)
    (row,) = rows(project, "local/wo-any", "approved")
    assert row["actor"] == {"role": "human", "identity": ANN}
    assert row["payload"]["signature"]["signer"] == ANN
    checked = project.run("log", "verify", "--json")
    assert checked.returncode == 0, checked.stdout
