"""Pause and resume by `temporal workflow signal` and by the Web UI's form: what comes of them, and their rows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.browser import Browser, browser
from tests.integration.conftest import Project, wait_for
from tests.people import has, hears, refusals, rows, session, signal


def address(project: Project) -> str:
    """Of the server that works for it."""
    return str(project.status()["temporal_address"])


def session_is(project: Project, name: str, wanted: str) -> None:
    """Wait until a session stands there."""
    wait_for(lambda: project.answer("session", "show", name, "--json")["session"]["status"] == wanted)


def test_a_session_is_paused_and_goes_on(shared: Project) -> None:
    session(shared, "signals", "a")
    server = address(shared)
    signal(server, "session/signals", "pause", {"by": "ann", "reason": "lunch"})
    session_is(shared, "signals", "paused")
    hears(shared, "signals/a", "paused")
    refused = shared.run("todo", "start", "signals/a", "--as", "worker:bot", "--json")
    assert refused.returncode == 1
    assert refusals(shared, "signals/a") == [("start", "session_paused")]
    signal(server, "session/signals", "resume")
    session_is(shared, "signals", "running")
    hears(shared, "signals/a", "running")
    shared.answer("todo", "start", "signals/a", "--as", "worker:bot", "--json")
    signal(server, "session/signals", "pause", {})
    session_is(shared, "signals", "paused")
    told = [(row["action"], row["actor"], row["payload"]["reason"]) for row in rows(shared, "signals/", *MOVES)]
    assert told == [
        ("paused", {"role": "unattributed", "identity": "ann"}, "lunch"),
        ("resumed", {"role": "unattributed", "identity": ""}, ""),
        ("paused", {"role": "unattributed", "identity": ""}, ""),
    ]


MOVES = ("paused", "resumed")


def test_what_makes_no_sense_is_recorded_and_the_session_lives(shared: Project) -> None:
    session(shared, "senseless", "a")
    server = address(shared)
    signal(server, "session/senseless", "pause", "nonsense")
    signal(server, "session/senseless", "resume", {"by": "ann"}, {"by": "bob"})
    signal(server, "session/senseless", "pause", {"by": "ann", "raeson": "lunch"})
    wait_for(has(shared, "senseless/", "refused", 3))
    told = [(row["actor"]["identity"], row["payload"]["reason"]) for row in rows(shared, "senseless/", "refused")]
    assert told == [
        ("", "the input is text, expected an object"),
        ("", "2 inputs, expected one"),
        ("ann", "unknown field 'raeson'"),
    ]
    assert {code for _, code in refusals(shared, "senseless/")} == {"malformed"}
    signal(server, "session/senseless", "pause", {"by": "ann"})
    session_is(shared, "senseless", "paused")


def test_a_signal_to_a_session_that_is_over_is_refused(shared: Project) -> None:
    session(shared, "over", "a")
    shared.answer("session", "stop", "over", "--json")
    signal(address(shared), "session/over", "resume", {"by": "ann"})
    wait_for(has(shared, "over/", "refused"))
    assert refusals(shared, "over/") == [("resume", "session_stopped")]
    assert shared.run("log", "verify").returncode == 0


@pytest.fixture
def seen(shared: Project) -> Iterator[Browser]:
    """The Web UI of the shared host."""
    assert shared.run("up").returncode == 0
    with browser(shared.status()["web_ui"]) as opened:
        yield opened


@pytest.mark.slow
def test_a_session_is_paused_by_the_form_of_the_web_ui(shared: Project, seen: Browser) -> None:
    session(shared, "form", "a")
    seen.open("workflows/session%2Fform")
    seen.see("session/form", "Event History")
    seen.press("button#workflow-actions, button[aria-controls=workflow-actions]")
    seen.press("[data-testid=signal-button]")
    seen.press("[data-testid=signal-select-button]")
    seen.press("[role=option]", "pause")
    # the editor closes the brace by itself
    seen.press("dialog [contenteditable=true]").send_keys('{"by": "ann", "reason": "seen in the Web UI"')
    seen.press("dialog [data-testid=confirm-modal-button]", "Submit")
    session_is(shared, "form", "paused")
    (row,) = rows(shared, "form/", "paused")
    assert (row["actor"]["identity"], row["payload"]["reason"]) == ("ann", "seen in the Web UI")
