"""Seals a frozen tree on the engine, once a round: a read-only volume in memory that a holder container keeps alive.

Source: DESIGN section 7, "Seal". That the tree is whole is for every check to see, in `/src/seal`.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import docker
from docker.errors import APIError, NotFound

from adapters.sandbox.archive import footprint, inodes, sealed_tree
from adapters.sandbox.confinement import MIB, SEALED, Container, create
from adapters.sandbox.engine import (
    DEADLINE,
    OWNER,
    ROUND,
    Engine,
    name_of,
    remove_container,
    remove_volume,
    status_of,
)
from adapters.sandbox.hosts import Hosts
from domain.builds import STRICT, BuildRules
from domain.ports import EvidenceStore
from domain.tree import Manifest

LIFETIME_SECONDS = 3600
"""After it a seal is for the reaper. A round that lasts longer seals again."""

_VOLUME = "countersign.volume"
_BYTES = "countersign.bytes"
_INODES = "countersign.inodes"
_SHARES_HOSTS = "countersign.hosts"

_HOLD = "read -r forever"


@dataclass(frozen=True)
class Seal:
    """A sealed tree: its volume, and what a copy of it takes. `hosts`: the holder's file of hosts, to be shared."""

    volume: str
    bytes: int
    inodes: int
    hosts: str = ""


class Seals:
    """The sealed trees of one owner.

    A volume and its holder are made under a name of their own; the holder then gets the name that round and tree lead
    to. That renaming is atomic on the engine: half a seal has no such name, and of two processes one comes first.
    """

    def __init__(self, engine: Engine, store: EvidenceStore, owner: str, hosts: Hosts) -> None:
        self._engine = engine
        self._store = store
        self._owner = owner
        self._hosts = hosts
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def find_or_make(self, round: str, tree: str, image: str, rules: str | None = None) -> Seal:
        """The seal of the round's tree, made if it is absent. `image` is what the holder runs on, and has `sh`.

        `rules`: those of its builds, None where nothing is built. Raises `Unavailable`.
        """
        name = self._name(round, tree, rules)
        with self._locks[name], self._engine.speaking("seal the tree") as api:
            holder = Container("", image, _HOLD, self._labels(round))
            return _find(api, name) or self._make(api, name, holder, tree, rules)

    def discard(self, round: str, tree: str, seal: Seal, rules: str | None = None) -> None:
        """Give up a seal that is not what it should be, so that the next one asked for is made anew."""
        name = self._name(round, tree, rules)
        with self._locks[name], self._engine.speaking("remove a seal") as api:
            if _find(api, name) == seal:
                remove_container(api, name)
            remove_volume(api, seal.volume)

    def release(self, round: str) -> None:
        """Remove everything of the round: holders first, then volumes. Doing it twice is no error."""
        with self._engine.speaking("release the round") as api:
            ours = {"label": [f"{OWNER}={self._owner}", f"{ROUND}={round}"]}
            for container in api.containers(all=True, filters=ours):
                remove_container(api, container["Id"])
            for volume in api.volumes(filters=ours)["Volumes"] or ():
                remove_volume(api, volume["Name"])

    def rounds(self) -> frozenset[str]:
        """The rounds that have something on the engine, container or volume. Raises `Unavailable`."""
        with self._engine.speaking("say what rounds it has something of") as api:
            ours = {"label": [f"{OWNER}={self._owner}", ROUND]}
            labelled = [*api.containers(all=True, filters=ours), *(api.volumes(filters=ours)["Volumes"] or ())]
            return frozenset(str(each["Labels"][ROUND]) for each in labelled)

    def _name(self, round: str, tree: str, rules: str | None) -> str:
        return name_of("seal", self._owner, round, tree, *(() if rules is None else (f"built {rules}",)))

    def _make(self, api: docker.APIClient, name: str, holder: Container, tree: str, rules: str | None) -> Seal:
        manifest = Manifest.decode(self._store.get(tree))
        built = None if rules is None else self._rules(rules)
        unique = f"{name}-{uuid.uuid4().hex[:12]}"
        seal = Seal(unique, footprint(manifest), inodes(manifest))
        try:
            _make_volume(api, seal, holder)
            self._hold(api, seal, holder, sealed_tree(manifest, tree, self._store.get, built))
            if _publish(api, unique, name):
                return _find(api, name) or seal
        except BaseException:
            _remove(api, seal)
            raise
        _remove(api, seal)
        return _find(api, name) or self._make(api, name, holder, tree, rules)

    def _rules(self, digest: str) -> BuildRules:
        return BuildRules.model_validate_json(self._store.get(digest)) if digest else STRICT

    def _hold(self, api: docker.APIClient, seal: Seal, holder: Container, archive: Iterator[bytes]) -> None:
        shared = self._hosts.can_be_shared(api, holder.image)
        labels = {**holder.labels, _VOLUME: seal.volume, _BYTES: str(seal.bytes), _INODES: str(seal.inodes)}
        labels |= {_SHARES_HOSTS: ""} if shared else {}
        identity = create(
            api,
            Container(
                seal.volume,
                holder.image,
                holder.script,
                labels,
                volume=seal.volume,
                writable=True,
                waiting=True,
                bare=not shared,
            ),
        )
        api.start(identity)
        api.put_archive(identity, SEALED, archive)

    def _labels(self, round: str) -> dict[str, str]:
        return {OWNER: self._owner, ROUND: round, DEADLINE: str(int(time.time()) + LIFETIME_SECONDS)}


def _find(api: docker.APIClient, name: str) -> Seal | None:
    """The published seal, if its holder lives: without it the volume may be empty."""
    try:
        holder = api.inspect_container(name)
    except NotFound:
        return None
    if not holder["State"]["Running"]:
        remove_container(api, holder["Id"])
        return None
    labels = holder["Config"]["Labels"]
    hosts = str(holder["HostsPath"]) if _SHARES_HOSTS in labels else ""
    return Seal(labels[_VOLUME], int(labels[_BYTES]), int(labels[_INODES]), hosts)


def _make_volume(api: docker.APIClient, seal: Seal, holder: Container) -> None:
    # room for every folder and link a second time, where the tree is built
    size = f"size={2 * seal.bytes + MIB},nr_inodes={2 * seal.inodes + 64},mode=0755,nosuid,nodev"
    api.create_volume(
        seal.volume,
        driver="local",
        driver_opts={"type": "tmpfs", "device": "tmpfs", "o": size},
        labels=dict(holder.labels),
    )


def _publish(api: docker.APIClient, unique: str, name: str) -> bool:
    """Give the holder its name; False when another process has published this seal meanwhile."""
    try:
        api.rename(unique, name)
    except APIError as error:
        if status_of(error) != 409:
            raise
        return False
    return True


def _remove(api: docker.APIClient, seal: Seal) -> None:
    remove_container(api, seal.volume)
    remove_volume(api, seal.volume)
