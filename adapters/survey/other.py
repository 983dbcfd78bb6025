"""Plans for repositories that are neither Python's nor Node's: make, shell tests, or an image to fill in."""

from __future__ import annotations

import re
import shlex

from adapters.survey.files import Files
from adapters.survey.plan import Plan, PlannedCheck

_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_SHELL_TESTS = re.compile(r"(?:run[-_]?tests?|test|check)\.sh|(?:tests?|t)/(?:run|run[-_]?tests?|test[\w-]*)\.sh")

# What marks a project, its language, an image to begin with, and its usual test command.
_TOOLS = (
    ("go.mod", "go", "golang:1", "go test ./..."),
    ("Cargo.toml", "rust", "rust:1", "cargo test --offline"),
    ("pom.xml", "java", "maven:3", "mvn -o -q test"),
    ("build.gradle", "java", "gradle:8", "gradle --offline test"),
    ("build.gradle.kts", "java", "gradle:8", "gradle --offline test"),
    ("Gemfile", "ruby", "ruby:3", "bundle exec rake test"),
    ("composer.json", "php", "composer:2", "vendor/bin/phpunit"),
    ("mix.exs", "elixir", "elixir:1", "mix test"),
)
_DOWNLOADS = {
    "go.mod": (["go mod download"], ["go.mod", "go.sum"]),
    "Cargo.toml": (["cargo fetch"], ["Cargo.toml", "Cargo.lock"]),
}


def plan_make(files: Files) -> Plan | None:
    """A plan for `make test`, if a Makefile has that target."""
    makefile = files.first(*_MAKEFILES)
    if not re.search(r"^(?:[\w.-]+\s+)*test\b[^:=]*::?(?!=)", files.text(makefile), re.M):
        return None
    notes = ["make test runs in the python image, which may lack what it needs: name an image that has it"]
    return Plan(language="make", checks=[PlannedCheck("tests", "make test")], notes=notes)


def plan_shell(files: Files) -> Plan | None:
    """A plan for tests in shell, if there are any."""
    scripts = [path for path in files.paths if _SHELL_TESTS.fullmatch(path)]
    scripts = scripts or [path for path in files.paths if re.fullmatch(r"tests?/[^/]+\.sh", path)]
    bats = [path for path in files.paths if path.endswith(".bats")]
    if not scripts and not bats:
        return None
    plan = Plan(language="shell")
    for place, path in enumerate(scripts, start=1):
        runner = "bash" if "bash" in files.text(path).partition("\n")[0] else "sh"
        name = "tests" if len(scripts) == 1 else f"tests-{place}"
        plan.checks.append(PlannedCheck(name, f"{runner} {shlex.quote(path)}"))
        plan.protect.append(_pattern(path))
    if bats:
        plan.checks.append(PlannedCheck("bats", " ".join(["bats", *(shlex.quote(path) for path in bats)])))
        plan.notes.append("bats is not in the python image: name an image that has it")
        plan.protect.append("*.bats")
    return plan


def plan_tool(files: Files) -> Plan | None:
    """A plan for a language whose image has to be named by a person, if a file marks one."""
    for mark, language, image, command in _TOOLS:
        if mark not in files:
            continue
        plan = Plan(
            language=language, image=image, image_comment="FILL IN: an image that has the tools; this is a guess"
        )
        plan.checks.append(PlannedCheck("tests", command))
        setup, inputs = _DOWNLOADS.get(mark, ([], []))
        plan.setup, plan.inputs = list(setup), [name for name in inputs if name in files]
        plan.notes.append(
            f"{mark}: the image {image} is a guess; checks run offline, so setup has to fetch what they need"
        )
        return plan
    return None


def plan_unknown() -> Plan:
    """A plan that names no check."""
    return Plan(notes=["nothing was found that tests it: name a check, or criteria, before you verify"])


def _pattern(path: str) -> str:
    return re.sub(r"([\[\]*?!#\\ ])", r"\\\1", path)
