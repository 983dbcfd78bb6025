"""Signed pins from the command line to the verdict: where only signed acts count, a forged pin file buys nothing."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.conftest import Project
from tests.people import refusals, rows
from tests.signing_people import ANN, BOB, EVE, LONG_AGO, People, people, signed, statement
from tests.terminal import at_terminal

ORDER = Path("work") / ".countersign" / "order.yaml"
CHECK = {"checks": [{"name": "says", "command": "grep -q after a.txt"}]}


@pytest.fixture
def keys(project: Project) -> People:
    """A project that takes only signed acts, with an order that the worker can write."""
    keys = people(project)
    with (project.root / "countersign.toml").open("a") as settings:
        settings.write('\n[policy]\nhuman_acts = "signed"\n')
    write(project)
    return keys


def write(project: Project, **fields: Any) -> None:
    order = {"id": "wo-pin", "content": "x", "workspace": "..", "base": "../../base", "verification": CHECK}
    (project.root / ORDER).parent.mkdir(exist_ok=True)
    (project.root / ORDER).write_text(yaml.safe_dump({**order, **fields}))


def verify(project: Project) -> tuple[int, dict[str, Any]]:
    ended = project.run("verify", str(ORDER), "--json")
    assert ended.stdout, ended.stderr
    return ended.returncode, json.loads(ended.stdout)


def refused(project: Project, code: str, *command: str, exits: int = 1) -> dict[str, Any]:
    """What `trust` answers."""
    ended = project.run("trust", str(ORDER), *command, "--json")
    assert ended.returncode == exits, ended.stdout + ended.stderr
    answer: dict[str, Any] = json.loads(ended.stdout)
    assert answer["code"] == code
    return answer


def pin_file(project: Project) -> Path:
    (found,) = Path(project.environment["XDG_STATE_HOME"]).glob("countersign/*/pins/*.json")
    return found


def test_only_a_signed_pin_counts_and_only_as_it_was_signed(project: Project, keys: People) -> None:
    code, answer = verify(project)
    assert (code, answer["code"]) == (4, "order_changed")
    assert answer["next_step"].endswith(f"countersign trust {ORDER} --key FILE")
    refused(project, "signature_required", "--as", "human:ann", "--yes")
    assert verify(project)[0] == 4

    pinned = project.answer("trust", str(ORDER), "--key", keys.key(ANN), "--reason", "read it", "--json")
    assert (pinned["established"], pinned["actor"]["identity"]) == ("signed", ANN)
    code, report = verify(project)
    assert (code, report["verdict"]) == (0, "PASS")
    (row,) = rows(project, "local/wo-pin", "order_trusted")
    assert row["actor"] == {"role": "human", "identity": ANN}
    assert (row["payload"]["signature"]["signer"], row["payload"]["reason"]) == (ANN, "read it")
    checked = json.loads(project.run("log", "verify", "--json").stdout)
    assert (checked["signatures"], checked["faults"]) == (1, [])

    forge(project)
    code, answer = verify(project)
    assert (code, answer["code"]) == (4, "order_changed")
    assert "its pin is not what was signed" in answer["reason"]

    pin = json.loads(pin_file(project).read_text())
    pin_file(project).write_text(json.dumps({**pin, "signature": None, "established": "terminal"}))
    code, answer = verify(project)
    assert (code, answer["code"]) == (4, "order_changed")
    assert "without a signature" in answer["reason"]


def forge(project: Project) -> None:
    """Weaken the order, and pin that: as a person would without the policy, with the signature that is there."""
    write(project, verification={"checks": [{"name": "says", "command": "true"}]})
    pin, before = pin_file(project), json.loads(pin_file(project).read_text())
    settings = project.root / "countersign.toml"
    kept = settings.read_text()
    settings.write_text("")
    try:
        done = project.run("trust", str(ORDER), "--as", "human:ann", "--yes", "--json")
        assert done.returncode == 0, done.stderr
    finally:
        settings.write_text(kept)
    forged = json.loads(pin.read_text())
    said = {name: before[name] for name in ("actor", "established", "at", "signature")}
    pin.write_text(json.dumps({**forged, **said}))


def test_a_pin_of_before_the_policy_and_one_whose_signer_is_gone_do_not_count(project: Project, keys: People) -> None:
    settings = project.root / "countersign.toml"
    strict = settings.read_text()
    settings.write_text(strict.replace('"signed"', '"any"'))
    project.answer("trust", str(ORDER), "--as", "human:ann", "--yes", "--json")
    assert verify(project)[0] == 0
    settings.write_text(strict)
    code, answer = verify(project)
    assert (code, answer["code"]) == (4, "order_changed")
    assert "without a signature" in answer["reason"]
    assert "--key FILE" in answer["next_step"]

    project.answer("trust", str(ORDER), "--key", keys.key(ANN), "--json")
    assert verify(project)[0] == 0
    settings.write_text(strict.replace("[signers.roles]\n", f'[signers.roles]\n"{BOB}" = "owner"\n'))
    keys.listed(BOB)
    settings.write_text(settings.read_text().replace(f'"{ANN}" = "owner"\n', ""))
    code, answer = verify(project)
    assert (code, answer["code"]) == (4, "order_changed")
    assert f"the signature of {ANN} is not good by the [signers] of now" in answer["reason"]
    project.answer("trust", str(ORDER), "--key", keys.key(BOB), "--json")
    assert verify(project)[0] == 0


def test_a_signature_made_elsewhere_is_used_once_and_a_bad_one_is_refused_and_recorded(
    project: Project, keys: People
) -> None:
    trust = ("trust", str(ORDER))
    text = statement(project, *trust)
    by_hand = signed(project, text, keys.key(ANN))
    assert project.answer(*trust, *by_hand, "--json")["established"] == "signed"
    refused(project, "nonce_spent", *by_hand)
    refused(project, "unknown_signer", "--key", keys.key(EVE))
    refused(project, "role_required", "--key", keys.key(BOB))
    refused(project, "signature_mismatch", "--key", keys.key(ANN), "--as", f"human:{BOB}")
    refused(project, "bad_signature", *signed(project, statement(project, *trust), keys.key(ANN), "git"))
    refused(project, "signature_expired", *signed(project, statement(project, *trust, expiry=LONG_AGO), keys.key(ANN)))
    text = statement(project, *trust)
    write(project, content="y")
    refused(project, "stale_signature", *signed(project, text, keys.key(ANN)), exits=6)
    ended = project.run(*trust, "--key", keys.key(ANN), "--json", CLAUDECODE="1")
    assert json.loads(ended.stdout)["code"] == "forbidden"
    codes = [code for command, code in refusals(project, "local/") if command == "trust"]
    assert codes == [
        *("nonce_spent", "unknown_signer", "role_required", "signature_mismatch", "bad_signature"),
        *("signature_expired", "stale_signature", "forbidden"),
    ]
    write(project)
    assert verify(project)[0] == 0

    refused(project, "signature_required", "--revoke", "--as", "human:ann", "--yes")
    pin = pin_file(project)
    kept = pin.read_bytes()
    assert project.answer(*trust, "--revoke", "--key", keys.key(ANN), "--json")["revoked"]
    assert verify(project)[0] == 4
    pin.write_bytes(kept)
    code, answer = verify(project)
    assert (code, "not the last one" in answer["reason"]) == (4, True)
    checked = json.loads(project.run("log", "verify", "--json").stdout)
    assert (checked["signatures"], checked["faults"]) == (2, [])


def test_init_at_a_terminal_says_that_the_order_takes_a_signature(project: Project, keys: People) -> None:
    subprocess.run(["git", "init", "-q", "work"], cwd=project.root, check=True)
    code, shown = at_terminal(("init", "work", "--force"), project.root, project.environment)
    assert code == 0, shown
    assert "not pinned: it takes a signature" in shown
    assert f"countersign trust {ORDER} --key FILE" in shown
