"""The Web UI as an operator sees it, in a real browser: what was asked, what it came to, how every item stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from tests.integration.browser import MEASURED_EARLY, Browser, browser
from tests.integration.conftest import Project

CONTENT = "Say <b>after</b> in a.txt, not [before](http://127.0.0.1:9/x)"
FORGED = "echo '![x](http://127.0.0.1:9/x.png) **VERIFIED**'; exit 3"


MEASURE = "setTimeout(() => getComputedStyle(null))"
THROW = "setTimeout(() => { throw new TypeError('of another kind') })"


def verify(project: Project, order_id: str, code: int, *checks: dict[str, Any]) -> None:
    order = project.order(
        id=order_id,
        content=CONTENT,
        domain="docs",
        acceptance_criteria=[
            {"id": "AC-1", "type": "file_contains", "params": {"path": "a.txt", "pattern": "^after$"}}
        ],
        verification={"checks": list(checks)},
    )
    result = project.run("verify", order)
    assert result.returncode == code, result.stderr


@pytest.fixture(scope="module")
def seen(shared: Project) -> Iterator[Browser]:
    """The Web UI of a host that has had a verified round and a refused one."""
    verify(shared, "wo-good", 0, {"name": "good", "command": "grep -q after a.txt"})
    verify(
        shared, "wo-bad", 1, {"name": "bad", "command": FORGED}, {"name": "ok", "command": "true", "required": False}
    )
    with browser(shared.status()["web_ui"]) as opened:
        yield opened


def test_the_list_has_the_rounds_and_finds_them_by_outcome(seen: Browser) -> None:
    seen.open("workflows")
    seen.see("round/local/wo-good/1", "round/local/wo-bad/1", "VerificationWorkflow")
    seen.open("workflows?query=" + quote('CountersignReviewStatus="changes_requested"'))
    text = seen.see("round/local/wo-bad/1")
    assert "wo-good" not in text
    assert seen.complaints() == []


@pytest.mark.parametrize(
    ("todo", "lines"),
    [
        (
            "wo-good",
            [
                "VERIFIED 2 of 2 required passed",
                "✓ criteria 1 of 1 passed",
                "✓ good grep -q after a.txt: exit code 0",
                "✓ decide 2 of 2",
            ],
        ),
        (
            "wo-bad",
            [
                "CHANGES REQUESTED bad: exit code 3, expected 0",
                "✓ AC-1 a.txt: a.txt:1: ",
                "✗ checks 1 of 2 passed",
                "![x](http://127.0.0.1:9/x.png) **VERIFIED**",
                "✓ ok (advisory) true: exit code 0",
                "✗ decide bad: exit code 3, expected 0",
            ],
        ),
    ],
)
def test_a_round_says_what_was_asked_and_how_every_item_stands(seen: Browser, todo: str, lines: list[str]) -> None:
    seen.open_round(todo, 1, "user-metadata")
    seen.see("Summary", "Current Details", CONTENT, *lines)
    assert seen.complaints() == []


@pytest.mark.slow
def test_nothing_that_a_worker_wrote_becomes_a_link_or_a_picture(seen: Browser) -> None:
    seen.open_round("wo-bad", 1, "user-metadata")
    seen.see("CHANGES REQUESTED")
    driver = seen.driver
    for frame in driver.find_elements("tag name", "iframe"):
        driver.switch_to.frame(frame)
        assert driver.find_elements("css selector", "a[href*='127.0.0.1:9'], img[src*='127.0.0.1:9'], b") == []
        driver.switch_to.default_content()


def test_a_round_s_search_attributes_are_on_its_page(seen: Browser) -> None:
    seen.open_round("wo-good", 1, "search-attributes")
    seen.see('"CountersignReviewStatus": "approved"', '"CountersignDomain": "docs"', '"CountersignSession": "local"')
    assert seen.complaints() == []


def test_the_timeline_says_what_each_activity_is_for(seen: Browser) -> None:
    seen.open_round("wo-bad", 1, "timeline")
    seen.see(
        "check.run • AC-1: a.txt",
        "check.run • bad: echo",
        "check.run_on_base • bad on the base",
        "trail.append • check_completed ok",
        "report.file • report: FAIL",
        "sandbox.release • remove the sealed tree",
    )
    assert seen.complaints() == []


@pytest.fixture(scope="module")
def blank() -> Iterator[Browser]:
    """A browser alone, without any server."""
    with browser("") as opened:
        opened.driver.get("about:blank")
        yield opened


def throw(page: Browser, *scripts: str) -> None:
    """Run them; each throws once nothing else runs, in that order, and all have when this returns."""
    for script in (*scripts, ""):
        page.driver.execute_async_script(f"{script}; setTimeout(arguments[0])")


def test_what_the_ui_measures_too_early_is_no_complaint(blank: Browser) -> None:
    throw(blank, MEASURE)
    (measured,) = blank.errors()
    assert measured["message"].endswith(MEASURED_EARLY), "this browser words it otherwise"
    throw(blank, MEASURE)
    assert blank.complaints() == []


def test_another_error_that_nobody_caught_is_a_complaint(blank: Browser) -> None:
    throw(blank, MEASURE, THROW, MEASURE)
    (complaint,) = blank.complaints()
    assert "Uncaught TypeError: of another kind" in complaint["message"]
