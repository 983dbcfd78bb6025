"""Work that is refused, repaired and verified, over the command line. A server of the test's plays the fix builder.

The example, whose fix builder is scripted, is in `test_fix_loop_example.py`; what dies meanwhile in
`test_fix_loop_survival.py`.
"""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.fix_loops import (
    GAVE_UP,
    PATTERN,
    claimed_wrong,
    configured,
    repairing,
    rows,
    verified,
    workspace,
    wrong_work,
)
from tests.integration.conftest import LIMIT_SECONDS, Project, make_project, wait_for
from tests.provider import Provider, Received, Turn, calls, output, providing


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with providing() as serving:
        yield serving


@pytest.fixture(scope="module")
def repaired(tmp_path_factory: pytest.TempPathFactory, provider: Provider) -> Iterator[Project]:
    """A project whose fix builder is a model of `provider`. Its host starts once."""
    made = make_project(tmp_path_factory.mktemp("repaired"), tmp_path_factory.mktemp("state"))
    configured(made, provider)
    yield made
    assert made.close().returncode == 0


def test_one_loop_is_enough_and_the_patch_is_in_the_workspace(repaired: Project, provider: Provider) -> None:
    provider.answers(repairing("after", "right"))
    code, report = verified(repaired, wrong_work(repaired, "wo-one"))
    loop = report["fix_loop"]
    assert (code, report["verdict"], report["attempt"]) == (0, "PASS", 2), report
    assert (loop["ending"], loop["loops"], loop["max_loops"]) == ("success", 1, 3)
    (one,) = loop["iterations"]
    assert (one["answer"], one["edits"], one["attempt"], one["outcome"]) == ("APPLIED:1", 1, 2, "verified")
    assert (loop["placed"], loop["paths"]) == ("applied", ["a.txt"])
    assert (workspace(repaired, "wo-one") / "a.txt").read_text() == "right\n"
    folder = Path(loop["summary"]).parent
    assert {"SUMMARY.md", "verifier-loop1.md", "feedback-loop1.md", "patch-loop1.diff", "repair.patch"} <= {
        file.name for file in folder.iterdir()
    }
    assert folder.parent.name == "1", "of the round that it began with"
    assert "+right" in Path(loop["patch"]).read_text()
    steps = [row["action"] for row in repaired.rows("wo-one") if row["workflow_id"] == "fix/local/wo-one/1"]
    assert [one for one in steps if one.startswith(("fix_", "patch_"))] == [
        "fix_loop_started",
        "fix_iteration_started",
        "fix_iteration_completed",
        "patch_applied",
        "fix_loop_ended",
    ]
    assert repaired.run("log", "verify").returncode == 0


@pytest.mark.slow
def test_three_loops_each_begin_with_what_the_one_before_left(repaired: Project, provider: Provider) -> None:
    provider.answers(repairing("after", "one", "two", "right"))
    result = repaired.run("verify", wrong_work(repaired, "wo-three"))
    assert result.returncode == 0, result.stdout + result.stderr
    assert "\nVERIFIED\nwo-three, attempt 4" in result.stdout
    assert "the patch is in the workspace: a.txt" in result.stdout
    for loop in (1, 2, 3):
        assert f"fix loop {loop} of 3  APPLIED:1, 1 edit, 2 calls refused, round {loop + 1}: " in result.stderr
    assert (workspace(repaired, "wo-three") / "a.txt").read_text() == "right\n"


def test_a_repair_that_never_is_right_is_escalated_after_three(repaired: Project, provider: Provider) -> None:
    provider.answers(repairing("after", "one", "two", "three", "four"))
    code, report = verified(repaired, wrong_work(repaired, "wo-never"))
    loop = report["fix_loop"]
    assert (code, loop["ending"], loop["trigger"]) == (4, "escalated", "revision_cap_exceeded")
    assert [one["attempt"] for one in loop["iterations"]] == [2, 3, 4]
    assert len(rows(repaired, "wo-never", "fix_iteration_completed")) == 3
    assert (workspace(repaired, "wo-never") / "a.txt").read_text() == "after\n"
    assert "patch_applied" not in {row["action"] for row in repaired.rows("wo-never")}
    (ended,) = rows(repaired, "wo-never", "fix_loop_ended")
    assert (ended["payload"]["loops"], ended["payload"]["last_verdict"]) == (3, "changes_requested (FEEDBACK)")
    assert (ended["after"]["status"], ended["after"]["review_status"]) == ("needs_human", "escalated")


def test_what_could_not_be_applied_is_a_human_s(repaired: Project, provider: Provider) -> None:
    provider.answers(lambda _: GAVE_UP)
    result = repaired.run("verify", wrong_work(repaired, "wo-gave-up"))
    assert result.returncode == 4, result.stdout + result.stderr
    assert "NOT VERIFIED: a human has to decide" in result.stdout
    assert "[could_not_apply]" in result.stdout
    assert "it would need a new file" in result.stdout


@pytest.mark.parametrize("domain", ["finance", pytest.param("unknown", marks=pytest.mark.slow)])
def test_nothing_of_high_stakes_is_repaired(repaired: Project, provider: Provider, domain: str) -> None:
    provider.received.clear()
    provider.answers(repairing("after", "right"))
    code, report = verified(repaired, wrong_work(repaired, f"wo-{domain}", domain=domain))
    loop = report["fix_loop"]
    assert (code, loop["trigger"], loop["iterations"]) == (4, "high_stakes", [])
    assert provider.received == [], "nobody was asked"


@pytest.mark.slow
def test_another_loop_that_may_cost_too_much_is_not_begun(repaired: Project, provider: Provider) -> None:
    """Two requests a loop, each of $0.30: after two loops $1.20 are spent, and a third may cost $0.60."""
    provider.answers(repairing("after", "one", "two", "right", usage=(100_000, 20_000)))
    dear = {"enabled": True, "max_cost_usd": 1.5}
    code, report = verified(repaired, wrong_work(repaired, "wo-dear", fix_loop=dear))
    loop = report["fix_loop"]
    assert (code, loop["trigger"], len(loop["iterations"])) == (4, "cost_cap_exceeded", 2)
    assert loop["cost_usd"] == pytest.approx(1.2)
    estimates = [row["payload"]["estimate_usd"] for row in rows(repaired, "wo-dear", "fix_iteration_started")]
    assert estimates == pytest.approx([0.0, 0.6])


def test_what_a_fix_builder_may_not_do_is_refused_and_on_record(repaired: Project, provider: Provider) -> None:
    tries = calls(
        ("Edit", {"path": "new.txt", "old": "a", "new": "b"}),
        ("Edit", {"path": "tests/test_a.py", "old": "True", "new": "False"}),
        ("Edit", {"path": "notes.md", "old": "kept", "new": "changed"}),
        ("Edit", {"path": "inside.txt", "old": "after", "new": "right"}),
        ("Edit", {"path": "outside.txt", "old": "secret", "new": "right"}),
        ("Edit", {"path": "../outside/a.txt", "old": "secret", "new": "right"}),
        ("Write", {"path": "new.txt", "text": "right"}),
        ("Bash", {"command": "touch new.txt"}),
    )
    done = repairing("after", "right")

    def script(received: Received) -> Turn:
        return tries if received.answered == 0 else done(received, received.answered - 1)

    provider.answers(script)
    order = wrong_work(repaired, "wo-refused", scope={"allow": ["*.txt"]})
    tree = workspace(repaired, "wo-refused")
    repaired.write(outside__a_dot_txt="secret\n")
    for side in (tree, repaired.root / "wo-refused-base"):
        (side / "tests").mkdir()
        (side / "tests" / "test_a.py").write_text("def test_a():\n    assert True\n")
        (side / "notes.md").write_text("kept\n")
    (tree / "inside.txt").symlink_to("a.txt")
    (tree / "outside.txt").symlink_to("../outside/a.txt")
    code, report = verified(repaired, order)
    assert code == 0, report["fix_loop"]
    (one,) = report["fix_loop"]["iterations"]
    assert (one["refused"], one["edits"], one["paths"]) == (8, 1, ["a.txt"])
    refused = [row["payload"] for row in rows(repaired, "wo-refused", "tool_refused")]
    told = sorted((row["tool"], row["code"]) for row in refused)
    assert told[:2] == [("Bash", "no_such_tool"), ("Edit", "is_link")]
    assert {"not_found", "outside_tree", "protected", "out_of_scope"} <= {code for _, code in told}
    assert ("Write", "no_such_tool") in told
    assert (repaired.root / "outside" / "a.txt").read_text() == "secret\n"
    assert not (tree / "new.txt").exists()
    assert (tree / "notes.md").read_text() == "kept\n"


def test_a_workspace_that_has_changed_since_is_left_as_it_is(repaired: Project, provider: Provider) -> None:
    order = wrong_work(repaired, "wo-offered")
    file = workspace(repaired, "wo-offered") / "a.txt"
    done = repairing("after", "right")

    def script(received: Received) -> Turn:
        file.write_text("after, and a line of somebody's\n")  # while the fix builder is asked
        return done(received)

    provider.answers(script)
    result = repaired.run("verify", order)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "the workspace is left as it is" in result.stdout
    (patch,) = {line.split("patch -p1 < ")[1] for line in result.stdout.splitlines() if "  patch -p1 < " in line}
    assert "+right" in Path(patch.strip().rstrip(".")).read_text()
    assert file.read_text() == "after, and a line of somebody's\n"
    (offered,) = rows(repaired, "wo-offered", "patch_offered")
    assert "a.txt" in offered["payload"]["reason"]


def test_interrupted_in_a_loop_nothing_reaches_the_workspace(repaired: Project, provider: Provider) -> None:
    asked, go = threading.Event(), threading.Event()
    done = repairing("after", "right")

    def script(received: Received) -> Turn:
        asked.set()
        go.wait(LIMIT_SECONDS)
        return done(received)

    provider.answers(script)
    running = repaired.start("verify", wrong_work(repaired, "wo-interrupted"))
    try:
        assert asked.wait(LIMIT_SECONDS)
        wait_for(lambda: bool(rows(repaired, "wo-interrupted", "fix_iteration_started")))
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=LIMIT_SECONDS)
    finally:
        go.set()
    assert (running.returncode, "cancelled: the fix loop was ended" in err) == (130, True), err
    wait_for(lambda: bool(rows(repaired, "wo-interrupted", "fix_loop_ended")))
    (ended,) = rows(repaired, "wo-interrupted", "fix_loop_ended")
    assert ended["payload"]["ending"] == "aborted"
    assert (workspace(repaired, "wo-interrupted") / "a.txt").read_text() == "after\n"


@pytest.mark.slow
def test_a_loop_whose_round_the_harness_cannot_tell_is_could_not_tell(repaired: Project, provider: Provider) -> None:
    """The repair calls a program that the image lacks, and the base has none of it either: nobody could tell."""
    provider.answers(
        lambda received: (
            output({"result": "APPLIED:1", "notes": ""})
            if received.answered
            else calls(("Edit", {"path": "tool", "old": "exit 1", "new": "exec no-such-program"}))
        )
    )
    fields = {"acceptance_criteria": [], "verification": {"auditor": {"enabled": False}, "checks": [TOOL]}}
    order = wrong_work(repaired, "wo-harness", **fields)
    tool = workspace(repaired, "wo-harness") / "tool"
    tool.write_text("#!/bin/sh\nexit 1\n")
    tool.chmod(0o755)
    code, report = verified(repaired, order)
    assert (code, report["fix_loop"]["trigger"]) == (3, "checks_could_not_run"), report
    assert tool.read_text() == "#!/bin/sh\nexit 1\n"


TOOL = {"name": "tool", "command": "./tool"}


def session(project: Project, name: str) -> str:
    """A session of one todo, whose worker command claims wrong work."""
    project.write(**{f"{name}-base__a_dot_txt": "before\n", f"{name}-work__a_dot_txt": "before\n"})
    todo = {
        "id": "a",
        "content": "write it",
        "domain": "refactor",
        "acceptance_criteria": [{"type": "file_contains", "params": {"path": "a.txt", "pattern": PATTERN}}],
        "worker": {"command": claimed_wrong()},
        "scope": {"allow": ["a.txt"]},
        "fix_loop": {"enabled": True},
    }
    defaults = {"workspace": f"{name}-work", "base": f"{name}-base", "verification": {"auditor": {"enabled": False}}}
    (project.root / f"{name}.yaml").write_text(yaml.safe_dump({"id": name, "defaults": defaults, "todos": [todo]}))
    return f"{name}.yaml"


def test_a_todo_s_claim_is_repaired_without_anybody_asking(repaired: Project, provider: Provider) -> None:
    said, done = threading.Event(), repairing("after", "right")

    def script(received: Received) -> Turn:
        said.wait(LIMIT_SECONDS)  # until people have been told
        return done(received)

    provider.answers(script)
    running = repaired.start("run", session(repaired, "claims"), "--json")
    assert running.stderr
    assert any("fix loop 1 of 3" in line for line in running.stderr)
    said.set()
    out, err = running.communicate(timeout=LIMIT_SECONDS)
    assert running.returncode == 0, out + err
    (todo,) = json.loads(out)["todos"]
    assert (todo["status"], todo["review_status"], todo["audits"], todo["revisions"]) == ("verified", "approved", 1, 0)
    assert (workspace(repaired, "claims") / "a.txt").read_text() == "right\n"
    assert len(rows(repaired, "claims/a", "todo_claimed")) == 1


@pytest.mark.parametrize(
    "act",
    [
        ("todo", "delete", "SESSION/a"),
        pytest.param(("session", "stop", "SESSION"), marks=pytest.mark.slow),
    ],
    ids=lambda act: act[1],
)
def test_a_human_act_ends_the_loop_of_a_todo(repaired: Project, provider: Provider, act: tuple[str, ...]) -> None:
    name = f"acts-{act[1]}"
    asked, go = threading.Event(), threading.Event()
    done = repairing("after", "right")

    def script(received: Received) -> Turn:
        asked.set()
        go.wait(LIMIT_SECONDS)
        return done(received)

    provider.answers(script)
    running = repaired.start("run", session(repaired, name))
    try:
        assert asked.wait(LIMIT_SECONDS)
        acted = repaired.run(*(part.replace("SESSION", name) for part in act))
        assert acted.returncode == 0, acted.stdout + acted.stderr
        wait_for(lambda: bool(rows(repaired, f"{name}/a", "fix_loop_ended")))
    finally:
        go.set()
    running.communicate(timeout=LIMIT_SECONDS)
    (ended,) = rows(repaired, f"{name}/a", "fix_loop_ended")
    assert ended["payload"]["ending"] == "aborted"
    assert (workspace(repaired, name) / "a.txt").read_text() == "after\n"
    assert not rows(repaired, f"{name}/a", "escalated")


@pytest.mark.slow
def test_a_human_grants_another_budget(repaired: Project, provider: Provider) -> None:
    """Never right within three loops; returned with a budget, it is with the claim after that."""
    provider.answers(repairing("after", "one", "two", "three", "four"))
    file = session(repaired, "granted")
    assert repaired.run("run", file).returncode == 4
    (escalated,) = rows(repaired, "granted/a", "escalated")
    assert escalated["payload"]["trigger"] == "revision_cap_exceeded"
    provider.answers(repairing("after", "right"))
    returned = repaired.run("return", "granted/a", "--budget", "2", "--reason", "once more")
    assert returned.returncode == 0, returned.stdout + returned.stderr
    (workspace(repaired, "granted") / "a.txt").write_text("before\n")  # else there is nothing new to claim
    again = repaired.run("run", "granted")
    assert again.returncode == 0, again.stdout + again.stderr
    assert (workspace(repaired, "granted") / "a.txt").read_text() == "right\n"
