"""The variables that a worker command gets: enough to work with, and no authority. Source: DESIGN 1.4."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

BRIEF = "COUNTERSIGN_BRIEF"

_OF_THE_SYSTEM = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO"),
)
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "FTP_PROXY")
PASSED_ON = frozenset({*_OF_THE_SYSTEM, *_PROXIES, *(name.lower() for name in _PROXIES)})
"""Beside these whatever begins with `LC_`, and what the order names."""


def scrubbed(environment: Mapping[str, str], named: Iterable[str], brief: Path) -> dict[str, str]:
    """What of `environment` a worker command gets; a variable that the order names and that is not set, is not."""
    passed_on = {name: value for name, value in environment.items() if name in PASSED_ON or name.startswith("LC_")}
    asked_for = {name: environment[name] for name in named if name in environment}
    return {**passed_on, "TERM": "dumb", **asked_for, BRIEF: str(brief)}
