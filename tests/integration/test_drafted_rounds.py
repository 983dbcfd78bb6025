"""`countersign verify` of an order in words alone: what is drafted for it is linted in containers.

A script plays the model.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from tests.integration.conftest import Project

GOOD = 'test "$(cat a.txt)" = after'
BY_ITS_WORDS = {
    "AC-2": ("vacuous", "true"),
    "AC-3": ("flaky", 'test "$(python3 -c "import random; print(random.randint(0, 1))")" = 1'),
    "AC-4": ("needs_network", "curl -sf https://service.invalid/health"),
}
BY_ITS_RUNS = {
    "AC-5": ("vacuous", "test ! -e gone.txt"),
    "AC-6": ("passes_on_base", "grep -q . a.txt"),
    "AC-7": ("needs_network", "python3 -c \"import socket; socket.getaddrinfo('service.invalid', 80)\""),
    "AC-8": ("does_not_run", "no-such-program a.txt"),
}
BAD = BY_ITS_WORDS | BY_ITS_RUNS
IDS = ("AC-1", *BAD)


def _check(criterion: str, command: str) -> dict[str, Any]:
    return {"id": criterion, "type": "command_exit_zero", "params": {"command": command}}


def _script() -> str:
    """Of the second plan the first turn is refused, since it is about all criteria; the second gives one of them up."""
    requirements = [{"id": f"R{n}", "text": f"requirement {n}"} for n in range(1, len(IDS) + 1)]
    criteria = [{"id": id, "text": f"it does {id}", "requirements": [f"R{n}"]} for n, id in enumerate(IDS, 1)]
    bad = [_check(id, command) for id, (_, command) in BAD.items()]
    answers: dict[str, list[dict[str, Any]]] = {
        "design": [{"summary": "one line", "requirements": requirements, "criteria": criteria}],
        "strategy": [
            {"checks": [_check("AC-1", GOOD), *bad]},
            {"checks": bad[1:], "untestable": [{"criterion": "AC-2", "reason": "only a reader can tell"}]},
        ],
    }
    return yaml.safe_dump([{"stage": stage, "answer": said} for stage, all_ in answers.items() for said in all_])


@pytest.mark.slow
def test_what_may_not_count_is_rejected_by_name_and_the_rest_decides(project: Project) -> None:
    project.write(script_dot_yaml=_script())
    order = project.order(id="wo-words", content="Let a.txt say after.", verification={"auditor": {"enabled": False}})
    scripted = {"COUNTERSIGN_MODEL": f"script:{project.root / 'script.yaml'}"}
    result = project.run("verify", order, "--json", **scripted)
    assert result.stdout, result.stderr
    report = json.loads(result.stdout)
    told = {line["id"]: (line["test_type"], line["outcome"]) for line in report["criteria"]}
    assert told["AC-1"] == ("command_exit_zero", "passed")
    assert {told[id][0] for id in BAD} == {"subjective"}
    assert [reason["code"] for reason in report["reasons"]] == ["not_judged"]
    rows = [row["payload"] for row in project.rows("wo-words") if row["action"] == "check_rejected"]
    rejected = [(row["criterion"], row["code"], row["check"], row["dropped"]) for row in rows]
    named = [(id, code, command) for id, (code, command) in BAD.items()]
    assert rejected == [*((*one, False) for one in named), *((*one, True) for one in named[1:])]
    again = project.run("verify", order, "--json", **scripted)
    assert json.loads(again.stdout)["attempt"] == 2, again.stderr
    actions = [row["action"] for row in project.rows("wo-words")]
    assert actions.count("tests_generated") == 1, "the second attempt is held to the same checks"
