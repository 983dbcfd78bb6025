"""An auditor that looks at a page, in a real browser behind the command, host and worker."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.auditor import KEY, KEY_VARIABLE, approve, audits, configure, look
from tests.integration.conftest import Project
from tests.provider import calls, providing
from tests.web_site import elsewhere, site

PAGE = """<html><title>The work</title><body><p id=p>not drawn</p><a href="{other}">out</a>
<script>document.getElementById("p").textContent = "drawn by " + "a script"; fetch("{other}")</script>"""


@pytest.mark.slow
async def test_a_page_is_looked_at_and_nothing_off_the_list_is_reached(project: Project) -> None:
    async with site() as there, elsewhere() as other:
        page = there.shows("/", PAGE.replace("{other}", f"{other.url}/out"))
        with providing() as provider:
            project.environment[KEY_VARIABLE] = KEY
            configure(project.root, provider.openai_url, provider.anthropic_url)
            with (project.root / "countersign.toml").open("a") as file:
                file.write(f'[agents.web]\nallow = ["{there.url}"]\n')
            looks = calls(("browser_navigate", {"url": page}), ("browser_view", {}))
            leaves = calls(
                ("browser_navigate", {"url": f"{other.url}/"}),
                ("browser_navigate", {"url": "file:///etc/passwd"}),
                ("web_search", {"query": "is it done?"}),
            )
            provider.answers(audits([looks, leaves, look], [approve]))
            lines = [{"id": f"AC-{number}", "type": "subjective", "description": "reads well"} for number in (1, 2)]
            checks = [{"name": "there", "command": "test -f a.txt"}]
            check = {"verification": {"checks": checks, "adversarial": "never"}}
            order = project.order(id="wo-web", acceptance_criteria=lines, **check)
            result = await asyncio.to_thread(project.run, "verify", order, "--json")
        assert result.returncode == 0, result.stderr + result.stdout
        assert json.loads(result.stdout)["verdict"] == "PASS"
        assert "drawn by a script" in provider.received[1].user
        assert "root:" not in provider.received[2].user
        refused = [row["payload"] for row in project.rows("wo-web") if row["action"] == "tool_refused"]
        assert sorted((one["tool"], one["code"]) for one in refused) == [
            ("browser_navigate", "host_not_allowed"),
            ("browser_navigate", "host_not_allowed"),
            ("web_search", "no_such_tool"),
        ]
        assert (there.asked[0], other.came) == ("GET /", [])
