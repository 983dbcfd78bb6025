"""What a Python project says of itself: pyproject.toml, setup.cfg, setup.py, PKG-INFO, tox.ini; it runs none of it."""

from __future__ import annotations

import ast
import re
import tomllib
from configparser import ConfigParser, Error
from email.parser import HeaderParser
from functools import cached_property
from typing import Any

from adapters.survey.files import Files
from adapters.survey.requirements import fit


def table(value: Any, *names: str) -> dict[str, Any]:
    """The table at a path of `names`; an empty one when there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def texts(value: Any) -> list[str]:
    """The texts of a list; of a text, its lines."""
    if isinstance(value, str):
        return [line.strip() for line in value.splitlines() if line.strip()]
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


class Metadata:
    """One project's files, parsed as far as they can be: what is malformed counts as absent, and is in `notes`."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.notes: list[str] = []
        self.pyproject = self._toml("pyproject.toml")
        self.setup_cfg = self._ini("setup.cfg")
        self.tox = self._ini("tox.ini")
        self.project = table(self.pyproject, "project")
        self.dynamic = set(texts(self.project.get("dynamic")))
        self.poetry = table(self.pyproject, "tool", "poetry")

    def _toml(self, path: str) -> dict[str, Any]:
        try:
            return tomllib.loads(self.files.text(path))
        except tomllib.TOMLDecodeError as error:
            self.notes.append(f"{path} cannot be read: {error}")
            return {}

    def _ini(self, path: str) -> ConfigParser:
        parser = ConfigParser(interpolation=None, strict=False, allow_no_value=True)
        try:
            parser.read_string(self.files.text(path))
        except Error as error:
            self.notes.append(f"{path} cannot be read: {str(error).splitlines()[0]}")
            return ConfigParser()
        return parser

    @cached_property
    def package_info(self) -> dict[str, list[str]]:
        """The headers of PKG-INFO, which source distributions have: what dynamic metadata came to."""
        message = HeaderParser().parsestr(self.files.text("PKG-INFO"))
        return {name: [str(value) for value in message.get_all(name, [])] for name in message}

    @cached_property
    def setup_arguments(self) -> dict[str, Any]:
        """The keyword arguments of setup.py's calls that are literals; `...` for those that are computed."""
        try:
            tree = ast.parse(self.files.text("setup.py"))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self.notes.append(f"setup.py cannot be read: {error}")
            return {}
        assigned = {
            target.id: node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        found: dict[str, Any] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "setup":
                for keyword in node.keywords:
                    value = keyword.value
                    if isinstance(value, ast.Name):
                        value = assigned.get(value.id, value)
                    found[keyword.arg or ""] = _literal(value)
        return found

    @property
    def is_installable(self) -> bool:
        """Whether pip could install it."""
        return bool(self.project or self.poetry or "setup.py" in self.files or self.setup_cfg.has_section("metadata"))

    @property
    def build_requires(self) -> list[str]:
        """What has to be installed before the project can be, its own declaration first."""
        named = fit(texts(table(self.pyproject, "build-system").get("requires")))
        if named and not any(text.startswith("setuptools") for text in named):
            return named
        return fit([*named, "setuptools", "wheel"])

    def runtime(self) -> list[str]:
        """What the project needs to run, where only the older kinds of metadata say so."""
        written = texts(self.setup_cfg.get("options", "install_requires", fallback=""))
        computed = self.setup_arguments.get("install_requires")
        listed = written or texts(computed)
        if listed:
            return fit(listed)
        declared = [text for text in self.package_info.get("Requires-Dist", []) if "extra ==" not in text]
        return fit(declared) or fit(self._egg_info().get("", []))

    def extras(self) -> dict[str, list[str]]:
        """The optional requirements by extra, where only the older kinds of metadata say so."""
        found: dict[str, list[str]] = {}
        if self.setup_cfg.has_section("options.extras_require"):
            found |= {name: fit(texts(value)) for name, value in self.setup_cfg.items("options.extras_require")}
        written = self.setup_arguments.get("extras_require")
        found |= {name: fit(texts(value)) for name, value in table({"e": written}, "e").items()}
        tests = texts(self.setup_arguments.get("tests_require")) or texts(
            self.setup_cfg.get("options", "tests_require", fallback="")
        )
        if tests:
            found["tests_require"] = fit(tests)
        for text in self.package_info.get("Requires-Dist", []):
            extra = re.search(r"extra == ['\"]([^'\"]+)['\"]", text)
            if extra:
                bare = re.sub(r"\s*(?:and\s*)?extra == ['\"][^'\"]+['\"]", "", text).rstrip("; ")
                found.setdefault(extra[1], []).extend(fit([bare]))
        return found or {name: fit(lines) for name, lines in self._egg_info().items() if name}

    def _egg_info(self) -> dict[str, list[str]]:
        """requires.txt of setuptools: requirements by section, conditions left out."""
        path = next((path for path in self.files.paths if path.endswith(".egg-info/requires.txt")), "")
        sections: dict[str, list[str]] = {}
        name = ""
        for line in self.files.text(path).splitlines():
            header = re.fullmatch(r"\[([^:\]]*)(:.*)?\]", line.strip())
            if header:
                name = header[1] if not header[2] else f"{header[1]}:condition"
            else:
                sections.setdefault(name, []).append(line.strip())
        return {name: lines for name, lines in sections.items() if not name.endswith(":condition")}

    def tox_deps(self) -> list[str]:
        """The lines of tox's `deps`, those that hold for every environment."""
        section = next((name for name in ("testenv", "testenv:py", "testenv:test") if self.tox.has_section(name)), "")
        lines = texts(self.tox.get(section, "deps", fallback="")) if section else []
        return [line.replace("{toxinidir}/", "").replace("{tox_root}/", "") for line in lines]

    def tool_lists(self) -> list[str]:
        """Test requirements that Hatch's environments and PDM's groups list."""
        environments = table(self.pyproject, "tool", "hatch", "envs")
        found: list[str] = []
        for name in ("default", "test", "tests", "hatch-test"):
            for key in ("dependencies", "extra-dependencies"):
                found += texts(table(environments, name).get(key))
        groups = table(self.pyproject, "tool", "pdm", "dev-dependencies")
        for name in ("test", "tests", "testing", "dev"):
            found += texts(groups.get(name))
        return fit(found)


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return ...
