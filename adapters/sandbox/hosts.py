"""Finds out, once an engine, whether containers may share the file of hosts that the engine wrote for one of them."""

from __future__ import annotations

import threading
import time
import uuid

import docker
from docker.errors import APIError

from adapters.sandbox.confinement import Container, HostsGone, create
from adapters.sandbox.engine import DEADLINE, OWNER, Engine, remove_container
from adapters.sandbox.limits import Gate
from domain.base import canonical_json, sha256_hex
from domain.errors import Unavailable
from domain.ports import EvidenceStore

_LIFETIME_SECONDS = 120
_WAIT = "read -r forever"
# Exits with 0 where the file is there, says what it should, and cannot be written.
_LOOK = """
while read -r address name _; do
    [ "$address $name" = "127.0.0.1 localhost" ] && found=yes
done < /etc/hosts
[ "$found" = yes ] && ! ( : >> /etc/hosts ) 2>/dev/null
"""
_CAN = b"shared"


class Hosts:
    """What is known of one engine. Where it cannot be done, every container has its file written, and starts slower."""

    def __init__(self, gate: Gate, engine: Engine, store: EvidenceStore, owner: str) -> None:
        self._gate = gate
        self._engine = engine
        self._store = store
        self._owner = owner
        self._lock = threading.Lock()
        self._known: bool | None = None

    def can_be_shared(self, api: docker.APIClient, image: str) -> bool:
        """Tried on containers of `image`; that they can is remembered. Raises `Unavailable` and docker's own errors."""
        with self._lock:
            if self._known is None:
                key = sha256_hex(canonical_json(["hosts are shared", self._gate.ask()]))
                self._known = self._store.recall(key) == _CAN or self._try(api, image)
                if self._known:
                    self._store.remember(key, _CAN)
            return self._known

    def _try(self, api: docker.APIClient, image: str) -> bool:
        first, second = (f"countersign-hosts-{uuid.uuid4().hex[:12]}" for _ in range(2))
        labels = {OWNER: self._owner, DEADLINE: str(int(time.time()) + _LIFETIME_SECONDS)}
        try:
            api.start(create(api, Container(first, image, _WAIT, labels, init=False, waiting=True)))
            path = str(api.inspect_container(first).get("HostsPath", ""))
            if not path:
                return False
            api.start(create(api, Container(second, image, _LOOK, labels, init=False, bare=True, hosts=path)))
            return int(api.wait(second)["StatusCode"]) == 0
        except (APIError, HostsGone, Unavailable):
            return False  # it refuses; whatever else is wrong with it, what is created next says
        finally:
            for name in (first, second):
                remove_container(api, name)
