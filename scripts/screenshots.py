"""Makes the pictures of the Web UI in docs/: a refused and a verified round of the example, in headless Chromium."""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from tests.integration.browser import Browser, browser
from tests.integration.conftest import Project, make_project

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "is_prime"
TODO = "wo-is-prime"
DRAWN_SECONDS = 3.0
"""Bars and frames still move when the words are there."""


def verify(project: Project, workspace: str, code: int) -> None:
    """One round of the example, which has to end with `code`."""
    result = project.run("verify", str(EXAMPLE / "order.yaml"), "--workspace", str(EXAMPLE / workspace), "--again")
    if result.returncode != code:
        raise SystemExit(result.stdout + result.stderr)


def picture(seen: Browser, name: str, *words: str) -> None:
    """Once the page says all of `words`."""
    seen.see(*words)
    time.sleep(DRAWN_SECONDS)
    if not seen.driver.save_screenshot(str(ROOT / "docs" / f"{name}.png")):
        raise SystemExit(f"no picture of {name}")


def main() -> None:
    """A refused round and a verified one, then a picture of each page that an operator looks at first."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "project").mkdir()
        project = make_project(Path(folder) / "project", Path(folder) / "state")
        try:
            verify(project, "worker_first", 1)
            verify(project, "worker_second", 0)
            with browser(project.status()["web_ui"], height=1100) as seen:
                seen.open("workflows?query=" + quote('CountersignReviewStatus="changes_requested"'))
                picture(seen, "web-ui-list", f"round/local/{TODO}/1")
                seen.open_round(TODO, 1, "user-metadata")
                picture(seen, "web-ui-details", "CHANGES REQUESTED", "decide")
                seen.open_round(TODO, 1, "timeline")
                words = ("check.run • AC-4", "report.file • report: FAIL", "wrong_result")
                seen.see(*words)
                seen.driver.execute_script("[...document.querySelectorAll('h2')].at(-1).scrollIntoView()")
                picture(seen, "web-ui-timeline", *words)
        finally:
            project.run("down")


if __name__ == "__main__":
    main()
