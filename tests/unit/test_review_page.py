"""A review's page: what is on it, what is said of what is not, and that nothing on it steers a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.text import Text

from adapters.evidence.folder import FolderStore
from domain.errors import Refused
from domain.messages import RoundRecord
from domain.status import TodoStatus
from entrypoints.review import difference as differences
from entrypoints.review.colours import LONGEST_LINE, coloured
from entrypoints.review.page import Page
from entrypoints.review.sections import sections
from tests.fakes.audits import assessment
from tests.reviews import Managed, escalated, order_in, text_of, world_in
from tests.unit.test_audit_report import report as audited_report

Escalated = tuple[Managed, list[RoundRecord]]


@pytest.fixture(scope="module")
async def waiting(tmp_path_factory: pytest.TempPathFactory) -> Escalated:
    return await escalated(tmp_path_factory.mktemp("review"))


@pytest.fixture(scope="module")
def page(waiting: Escalated) -> Page:
    return waiting[0].page()


def test_the_last_claim_is_shown_with_what_a_decision_takes(waiting: Escalated, page: Page) -> None:
    frozen = waiting[1][1].frozen
    assert frozen is not None
    assert (page.attempt, page.numbers, page.current, page.snapshot) == (2, (1, 2), True, frozen.head)
    assert (page.needed.kind, page.needed.names) == ("check", ("tests", "scope_violation"))
    shown = text_of(page, "summary")
    for said in ("needs human (escalated)", "audit_cap_exceeded", "version     1", "2026-01-15 10:00Z", "worker:bob"):
        assert said in shown, said
    assert "an override of the kind check that acknowledges tests, scope_violation" in shown


def test_an_earlier_attempt_is_not_what_is_claimed_now(waiting: Escalated) -> None:
    todo, records = waiting
    earlier = todo.page(1)
    assert records[0].frozen is not None
    assert (earlier.attempt, earlier.current, earlier.snapshot) == (1, False, records[0].frozen.head)
    assert "not what is claimed now" in text_of(earlier, "summary")
    assert "+after 1" in text_of(earlier)
    assert "+after 2" in text_of(todo.page())
    with pytest.raises(Refused) as refused:
        todo.page(3)
    assert (refused.value.code, refused.value.next_step) == ("unknown_attempt", "the attempts that there are: 1, 2")


def test_every_change_is_told_with_what_became_of_it(page: Page) -> None:
    files = {each.path: each for each in page.difference.files}
    assert {path: (each.sort, each.mark) for path, each in files.items()} == {
        "a.txt": ("modified", ""),
        "big.txt": ("added", ""),
        "gone.txt": ("deleted", ""),
        "image.bin": ("added", ""),
        "mode.sh": ("modified", ""),
        "new.py": ("added", ""),
        "secret.env": ("added", "denied"),
        "tests/test_a.py": ("modified", "restored"),
    }
    assert [files[path].note for path in ("image.bin", "mode.sh", "a.txt")] == [
        *("binary: 3 bytes", "only its mode, or nothing within it, is otherwise", ""),
    ]
    assert files["big.txt"].note.startswith("too large to show: 2000001 bytes")
    assert "new mode 100755" in files["mode.sh"].diff
    shown = text_of(page)
    assert "+    pass" in shown, "what was restored is shown all the same"
    assert "restored: protected: the base's stands again" in shown
    assert "denied: the order's scope denies it" in shown


async def test_a_path_that_was_not_taken_at_all_is_named(tmp_path: Path) -> None:
    """A link that leads out of the tree is found, and never frozen."""
    world = world_in(tmp_path)
    (tmp_path / "work" / "out").symlink_to("/etc/passwd")
    todo = Managed(world, order_in(world))
    todo.create()
    await world.verify(todo.order)
    found = todo.page(1)
    (out,) = [each for each in found.difference.files if each.path == "out"]
    assert (out.sort, out.mark) == ("left_out", "dropped")
    assert out.why
    assert out.why in text_of(found, "difference")


def test_checks_are_told_with_code_isolation_base_and_what_they_printed(page: Page) -> None:
    shown = text_of(page, "checks")
    for said in ("✗ tests  failed", "exit code 1", "in process", "on the base: failed", "runs: failed, failed"):
        assert said in shown, said
    assert "✓ there  passed" in shown
    assert "? reads  not judged" in shown
    assert "    | boom" in shown


def test_claim_and_dialogue_have_the_worker_s_words(page: Page) -> None:
    claim = text_of(page, "claim")
    for said in ("I changed a.txt", "says it changed", "says it ran: pytest", "all fine", "brings [log], text"):
        assert said in claim, said
    assert "system hands it to a human" in text_of(page, "dialogue")
    timeline = text_of(page, "timeline").splitlines()
    assert "TODO_CREATE" in timeline[0]
    assert "ESCALATE" in timeline[-1]


def test_nothing_on_the_page_steers_a_terminal_or_is_markup(page: Page) -> None:
    shown = text_of(page, full=True)
    assert shown.count("[bold]loud[/bold]") > 5, "claim, criterion, check's output, diff, dialogue"
    assert "\\x1b[31mred" in shown
    assert "\\x202egnp" in shown
    assert [c for c in shown if not (c.isprintable() or c == "\n")] == []
    for section in sections(page, full=True):
        assert section.short.isprintable()
        assert section.title.isprintable()


def test_roles_are_told_with_their_quotes(page: Page) -> None:
    report = audited_report(assessment("AC-1"), assessment("AC-2"))
    shown = text_of(page.model_copy(update={"report": report}), "roles")
    for said in ("blind look", "informed look", "suspicion: the diff is small", "“exit code 0”", "AC-2", "asked: "):
        assert said in shown, said
    assert text_of(page, "roles") == "no role was asked about this attempt"


def test_a_claim_that_no_round_has_begun_for_can_be_looked_at(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    todo = Managed(world, order_in(world))
    todo.create()
    frozen, _ = world.freeze(world.begin(world.order("other")))
    assert todo.page().numbers == ()
    todo.row("todo_started", {"base": frozen.base}, status="in_progress", review_status="not_requested")
    todo.claim(frozen.head, 0)
    found = todo.page()
    assert (found.attempt, found.round, found.current) == (1, None, True)
    assert found.needed.kind == "direct"
    assert "+after" in text_of(found)
    assert "nothing was seen yet" in text_of(found, "checks")
    assert "no report says yet" in text_of(found, "difference")


async def test_a_round_that_stands_alone_is_shown(tmp_path: Path) -> None:
    world = world_in(tmp_path, "local")
    order = order_in(world)
    await world.verify(order)
    todo = Managed(world, order)
    found = todo.page()
    assert (found.standalone, found.attempt, found.todo.status) == (True, 1, TodoStatus.IN_PROGRESS)
    assert "none: a standalone round" in text_of(found, "summary")


async def test_what_cannot_be_read_is_said_and_the_rest_is_there(tmp_path: Path) -> None:
    todo, _ = await escalated(tmp_path)
    row = todo.page().round
    assert row is not None
    blobs = tmp_path / "evidence" / "blobs"
    (blobs / row.report[:2] / row.report).unlink()
    (blobs / row.head[:2] / row.head).unlink()
    found = todo.page()
    assert len(found.notes) == 1
    assert "the report cannot be read" in text_of(found, "summary")
    assert "the trees cannot be read" in text_of(found, "difference")
    assert found.needed.unread
    assert "I changed a.txt" in text_of(found, "claim")
    assert "ESCALATE" in text_of(found, "timeline")


def test_large_differences_are_cut_with_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differences, "FILE_LINES", 20)
    monkeypatch.setattr(differences, "ALL_CHARACTERS", 400)
    monkeypatch.setattr(differences, "MOST_FILES", 3)
    world = world_in(tmp_path)
    world.write("work", **{f"f{number}.txt": "line\n" * 100 for number in range(5)})
    frozen, _ = world.freeze(world.begin(world.order()))
    store = FolderStore(world.evidence)
    for path in ("big.txt", "a.txt"):
        (tmp_path / "work" / path).unlink()
    found = differences.difference(store, frozen.base, frozen.head, None)
    assert len(found.files) == 3
    assert "changed files more are not named" in found.notes[0]
    monkeypatch.setattr(differences, "MOST_FILES", 100)
    files = {each.path: each for each in differences.difference(store, frozen.base, frozen.head, None).files}
    assert files["f0.txt"].note.startswith("86 lines more are not shown")
    assert files["f0.txt"].added == 100
    assert files["new.py"].note.startswith("not shown: the files before it fill the page")


def test_a_diff_is_coloured_and_stays_what_it_is() -> None:
    diff = '@@ -1,3 +1,3 @@\n a = """\n-one [b]\n+two [b]\n """\n\\ No newline at end of file\n'
    lines = list(coloured("a.py", diff))
    assert [line.plain for line in lines] == diff.removesuffix("\n").split("\n")
    assert any(line.spans for line in lines), "syntax"
    assert (lines[2].style, lines[3].style) == ("red", "green")
    long = list(coloured("a.py", "@@ -0,0 +1,1 @@\n+" + "(" * 5000 + "\n"))
    assert long[1].plain.endswith(f"[... {5000 - LONGEST_LINE} characters more]")
    (empty,) = coloured("a.py", "@@ -0,0 +1,0 @@\n")
    assert empty == Text("@@ -0,0 +1,0 @@", "cyan")


def test_the_page_is_json(page: Page) -> None:
    told = json.loads(page.model_dump_json())
    assert told["report"]["checks"][0]["name"] == "tests"
    assert Page.model_validate(told) == page
