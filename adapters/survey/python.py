"""Plans how a Python project is set up, installed and tested in the `python` image. It reads files and runs nothing."""

from __future__ import annotations

import posixpath
import re
import shlex

from adapters.survey.files import Files
from adapters.survey.metadata import Metadata, table
from adapters.survey.plan import Plan, PlannedCheck
from adapters.survey.python_requirements import Requirements
from adapters.survey.python_tests import PythonTests
from adapters.survey.requirements import install, name_of

TREE, SITE = "/work/tree", "/work/home/site"
_PATH = f"{SITE}/bin:/opt/venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# Without .git none of these can tell a version; each has a variable to be told one.
_VERSION_VARIABLES = {
    "setuptools-scm": "SETUPTOOLS_SCM_PRETEND_VERSION",
    "vcs-versioning": "SETUPTOOLS_SCM_PRETEND_VERSION",
    "hatch-vcs": "SETUPTOOLS_SCM_PRETEND_VERSION",
    "flit-scm": "SETUPTOOLS_SCM_PRETEND_VERSION",
    "pdm-backend": "PDM_BUILD_SCM_VERSION",
    "pbr": "PBR_VERSION",
    "poetry-dynamic-versioning": "POETRY_DYNAMIC_VERSIONING_BYPASS",
}
_COMPILED = {"cython", "maturin", "meson-python", "scikit-build-core", "setuptools-rust", "cffi", "pybind11"}
_ASKS_FOR_METADATA = re.compile(
    r"importlib[._]metadata|from importlib import .*\b(?:metadata|resources)\b|\bpkg_resources\b|entry_points\("
)


def is_python(files: Files) -> bool:
    """Whether there is a project, or a test, of Python's in `files`."""
    marks = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "tox.ini", "pytest.ini")
    return bool(files.first(*marks)) or any(path.endswith(".py") for path in files.paths)


def plan_python(files: Files, version: str) -> Plan:
    """The plan for the Python project in `files`; `version` is what its tags say, for those that have it from git."""
    metadata = Metadata(files)
    tests = PythonTests(metadata)
    requirements = Requirements(metadata, tests)
    plan = Plan(language="python", setup=requirements.commands, inputs=requirements.inputs)
    plan.example = "python -m pytest -q tests"
    env = {"PYTHONPATH": ":".join(_roots(metadata))}
    reasons = _reasons_to_install(metadata)
    if reasons and metadata.is_installable:
        plan.setup.append(install(metadata.build_requires))
        plan.build.append(_build(metadata, version))
        env["PYTHONPATH"] += f":{SITE}"
        plan.notes.append(f"the project is installed before each check: {'; '.join(reasons)}")
        if "scripts" in " ".join(reasons):
            env["PATH"] = _PATH
        if "setup.py" in files:
            plan.protect.append("setup.py")
    if tests.exist:
        command = " ".join(["python -m pytest -q", *(shlex.quote(_as_argument(path)) for path in tests.paths)])
        plan.checks.append(PlannedCheck("tests", command, env))
    else:
        plan.notes.append("no tests were found: name a check, or criteria, before you verify")
    plan.protect += _protected(files, tests)
    plan.notes += [*metadata.notes, *requirements.notes, *_warnings(metadata, tests)]
    return plan


def _as_argument(path: str) -> str:
    """`path`, so that it cannot be taken for an option."""
    return f"./{path}" if path.startswith("-") else path


def _roots(metadata: Metadata) -> list[str]:
    """Where modules are imported from: the folder that the sources are in, and the tree itself for tests' helpers."""
    directories = table(metadata.pyproject, "tool", "setuptools", "package-dir")
    written = metadata.setup_arguments.get("package_dir")
    package_dir = directories or (written if isinstance(written, dict) else {})
    configured = package_dir.get("")
    names = [configured] if isinstance(configured, str) and configured not in ("", ".") else ["src", "lib"]
    found = [name for name in names if metadata.files.python_in(name)]
    return [*(f"{TREE}/{name.strip('/')}" for name in found[:1]), TREE]


def _reasons_to_install(metadata: Metadata) -> list[str]:
    """Why the tests may need the project installed rather than on the path; none when they do not."""
    reasons = []
    setup, poetry = metadata.setup_arguments, metadata.poetry
    if table(metadata.project, "scripts") or table(poetry, "scripts"):
        reasons.append("it has scripts")
    named = table(metadata.project, "entry-points") or table(poetry, "plugins") or setup.get("entry_points")
    if named or metadata.setup_cfg.has_section("options.entry_points"):
        reasons.append("it has entry points and scripts")
    if _version_tool(metadata):
        reasons.append("its version comes from git and is written by its build")
    if setup.get("ext_modules") or _COMPILED & {name_of(text) for text in metadata.build_requires}:
        reasons.append("it has compiled modules")
    source = [path for path in metadata.files.paths if path.endswith(".py") and not path.startswith(("docs/", "doc/"))]
    if any(_ASKS_FOR_METADATA.search(metadata.files.text(path)) for path in source if path != "setup.py"):
        reasons.append("its code asks for the metadata of installed projects")
    return reasons


def _version_tool(metadata: Metadata) -> str:
    """What tells the version from git, if anything does."""
    names = {name_of(text) for text in metadata.build_requires}
    if "pdm-backend" in names and "version" not in metadata.dynamic:
        names.discard("pdm-backend")
    return next((name for name in _VERSION_VARIABLES if name in names), "")


def _build(metadata: Metadata, version: str) -> str:
    """Install into the home folder of the check, offline, from the tree."""
    command = f"pip install --quiet --no-deps --no-build-isolation --no-index --use-pep517 --target {SITE} ."
    tool = _version_tool(metadata)
    if not tool:
        return command
    said = metadata.package_info.get("Version", [])
    known = said[0] if said and re.fullmatch(r"[A-Za-z0-9.+!]+", said[0]) else version or "0.0.0"
    value = "1" if tool == "poetry-dynamic-versioning" else known
    return f"{_VERSION_VARIABLES[tool]}={value} {command}"


def _protected(files: Files, tests: PythonTests) -> list[str]:
    """Tests that the built-in list does not know by their names: folders other than `tests`, and single files."""
    found = []
    for path in tests.folders:
        if path in files.folders:
            if path != "tests":
                found.append(f"{path}/**")
        elif not (posixpath.basename(path).startswith("test_") or path.endswith("_test.py")):
            found.append(path)
    return [re.sub(r"([\[\]*?!#\\])", r"\\\1", text[:-3]) + "/**" if text.endswith("/**") else text for text in found]


def _warnings(metadata: Metadata, tests: PythonTests) -> list[str]:
    """What a person should know that no plan can mend."""
    notes = []
    requires = metadata.project.get("requires-python")
    if isinstance(requires, str) and re.search(r">=?\s*3\.(1[2-9]|[2-9]\d)", requires):
        notes.append(f"it requires Python {requires}: see that the image has it (python --version)")
    if _COMPILED & {name_of(text) for text in metadata.build_requires}:
        notes.append("it has compiled modules, and the python image has no compiler: use an image of your own")
    for name in ("Pipfile", "environment.yml", "conda.yaml"):
        if name in metadata.files:
            notes.append(f"{name} is not read: add what it lists to environment.setup")
    if "error" in tests.options.get("filterwarnings", "").split():
        notes.append("its tests take warnings for errors: a newer library may turn them red on the base, too")
    return notes
