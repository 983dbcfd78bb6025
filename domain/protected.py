"""The gitignore patterns of what a worker may not change, and of what runs by itself. It matches none of them.

What the patterns cannot tell from a source file by its name (a script that a Makefile calls, a test within a source
file) an order protects itself. Source: DESIGN 8 "Trusted tree".
"""

from __future__ import annotations

_SCRIPTS = ("js", "cjs", "mjs", "jsx", "ts", "cts", "mts", "tsx")
_PARTS = ("", *(f"{folder}/*/" for folder in ("packages", "apps", "libs", "services", "modules", "crates")))

TESTS = (
    *(f"{part}{folder}/**" for part in _PARTS for folder in ("tests", "test", "spec", "Tests", "t")),
    *("**/src/test/**", "**/__tests__/**", "**/__snapshots__/**"),
    *("test_*.py", "*_test.py", "tests.py", "*_test.go", "*.bats", "*.t"),
    *("test_*.sh", "*_test.sh", "*.test.sh", "test.sh", "tests.sh", "run_tests.*", "run-tests.*"),
    *("runtests.*", "script/test", "scripts/test", "scripts/test.*"),
    *(f"*.{kind}.{ending}" for kind in ("test", "spec", "cy") for ending in _SCRIPTS),
    *("*_spec.rb", "*_test.rb", "test_*.rb", "*Test.php", "*_test.exs", "*_test.dart", "*_spec.lua", "*Spec.hs"),
    *(f"*{kind}.{ending}" for kind in ("Test", "Tests", "IT") for ending in ("java", "kt", "groovy", "scala")),
    *("*Test.cs", "*Tests.cs", "*Tests.swift", "*Spec.scala", "*Spec.groovy"),
    *(f"{name}.{ending}" for name in ("*_test", "test_*") for ending in ("c", "cc", "cpp", "cxx")),
)
"""Tests, and what they compare with. A `spec` or `test` further down may be anything: an order can add it."""

_PYTHON = (
    *("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "tox.toml", "setup.cfg"),
    *("pyproject.toml", "noxfile.py", "hatch.toml", "uv.toml", ".coveragerc", ".coveragerc.toml", "coverage.toml"),
    *("nose.cfg", ".noserc", "unittest.cfg", "ruff.toml", ".ruff.toml", "mypy.ini", ".mypy.ini", ".flake8"),
    *("pyrightconfig.json", ".pylintrc", "pylintrc", ".pylintrc.toml", ".isort.cfg", ".bandit", ".yamllint"),
    *(".yamllint.yaml", ".yamllint.yml", ".pre-commit-config.yaml"),
    # Runners and tools read variables from it by themselves: PYTEST_ADDOPTS, NODE_OPTIONS.
    *(".env", ".env.local", ".env.test", ".env.*.local", ".env.ci", ".env.development", ".flaskenv", ".envrc"),
)

_NODE = (
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
)

_OTHER = (
    # `replace` puts another module in the place of the one that a test imports.
    *("go.mod", "go.work", ".golangci.*", ".shellcheckrc", ".shellspec"),
    # `harness = false` and `runner = "true"` make of any test run a green one.
    *("Cargo.toml", ".cargo/**", ".config/nextest.toml", "clippy.toml", ".clippy.toml", "rustfmt.toml"),
    *(".rustfmt.toml", "rust-toolchain", "rust-toolchain.toml"),
    *("pom.xml", ".mvn/**", "mvnw", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"),
    *("gradle.properties", "gradle/**", "gradlew", "build.xml", "build.sbt", "testng.xml"),
    *("junit-platform.properties", "*.csproj", "*.fsproj", "*.vbproj", "*.sln", "*.slnx", "*.runsettings"),
    *("Directory.Build.*", "xunit.runner.json", "global.json", "nuget.config", "NuGet.Config"),
    *("Rakefile", "rakefile", "Rakefile.rb", "Gemfile", ".bundle/**", ".rspec", ".rspec-local", "spec_helper.rb"),
    *("rails_helper.rb", "test_helper.rb", ".simplecov", ".rubocop.yml", "phpunit.xml", "phpunit.xml.dist"),
    *("phpunit.dist.xml", "composer.json", "phpstan.neon", "phpstan.neon.dist", ".php-cs-fixer.*"),
    *("CMakeLists.txt", "*.cmake", "CMakePresets.json", "meson.build", "meson.options", "meson_options.txt"),
    *("BUILD", "BUILD.bazel", "WORKSPACE", "WORKSPACE.bazel", "MODULE.bazel", ".bazelrc", "*.bzl"),
    *("mix.exs", "test_helper.exs", ".formatter.exs", "Package.swift", "pubspec.yaml", "dart_test.yaml", ".busted"),
    *(".proverc", "Makefile", "makefile", "GNUmakefile", "*.mk", "justfile", "Justfile", ".justfile"),
    *("Taskfile.yml", "Taskfile.yaml", "gulpfile.*", "Gruntfile.*"),
)

CONFIGURATION = (*_PYTHON, *_NODE, *_OTHER)
"""What decides what a test run, or a linter's, means."""

INTEGRATION = (
    *(".github/**", ".gitlab-ci.yml", ".gitlab/**", ".circleci/**", ".ci/**"),
    *("azure-pipelines.yml", "Jenkinsfile", ".travis.yml"),
)

PROTECTED = (*TESTS, *CONFIGURATION, *INTEGRATION)
"""Paths that are the base's whatever the worker did. What is new under one is dropped, unless it is a new test."""

NEW_TESTS = (*TESTS, *(f"!{pattern}" for pattern in (*CONFIGURATION, *INTEGRATION)))
"""New files that may join the protected ones: tests, never what configures them, wherever it lies."""

START_UP = (
    *("sitecustomize.py", "usercustomize.py", "*.pth", "**/*.dist-info/**", "**/*.egg-info/**"),
    *("*.egg-link", "**/*.egg/**", "*._pth"),
    *(".pnp.cjs", ".pnp.js", ".pnp.loader.mjs", ".pnpmfile.cjs", ".pnpmfile.mjs"),
)
"""What an interpreter, or a runner that looks for plugins, runs by itself: never taken from the worker.

Node runs nothing of the folder that it is started in, only what its options name: they come from the environment, which
is the order's, and from .npmrc, which is protected. Its package managers do have files that they load unasked.
"""
