"""Which domain changed paths look like. A guess, for people to read: nothing is decided by it.

Source: seed `fix loop` 6 "High-stakes domain detection"; only an order's own word makes its work less than high stakes.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from typing import Literal

from domain.order import Domain

FOLDERS: Mapping[Domain, tuple[str, ...]] = {
    "security": ("security", "auth", "authentication", "authorization", "crypto", "login", "permissions", "secrets"),
    "finance": ("finance", "accounting", "billing", "invoices", "payment", "payments", "pricing", "payroll"),
    "legal": ("legal", "licenses", "compliance", "privacy"),
    "deploy": ("deploy", "deployment", "helm", "charts", "k8s", "kubernetes", "release"),
    "infra": ("infra", "infrastructure", "terraform", "ansible", ".github", ".circleci"),
    "docs": ("docs", "doc", "documentation"),
}
"""Names of folders, anywhere in a path, the first that fits from above: a page of `docs/security` is of security."""

FILES: Mapping[Domain, tuple[str, ...]] = {
    "security": ("security.md",),
    "legal": ("license*", "copying*", "notice*", "privacy*", "terms*"),
    "deploy": ("dockerfile*", "*.dockerfile", "docker-compose*", "compose.y*ml", "procfile"),
    "infra": ("*.tf", "*.tfvars", ".gitlab-ci.yml", "jenkinsfile"),
    "docs": ("*.md", "*.rst", "*.adoc"),
}
"""Patterns of file names, in lower case, asked where no folder told."""


def guessed_domain(paths: Iterable[str]) -> Domain | Literal[""]:
    """The one domain that all of `paths` look like; empty where one looks like none, two differ, or none is given."""
    found = {_of_path(path.lower()) for path in paths}
    return found.pop() if len(found) == 1 else ""


def _of_path(path: str) -> Domain | Literal[""]:
    *folders, name = path.split("/")
    for domain, named in FOLDERS.items():
        if any(folder in named for folder in folders):
            return domain
    for domain, patterns in FILES.items():
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
            return domain
    return ""
