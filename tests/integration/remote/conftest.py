"""Servers on loopback that no proxy stands before."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.service import Service, serving


@pytest.fixture
def service() -> Iterator[Service]:
    with serving() as found:
        yield found


@pytest.fixture
def other() -> Iterator[Service]:
    with serving() as found:
        yield found


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
