"""The scope rules, with the patterns orders have: what counts of a worker's changes, what becomes of the rest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.snapshot.rules import rules_of
from domain.base import sha256_hex
from domain.order import Scope
from domain.protected import PROTECTED
from domain.scope import Rules, ScopeReport, assess
from domain.tree import Dropped, Entry, Manifest


def tree(files: dict[str, str]) -> Manifest:
    """Files by path; a content that begins with `->` is a link."""
    return Manifest.of(
        Entry(path=path, kind="link", target=content[2:])
        if content.startswith("->")
        else Entry(path=path, size=len(content), digest=sha256_hex(content.encode()))
        for path, content in files.items()
    )


BASE = {
    "src/app.py": "app",
    "src/util.py": "util",
    "tests/test_app.py": "assert app",
    "tests/data/x.json": "{}",
    "conftest.py": "conf",
    "pyproject.toml": "[tool]",
    "sitecustomize.py": "site",
    "docs/index.md": "docs",
    ".github/workflows/ci.yml": "ci",
}


def rules(**scope: list[str]) -> Rules:
    """The rules of an order, on files that hold nothing."""
    return rules_of(Scope.model_validate(scope), lambda _: b"")


def run(
    changed: dict[str, str | None],
    dropped: dict[str, str] | None = None,
    base: dict[str, str] = BASE,
    **scope: list[str],
) -> tuple[dict[str, str], ScopeReport]:
    """The trusted tree's changes to `base` and the report, for a head that is `base` with `changed` (None: deleted)."""
    before = tree(base)
    head = {path: content for path, content in {**base, **changed}.items() if content is not None}
    found = [Dropped(path=path, reason=reason) for path, reason in (dropped or {}).items()]
    result, report = assess(before, tree(head), found, rules(**scope))
    kinds = dict.fromkeys(before.by_path.keys() & result.by_path.keys(), "same")
    kinds |= dict.fromkeys(result.by_path.keys() - before.by_path.keys(), "added")
    kinds |= dict.fromkeys(before.by_path.keys() - result.by_path.keys(), "deleted")
    kinds |= {p: "modified" for p, e in result.by_path.items() if p in before.by_path and e != before.by_path[p]}
    return {path: kind for path, kind in kinds.items() if kind != "same"}, report


def reasons(report: ScopeReport) -> dict[str, str]:
    return {dropped.path: dropped.reason for dropped in report.dropped}


def test_takes_what_the_order_allows() -> None:
    result, report = run({"src/app.py": "better", "src/new.py": "new", "src/util.py": None})
    assert result == {"src/app.py": "modified", "src/new.py": "added", "src/util.py": "deleted"}
    assert {change.path: change.kind for change in report.accepted} == result
    assert not report.restored
    assert not report.dropped
    assert not report.violations


@pytest.mark.parametrize(
    "path", ["tests/test_app.py", "tests/data/x.json", "conftest.py", "pyproject.toml", ".github/workflows/ci.yml"]
)
@pytest.mark.parametrize("content", ["weaker", None])
def test_restores_what_is_protected(path: str, content: str | None) -> None:
    result, report = run({path: content, "src/app.py": "better"})
    assert result == {"src/app.py": "modified"}
    assert report.restored == (path,)
    assert not report.violations


@pytest.mark.parametrize("path", ["tests/test_new.py", "tests/unit/helpers.py", "src/test_new.py", "src/app_test.py"])
def test_keeps_a_new_test(path: str) -> None:
    assert run({path: "assert new"})[0] == {path: "added"}


@pytest.mark.parametrize(
    "path", ["tests/conftest.py", "src/conftest.py", "tests/pytest.ini", "tox.ini", "Makefile", ".coveragerc"]
)
def test_drops_a_new_file_that_configures_tests(path: str) -> None:
    result, report = run({path: "evil"})
    assert result == {}
    assert "protected" in reasons(report)[path]


@pytest.mark.parametrize("path", ["usercustomize.py", "src/sitecustomize.py", "src/evil.pth"])
def test_drops_what_an_interpreter_runs_by_itself(path: str) -> None:
    result, report = run({path: "evil"})
    assert result == {}
    assert "interpreter" in reasons(report)[path]


def test_keeps_the_base_s_own_start_up_file() -> None:
    result, report = run({"sitecustomize.py": "evil"})
    assert result == {}
    assert list(reasons(report)) == ["sitecustomize.py"]


def test_a_module_of_the_base_may_have_any_name() -> None:
    assert run({"json.py": "better"}, base={**BASE, "json.py": "ours"})[0] == {"json.py": "modified"}


def test_deny_stands_over_allow() -> None:
    result, report = run({"src/app.py": "better", "src/util.py": "x"}, allow=["src/**"], deny=["src/util.py"])
    assert result == {"src/app.py": "modified"}
    assert [(v.path, v.kind) for v in report.violations] == [("src/util.py", "denied")]


@pytest.mark.parametrize("content", ["x", None])
def test_what_is_not_allowed_is_out_of_scope(content: str | None) -> None:
    result, report = run({"docs/index.md": content}, allow=["src/**"])
    assert result == {}
    assert [(v.path, v.kind) for v in report.violations] == [("docs/index.md", "out_of_scope")]


def test_a_protected_path_is_no_violation() -> None:
    _, report = run({"tests/test_app.py": "weaker"}, allow=["src/**"], deny=["tests/**"])
    assert report.restored == ("tests/test_app.py",)
    assert not report.violations


def test_an_order_may_unprotect() -> None:
    result, report = run({"pyproject.toml": "[x]", "tests/test_app.py": "weaker"}, unprotect=["pyproject.toml"])
    assert result == {"pyproject.toml": "modified"}
    assert report.restored == ("tests/test_app.py",)


def test_an_order_may_protect_more() -> None:
    result, report = run({"docs/index.md": "x", "docs/new.md": "y"}, protect=["docs/**"])
    assert result == {}
    assert report.restored == ("docs/index.md",)
    assert list(reasons(report)) == ["docs/new.md"]


def test_a_file_may_become_a_folder_and_a_folder_a_file() -> None:
    result, report = run({"src/app.py": None, "src/app.py/main.py": "m", "docs/index.md": None, "docs": "now a file"})
    assert result == {
        "src/app.py": "deleted",
        "src/app.py/main.py": "added",
        "docs/index.md": "deleted",
        "docs": "added",
    }
    assert not report.dropped


def test_nothing_takes_the_place_of_what_stays() -> None:
    result, report = run(
        {"conftest.py": None, "conftest.py/x.py": "x", "docs/index.md": None, "docs": "->src"}, protect=["docs/**"]
    )
    assert result == {}
    assert report.restored == ("conftest.py", "docs/index.md")
    assert set(reasons(report)) == {"conftest.py/x.py", "docs"}
    assert not report.accepted


def test_a_dropped_path_keeps_the_base_s_content() -> None:
    result, report = run({"src/app.py": None}, dropped={"src/app.py": "a named pipe"})
    assert result == {}
    assert reasons(report) == {"src/app.py": "a named pipe"}
    assert not report.accepted


def test_all_below_a_dropped_folder_stays_the_base_s() -> None:
    result, report = run(
        {"src/app.py": None, "src/util.py": None, "docs/index.md": None}, dropped={"src": "unreadable"}
    )
    assert result == {"docs/index.md": "deleted"}
    assert [change.path for change in report.accepted] == ["docs/index.md"]


PARTS = st.sampled_from(
    ["src", "tests", "docs", "conftest.py", "test_a.py", "a.py", "json.py", "x.pth", ".github", "Makefile"]
)
PATHS = st.lists(PARTS, min_size=1, max_size=3).map("/".join)
CONTENTS = st.sampled_from(["1", "2", "->a.py"])


def without_conflicts(files: dict[str, str]) -> dict[str, str]:
    """A tree that a file system could hold: no file above another."""
    return {path: c for path, c in files.items() if not any(other.startswith(f"{path}/") for other in files)}


TREES = st.dictionaries(PATHS, CONTENTS, max_size=8).map(without_conflicts)
PATTERNS = st.lists(
    st.sampled_from(["src/**", "tests/**", "*.py", "docs", "!src/a.py", "conftest.py"]), max_size=2
).filter(lambda patterns: not patterns or not patterns[0].startswith("!"))


@given(base=TREES, head=TREES, allow=PATTERNS, deny=PATTERNS, drops=st.lists(PATHS, max_size=2))
def test_no_protected_path_of_the_base_ever_differs(
    base: dict[str, str], head: dict[str, str], allow: list[str], deny: list[str], drops: list[str]
) -> None:
    asked = rules(allow=allow, deny=deny)
    before, after = tree(base), tree(head)
    result, report = assess(before, after, [Dropped(path=path, reason="odd") for path in drops], asked)
    accepted = {change.path for change in report.accepted}
    for path, entry in before.by_path.items():
        if asked.protect(path):
            assert result.by_path[path] == entry
    for path in before.by_path.keys() | result.by_path.keys():
        if before.by_path.get(path) != result.by_path.get(path):
            assert path in accepted
            assert asked.allow(path)
            assert not asked.deny(path)
            assert result.by_path.get(path) == after.by_path.get(path)
    assert without_conflicts(dict.fromkeys(result.by_path, "")).keys() == result.by_path.keys()


@given(base=TREES, head=TREES)
def test_every_change_is_accounted_for_once(base: dict[str, str], head: dict[str, str]) -> None:
    _, report = assess(tree(base), tree(head), [], rules(deny=["docs"]))
    named = [change.path for change in report.accepted] + list(report.restored)
    named += [dropped.path for dropped in report.dropped] + [violation.path for violation in report.violations]
    changed = {p for p in base.keys() | head.keys() if base.get(p) != head.get(p)}
    assert sorted(named) == sorted(changed)


@pytest.mark.parametrize(
    "path", ["pytest.toml", ".pytest.toml", ".pytest.ini", "sub/pytest.toml", "GNUmakefile", "mypy.ini", "ruff.toml"]
)
def test_new_configuration_of_a_runner_or_linter_is_dropped(path: str) -> None:
    result, report = run({path: "new"})
    assert result == {}
    assert [dropped.path for dropped in report.dropped] == [path]


@pytest.mark.parametrize("folder", ["evil-1.dist-info", "evil.egg-info", "src/evil-1.dist-info"])
def test_new_plugins_that_a_runner_would_load_are_dropped(folder: str) -> None:
    result, report = run({f"{folder}/entry_points.txt": "new"})
    assert result == {}
    assert len(report.dropped) == 1


PROJECT = {
    "package.json": "{}",
    ".npmrc": "",
    "jest.config.mjs": "",
    "tsconfig.json": "{}",
    ".eslintrc.json": "{}",
    ".yarn/releases/yarn-4.cjs": "yarn",
    ".pnp.cjs": "map",
    "go.mod": "module m",
    "lib/slug.js": "",
    "lib/spec/model.js": "",
    "lib/slug.test.js": "",
    "src/thing.spec.tsx": "",
    "src/__tests__/deep/x.js": "",
    "src/__snapshots__/x.snap": "",
    "test/slug.js": "",
    "spec/slug_spec.js": "",
    "packages/a/test/x.js": "",
    "packages/a/package.json": "{}",
    "pkg/slug_test.go": "",
    "cli/run.bats": "",
    **dict.fromkeys(
        [
            *("app/tests.py", "Cargo.toml", ".cargo/config.toml", "crates/a/tests/it.rs", "src/test/java/AppTest.java"),
            *("core/src/test/resources/x.json", "pom.xml", "build.gradle.kts", "App.Tests/AppTests.cs", "App.csproj"),
            *("Rakefile", ".rspec", "app/model_spec.rb", "phpunit.xml", "src/AppTest.php", "CMakeLists.txt"),
            *("cmake/x.cmake", "core/app_test.cc", "meson.build", "BUILD.bazel", "mix.exs", "lib/app_test.exs"),
            *("Tests/AppTests.swift", "t/basic.t", "build/rules.mk", ".env", "tox.toml", "run_tests.sh"),
        ],
        "x",
    ),
    "cli/run_test.sh": "",
}
"""The base of a project in many languages."""

FREE = ("lib/slug.js", "lib/spec/model.js")


@pytest.mark.parametrize("path", [path for path in PROJECT if path not in (*FREE, ".pnp.cjs")])
@pytest.mark.parametrize("content", ["weaker", None])
def test_restores_what_is_protected_in_other_languages(path: str, content: str | None) -> None:
    result, report = run({path: content, "lib/slug.js": "better"}, base=PROJECT)
    assert result == {"lib/slug.js": "modified"}
    assert report.restored == (path,)


@pytest.mark.parametrize(
    "path",
    [
        *(*FREE, "lib/latest.js", "lib/contest.js", "src/config.js", "index.mts", "bats", "x.go", "src/main.rs"),
        *("src/Latest.java", "src/Contest.cs", "app/test_data.json", ".env.example", "src/build.rs", "lib/spec.rb"),
        *("src/cmake.py", "setup.py", "src/check.sh", "src/testing/x.py", "build.rs"),
    ],
)
def test_protects_no_source_in_other_languages(path: str) -> None:
    result, report = run({path: "better"}, base=PROJECT)
    assert list(result) == [path]
    assert not report.dropped


@pytest.mark.parametrize(
    "path",
    [
        *("test/new.js", "test/data/x.json", "spec/new_spec.rb", "packages/b/test/new.js", "lib/__tests__/new.ts"),
        *(f"lib/new.test.{ending}" for ending in ("js", "cjs", "mjs", "jsx", "ts", "cts", "mts", "tsx")),
        *(f"lib/new.spec.{ending}" for ending in ("js", "cjs", "mjs", "jsx", "ts", "cts", "mts", "tsx")),
        *("cypress/e2e/new.cy.ts", "lib/__snapshots__/new.snap", "pkg/new_test.go", "new.bats", "cli/test_new.sh"),
    ],
)
def test_keeps_a_new_test_in_other_languages(path: str) -> None:
    result, report = run({path: "new"}, base=PROJECT)
    assert result == {path: "added"}
    assert not report.dropped


@pytest.mark.parametrize("folder", ["", "test/", "src/__tests__/", "packages/b/", "packages/b/test/"])
@pytest.mark.parametrize(
    "name",
    [
        *("package.json", ".npmrc", ".yarnrc.yml", "bunfig.toml", "deno.json", "pnpm-workspace.yaml"),
        *("jest.config.ts", "jest.setup.js", "vitest.config.mts", "vitest.workspace.ts", "vite.config.js"),
        *(".mocharc.cjs", ".mocharc.yml", "mocha.opts", "ava.config.js", "karma.conf.js", "setupTests.ts"),
        *("playwright.config.ts", "cypress.config.ts", ".taprc", "__mocks__/fs.js"),
        *("babel.config.js", ".babelrc", "tsconfig.json", "tsconfig.test.json", ".swcrc"),
        *("eslint.config.mjs", ".eslintrc", ".eslintrc.cjs", "biome.json", ".prettierrc", ".nycrc", ".c8rc.json"),
        *("go.mod", "go.work", ".golangci.yml", "justfile", "Taskfile.yml", "gulpfile.js"),
        *("conftest.py", "tox.ini", "Makefile", ".coveragerc"),
    ],
)
def test_drops_new_configuration_in_other_languages(folder: str, name: str) -> None:
    path = folder + name
    base = {path: content for path, content in PROJECT.items() if path == "lib/slug.js"}
    result, report = run({path: "evil"}, base=base)
    assert result == {}
    assert "protected" in reasons(report)[path]


@pytest.mark.parametrize("path", [".yarn/releases/yarn-9.cjs", ".yarn/plugins/x.cjs", "cypress/support/e2e.js"])
def test_drops_new_configuration_that_is_a_folder_of_the_root(path: str) -> None:
    result, report = run({path: "evil"}, base=PROJECT)
    assert result == {}
    assert "protected" in reasons(report)[path]


@pytest.mark.parametrize("path", [".pnp.cjs", ".pnp.loader.mjs", ".pnpmfile.cjs", "packages/a/.pnpmfile.cjs"])
def test_drops_what_a_package_manager_runs_by_itself(path: str) -> None:
    result, report = run({path: "evil"}, base=PROJECT)
    assert result == {}
    assert "by itself" in reasons(report)[path]


def test_no_pattern_is_said_twice() -> None:
    assert len(set(PROTECTED)) == len(PROTECTED)
