"""Which of a worker's changes enter the trusted tree: allowed, denied, restored, or dropped. It matches no pattern.

The gitignore matching itself is `adapters/snapshot`'s; here are the rules that follow from it. Source: DESIGN 8
"Trusted tree", seed `authority` 6 "Scope verification".
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable
from typing import Literal

from domain.base import Message
from domain.tree import Change, Dropped, Entry, Manifest, changes

_SCRIPTS = ("js", "cjs", "mjs", "jsx", "ts", "cts", "mts", "tsx")

_TESTS = (
    *(f"{where}{folder}/**" for where in ("", "packages/*/") for folder in ("tests", "test", "spec")),
    *("**/__tests__/**", "**/__snapshots__/**", "test_*.py", "*_test.py", "*_test.go", "*.bats"),
    *("test_*.sh", "*_test.sh", "*.test.sh"),
    *(f"*.{kind}.{ending}" for kind in ("test", "spec", "cy") for ending in _SCRIPTS),
)
"""Tests, and what they compare with. A `spec` or `test` further down may be anything: an order can add it."""

_CONFIGURATION = (
    *("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "setup.cfg"),
    *("pyproject.toml", "noxfile.py", ".coveragerc", "coverage.toml"),
    *("ruff.toml", ".ruff.toml", "mypy.ini", ".mypy.ini", ".flake8", "pyrightconfig.json", ".pre-commit-config.yaml"),
    # package.json: its scripts are the test command, its exports say what a test imports. .npmrc has node's options.
    *("package.json", ".npmrc", ".yarnrc", ".yarnrc.yml", ".yarn/**", "pnpm-workspace.yaml", "node.config.json"),
    *("bunfig.toml", "deno.json", "deno.jsonc", "nx.json", "turbo.json"),
    *(f"{name}.{part}.*" for name in ("jest", "vitest") for part in ("config", "preset", "setup", "workspace")),
    *(f"{name}.config.*" for name in ("vite", "ava", "jasmine", "playwright", "playwright-ct", "web-test-runner")),
    *("setupTests.*", "**/__mocks__/**", ".mocharc", ".mocharc.*", "mocha.opts", "karma.conf.*", "jasmine.json"),
    *("cypress.config.*", "cypress.json", "cypress/support/**", ".taprc"),
    # What a test's code becomes before it runs.
    *("babel.config.*", ".babelrc", ".babelrc.*", ".swcrc", "tsconfig.json", "tsconfig.*.json", "jsconfig.json"),
    *("eslint.config.*", ".eslintrc", ".eslintrc.*", ".eslintignore", "biome.json", "biome.jsonc", ".oxlintrc.json"),
    *("prettier.config.*", ".prettierrc", ".prettierrc.*", ".prettierignore"),
    *(".nycrc", ".nycrc.*", "nyc.config.*", ".c8rc", ".c8rc.*", ".istanbul.yml"),
    # `replace` puts another module in the place of the one that a test imports.
    *("go.mod", "go.work", ".golangci.*", ".shellcheckrc", ".shellspec"),
    *("Makefile", "makefile", "GNUmakefile", "justfile", "Justfile", ".justfile", "Taskfile.yml", "Taskfile.yaml"),
    *("gulpfile.*", "Gruntfile.*"),
)
"""What decides what a test run, or a linter's, means."""

_INTEGRATION = (
    *(".github/**", ".gitlab-ci.yml", ".gitlab/**", ".circleci/**", ".ci/**"),
    *("azure-pipelines.yml", "Jenkinsfile", ".travis.yml"),
)

PROTECTED = (*_TESTS, *_CONFIGURATION, *_INTEGRATION)
"""Paths that are the base's whatever the worker did. What is new under one is dropped, unless it is a new test."""

NEW_TESTS = (*_TESTS, *(f"!{pattern}" for pattern in (*_CONFIGURATION, *_INTEGRATION)))
"""New files that may join the protected ones: tests, never what configures them, wherever it lies."""

START_UP = (
    *("sitecustomize.py", "usercustomize.py", "*.pth", "**/*.dist-info/**", "**/*.egg-info/**"),
    *(".pnp.cjs", ".pnp.js", ".pnp.loader.mjs", ".pnpmfile.cjs", ".pnpmfile.mjs"),
)
"""What an interpreter, or a runner that looks for plugins, runs by itself: never taken from the worker.

Node runs nothing of the folder that it is started in, only what its options name: they come from the environment, which
is the order's, and from .npmrc, which is protected. Its package managers do have files that they load unasked.
"""

Matcher = Callable[[str], bool]


class Rules(Message):
    """An order's scope, ready to be asked: each field tells of a path whether it matches. Not serialisable."""

    allow: Matcher
    deny: Matcher
    protect: Matcher
    unprotect: Matcher
    new_test: Matcher
    start_up: Matcher
    shadows: Matcher


class Violation(Message):
    """A change that the order does not let the worker make."""

    path: str
    kind: Literal["denied", "out_of_scope"]


class ScopeReport(Message):
    """What became of every change. `restored` paths are the base's again, `dropped` ones never entered."""

    accepted: tuple[Change, ...] = ()
    restored: tuple[str, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    violations: tuple[Violation, ...] = ()


def assess(base: Manifest, head: Manifest, dropped: Iterable[Dropped], rules: Rules) -> tuple[Manifest, ScopeReport]:
    """The trusted tree, base plus in-scope changes, and what became of each change.

    `dropped` are the paths that the snapshot found and did not take; the base's content stands at them and below. A
    violation keeps its change out of the tree, so that the checks still say something useful.
    """
    left_out = list(dropped)
    not_taken = {d.path for d in left_out}
    accepted: list[Change] = []
    restored: list[str] = []
    violations: list[Violation] = []
    for change in changes(base, head):
        path = change.path
        if path in not_taken or any(parent in not_taken for parent in _parents(path)):
            continue
        if rules.protect(path) and not rules.unprotect(path) and (change.kind != "added" or not rules.new_test(path)):
            if change.kind == "added":
                left_out.append(Dropped(path=path, reason="a protected path that the base does not have"))
            else:
                restored.append(path)
        elif rules.start_up(path) and change.kind != "deleted":
            left_out.append(Dropped(path=path, reason="an interpreter or a test runner runs this by itself"))
        elif rules.shadows(path) and change.kind == "added":
            left_out.append(Dropped(path=path, reason="a new module that hides the standard library's or the runner's"))
        elif rules.deny(path):
            violations.append(Violation(path=path, kind="denied"))
        elif not rules.allow(path):
            violations.append(Violation(path=path, kind="out_of_scope"))
        else:
            accepted.append(change)
    tree, unfit = _apply(base, head, accepted)
    unfit_paths = {d.path for d in unfit}
    return tree, ScopeReport(
        accepted=tuple(change for change in accepted if change.path not in unfit_paths),
        restored=tuple(restored),
        dropped=tuple(sorted([*left_out, *unfit], key=lambda d: d.path)),
        violations=tuple(violations),
    )


def _apply(base: Manifest, head: Manifest, accepted: list[Change]) -> tuple[Manifest, list[Dropped]]:
    """`base` with the accepted changes; an addition below or above a path that stayed the base's cannot be made."""
    kept = dict(base.by_path.items())
    for change in accepted:
        if change.kind == "deleted":
            del kept[change.path]
    directories = Manifest.of(kept.values()).directories
    unfit: list[Dropped] = []
    taken: dict[str, Entry] = {}
    for change in accepted:
        if change.kind == "deleted":
            continue
        if change.path in directories or any(parent in kept for parent in _parents(change.path)):
            unfit.append(
                Dropped(path=change.path, reason="its place is taken by a file or folder that stays the base's")
            )
        else:
            taken[change.path] = head.by_path[change.path]
    return Manifest.of({**kept, **taken}.values()), unfit


def _parents(path: str) -> Iterable[str]:
    parent = posixpath.dirname(path)
    while parent:
        yield parent
        parent = posixpath.dirname(parent)
