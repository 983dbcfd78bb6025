"""What becomes of a check by its controls: each thing that can be seen of them, and the verdict it leads to."""

from __future__ import annotations

from typing import Any

import pytest

from domain.checks import Observation
from domain.controls import ControlRun, ControlRuns, grouped, judge, marks_of

PASSES = Observation(exit_code=0)
FAILS = Observation(exit_code=1)
LATE = Observation(exit_code=124, timed_out=True)
MISSING = Observation(exit_code=127)
CRASHES = Observation(exit_code=139)


def named(kind: str, seen: Observation | None, on_base: Observation | None = None, **more: Any) -> ControlRuns:
    """A control that the order names, with what was seen of it."""
    what = "a.patch" if kind == "patch" else "false"
    run = () if seen is None else (ControlRun(what=what, tree="1", base="2", observation=seen, on_base=on_base),)
    return ControlRuns.model_validate({"kind": kind, "command": "run", "limit": 5.0, "runs": run, **more})


def came_to(control: ControlRuns) -> tuple[str, str]:
    seen, verdict = judge(control)
    assert seen.kind == control.kind
    assert seen.text, "people are told"
    return seen.outcome, "ok" if verdict is None else f"{verdict[0]}: {verdict[1]}"


SUBVERTED = ("missed", "failed: subverted")
UNUSABLE = ("not_applicable", "could_not_run: control_unusable")
NO_PROOF = ("not_applicable", "failed: control_not_applicable")


@pytest.mark.parametrize(
    ("control", "expected"),
    [
        (named("patch", FAILS), ("noticed", "ok")),
        (named("patch", LATE), ("noticed", "ok")),
        (named("patch", PASSES), SUBVERTED),
        (named("patch", PASSES, FAILS), SUBVERTED),
        (named("patch", PASSES, PASSES), UNUSABLE),
        (named("patch", PASSES, moved="hunk 1 fits nowhere"), ("missed", "failed: control_not_applicable")),
        (named("patch", FAILS, moved="hunk 1 fits nowhere"), ("noticed", "ok")),
        (named("patch", None, moved="the file is gone"), NO_PROOF),
        (named("patch", None, unusable="it is no patch"), UNUSABLE),
        (named("patch", Observation(exit_code=1, copy_failed=True)), ("not_applicable", "could_not_run: copy_failed")),
        (named("command", FAILS), ("noticed", "ok")),
        (named("command", CRASHES), ("noticed", "ok")),
        (named("command", PASSES), SUBVERTED),
        (named("command", PASSES, FAILS), SUBVERTED),
        (named("command", PASSES, PASSES), UNUSABLE),
        (named("command", LATE, FAILS), NO_PROOF),
        (named("command", LATE, LATE), UNUSABLE),
        (named("command", MISSING, FAILS), NO_PROOF),
        (named("command", MISSING, MISSING), UNUSABLE),
        (named("command", Observation(exit_code=1, build_failed=True), FAILS), NO_PROOF),
    ],
)
def test_a_named_control(control: ControlRuns, expected: tuple[str, str]) -> None:
    assert came_to(control) == expected


PATH = "tests/a_test.sh"


def changed(
    seen: Observation, on_base: Observation | None = None, path: str = PATH, mark: str = "helloxyz"
) -> ControlRun:
    """A run with the values of one file changed."""
    base = "2" if on_base else ""
    return ControlRun(what=path, tree="1", base=base, paths=(path,), marks=(mark,), observation=seen, on_base=on_base)


def run_of_tests(*runs: ControlRun, unchanged: Observation | None = None, command: str = "npm test") -> ControlRuns:
    return ControlRuns(kind="tests", command=command, limit=5.0, runs=runs, unchanged=unchanged)


def red(output: str = "") -> Observation:
    return Observation(exit_code=1, stdout=output)


IGNORED = ("not_applicable", "ok")


@pytest.mark.parametrize(
    ("control", "expected"),
    [
        (run_of_tests(changed(FAILS)), ("noticed", "ok")),
        (run_of_tests(changed(LATE)), ("noticed", "ok")),
        # The base is green: it says by itself whether the command looks at these values.
        (run_of_tests(changed(PASSES, FAILS), unchanged=PASSES), SUBVERTED),
        (run_of_tests(changed(PASSES, PASSES), unchanged=PASSES), IGNORED),
        # The base is red: something has to show that these files are what the command runs.
        (run_of_tests(changed(PASSES, FAILS), unchanged=FAILS), IGNORED),
        (run_of_tests(changed(PASSES, red("expected helloxyz")), unchanged=FAILS), SUBVERTED),
        (run_of_tests(changed(PASSES, red("helloxyz")), unchanged=red("helloxyz")), IGNORED),
        (run_of_tests(changed(PASSES, FAILS), unchanged=red("cannot find x, imported by a_test.sh")), SUBVERTED),
        (run_of_tests(changed(PASSES, FAILS), unchanged=FAILS, command=f"sh {PATH}"), SUBVERTED),
        (run_of_tests(changed(PASSES, FAILS), unchanged=FAILS, command="bats tests/"), SUBVERTED),
        (
            run_of_tests(changed(PASSES, FAILS), unchanged=FAILS, command="for t in tests/*_test.sh; do sh $t; done"),
            SUBVERTED,
        ),
        (run_of_tests(changed(PASSES, FAILS), unchanged=FAILS, command="sh tests/b_test.sh"), IGNORED),
        (run_of_tests(changed(PASSES, FAILS), unchanged=FAILS, command="jest ."), IGNORED),
        # One of two files is subverted, or is not run.
        (run_of_tests(changed(PASSES, FAILS), changed(FAILS, path="tests/b.sh"), unchanged=PASSES), SUBVERTED),
        (run_of_tests(changed(PASSES, PASSES), changed(FAILS, path="tests/b.sh"), unchanged=PASSES), ("noticed", "ok")),
        # Nothing is known of the base.
        (run_of_tests(changed(PASSES)), IGNORED),
    ],
)
def test_tests_with_other_values(control: ControlRuns, expected: tuple[str, str]) -> None:
    assert came_to(control) == expected


def test_a_named_file_counts_where_the_command_runs() -> None:
    control = run_of_tests(changed(PASSES, FAILS), unchanged=FAILS, command="sh a_test.sh")
    assert came_to(control) == IGNORED
    assert came_to(control.model_copy(update={"cwd": "tests"})) == SUBVERTED


def test_people_are_told_which_files() -> None:
    runs = [changed(PASSES, FAILS, path=f"tests/{name}.sh") for name in "dcbae"]
    text = judge(run_of_tests(*runs, unchanged=PASSES))[0].text
    assert "tests/a.sh, tests/b.sh, tests/c.sh and 2 more" in text


def test_what_the_work_is_about_is_changed_alone() -> None:
    sources = {f"tests/{name}.test.js": f'import "../lib/{name}.js"' for name in ("a", "b", "c", "d", "e", "slug")}
    groups = grouped(sources, ["lib/slug.js", "README.md", "tests/e.test.js"])
    assert groups == (
        ("tests/slug.test.js",),
        ("tests/a.test.js",),
        ("tests/b.test.js",),
        ("tests/c.test.js", "tests/d.test.js", "tests/e.test.js"),
    )
    assert grouped({"t.sh": ""}, []) == (("t.sh",),)
    assert grouped({}, ["a"]) == ()


def test_marks_are_the_longest_words() -> None:
    assert marks_of(['"hello world-qxz"', "90417", "12", "'é-accent'", ""]) == ("world-qxz", "90417", "é-accent")
