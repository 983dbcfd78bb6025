"""Which commands are taken for runs of tests."""

from __future__ import annotations

import pytest

from domain.suite.commands import runs_tests, scripts_in


@pytest.mark.parametrize(
    "command",
    [
        *("node --test", "node --test-reporter=tap --test test/", "cd web && node --test", "NODE_ENV=test node --test"),
        *(
            "npm test",
            "npm t",
            "npm run test",
            "npm run -s test:unit",
            "pnpm -r test",
            "yarn test --ci",
            "yarn unit-test",
        ),
        *("npx jest --ci", "./node_modules/.bin/vitest run", "npx --no-install mocha -R dot", "ava", "bun test", "tap"),
        *("deno test -A", "go test ./...", "cargo test --all", "cargo nextest run", "mix test", "dotnet test"),
        *("./gradlew :app:test", "gradle test", "mvn -q verify", "ctest --output-on-failure", "ninja test"),
        *("make test", "make -C sub check", "make unit-tests", "just test", "rake spec", "bundle exec rspec"),
        *(
            "bats tests",
            "vendor/bin/phpunit",
            "prove -l t/",
            "python -m unittest",
            "python3.11 -m unittest discover -s t",
        ),
        *("python -m nose2", "uv run python -m pytest", "pytest -q", "tox -e py311", "python manage.py test"),
        *(
            "sh tests/run.sh",
            "bash -eu tests/run",
            "./tests/run.sh",
            "./run_tests.sh -v",
            "sh greet_test.sh",
            "./check.sh",
        ),
        *(
            "node test/a.js",
            "ruby -Itest test/a.rb",
            "python tests/smoke.py",
            "python test_all.py",
            "php tests/all.php",
        ),
        *(
            "sh -c 'npm test'",
            'bash -lc "cd x; sh tests/a.sh"',
            "true\nnpm test",
            "timeout 60 ./test.sh",
            "env A=b ./test.sh",
        ),
        *("if true; then ./test.sh; fi", "(npm ci && npm test)", "! npm test", "npm test -- --grep 'it\"s'"),
    ],
)
def test_runs_of_tests(command: str) -> None:
    assert runs_tests(command)


@pytest.mark.parametrize(
    "command",
    [
        *("ruff check src", "ruff check tests/", "mypy src tests", "tsc --noEmit", "npx tsc -p tests", "eslint test/"),
        *(
            "npm run build",
            "npm run lint",
            "npm ci",
            "make",
            "make lint",
            "go vet ./...",
            "go build ./...",
            "cargo clippy",
        ),
        *("sh -n tests/a_test.sh", "bash -n bin/greet", "node --check test/a.js", "node bin/serve.js", "sh bin/greet"),
        *(
            "python -m compileall tests",
            "python -m ruff check",
            "python src/app.py",
            "test -f src/a.py",
            "[ -d tests ]",
        ),
        *("cat tests/a.txt", "prettier --check test/a.js", "shellcheck tests/run.sh", "docker build .", "true", ""),
        *("mypy --strict 'src", "cp tests/a.sh /tmp", "latest/bin/tool", "./contest.sh", "./src/attested.py"),
    ],
)
def test_everything_else(command: str) -> None:
    assert not runs_tests(command)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("sh verify.sh", [(".", "verify.sh")]),
        (
            "set -e; ./scripts/check_links -v && python3 -u tools/validate.py out",
            [(".", "./scripts/check_links"), (".", "tools/validate.py")],
        ),
        ("bash -c 'cd web && node e2e/run.mjs'", [("web", "e2e/run.mjs")]),
        ("FAST=1 timeout 5 ./selftest", [(".", "./selftest")]),
        ("python app.py", []),
        ("sh -n verify.sh", []),
        ("cat verify.sh", []),
        ("ruff check src", []),
        ("python -m pytest tests/test_a.py", []),
        ("node src/total.js verify.sh", []),
    ],
)
def test_the_scripts_that_a_command_runs_as_tests(command: str, expected: list[tuple[str, str]]) -> None:
    assert list(scripts_in(command)) == expected
