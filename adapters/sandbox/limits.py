"""Proves on small containers that the engine's limits bind: `probe` reports what was seen, `Gate` refuses an engine.

Source: DESIGN section 7, "`doctor` proves on a probe container that memory, pids and network limits bind". That of the
processors is only asked for, not proven.
"""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import docker

from adapters.sandbox.confinement import MIB, Container, Limits, create
from adapters.sandbox.engine import DEADLINE, ENGINE_ERRORS, OWNER, START_ENGINE, Engine, explanation, remove_container
from domain.base import Message, canonical_json, sha256_hex
from domain.errors import Cause, Unavailable
from domain.ports import EvidenceStore

_LIFETIME_SECONDS = 120
_TRIES = 3
_LATELY_SECONDS = 60.0
_OUR_IMAGES = ("countersign-base:", "countersign/", "countersign/setup:")
"""Who comes and goes least comes first: a base stays, an image follows its folder, a set-up image the work."""

_CGROUPS = "boot the engine's host with this cgroup controller on (docker info shows the warning), restart the engine"
_FLAGS = {"MemoryLimit": "memory limit", "PidsLimit": "process limit", "CpuCfsQuota": "processor limit"}
"""What the engine says of itself, where it does, by what that means."""

_HELD = b"held"


class ProbeResult(Message):
    """One finding about the engine: `text` says what was seen, `fix` what to do when it is not `ok`."""

    name: str
    ok: bool
    text: str
    fix: str = ""


@dataclass(frozen=True)
class _Proof:
    """A script that runs into one limit, and how its end shows that the limit held."""

    name: str
    limit: str
    script: str
    limits: Limits
    held: Callable[[dict[str, Any]], bool]
    text: str
    fix: str
    bare: bool = True


_ONLY_LOOPBACK = "while read -r name _; do case $name in Inter*|face*|lo:*) ;; *) exit 9; esac; done < /proc/net/dev"

_PROOFS = (
    _Proof(
        name="memory limit",
        limit="memory limit",
        # 40 MiB and no more: an engine that does not stop it must not be brought down by it
        script="text=0123456789; i=0; while [ $i -lt 22 ]; do text=$text$text; i=$((i + 1)); done; exit 99",
        limits=Limits(memory=16 * MIB),
        held=lambda state: bool(state["OOMKilled"]),
        text="a container that asks for more memory than its limit is killed",
        fix=_CGROUPS,
    ),
    _Proof(
        name="process limit",
        limit="process limit",
        script="exec 3<&0; i=0; while [ $i -lt 64 ]; do (read -r forever <&3) & i=$((i + 1)); done; exit 99",
        limits=Limits(pids=16),
        held=lambda state: state["ExitCode"] != 99,
        text="a container cannot start more processes than its limit",
        fix=_CGROUPS,
    ),
    _Proof(
        name="no network",
        limit="`none` network",
        script=_ONLY_LOOPBACK,
        limits=Limits(),
        held=lambda state: state["ExitCode"] == 0,
        text="a container has no network but its own loopback",
        fix="use an engine whose `none` network is Docker's own",
        bare=False,
    ),
    _Proof(
        name="no network set up",
        limit="`none` network",
        script=_ONLY_LOOPBACK,
        limits=Limits(),
        held=lambda state: state["ExitCode"] == 0,
        text="a container for which the engine sets up no network has only its loopback, too",
        fix="use an engine that knows NetworkDisabled, as Docker's own does",
    ),
)


def probe(engine: Engine, owner: str) -> tuple[ProbeResult, ...]:
    """The engine first; then, if it answers, one finding for each limit."""
    try:
        with engine.speaking("say its version") as api:
            said = api.version()
            answers = ProbeResult(name="docker", ok=True, text=f"Docker engine {said['Version']} answers")
            off = (
                ProbeResult(name=name, ok=False, text=f"does not bind: {seen}", fix=_CGROUPS)
                for name, seen in _off(api.info()).items()
            )
            image = _available_image(api)
            return (answers, *off, *(_prove(api, proof, image, owner) for proof in _PROOFS))
    except Unavailable as error:
        return (ProbeResult(name="docker", ok=False, text=error.reason, fix=START_ENGINE),)


class Gate:
    """Refuses an engine whose limits do not bind. That they do is remembered for as long as the engine is the same."""

    def __init__(self, engine: Engine, store: EvidenceStore, owner: str) -> None:
        self._engine = engine
        self._store = store
        self._owner = owner
        self._lock = threading.Lock()
        self._held: set[str] = set()
        self._bound_at = float("-inf")

    @property
    def bound_lately(self) -> bool:
        """Whether the engine was asked, and its limits were proven to bind, in the last minute."""
        return time.monotonic() - self._bound_at < _LATELY_SECONDS

    def ask(self) -> str:
        """The engine as it is now, for `prove`. Raises `Unavailable` (engine_limits) when it says that one is off."""
        with self._engine.speaking("say which limits it has") as api:
            said = api.info()
        for name, seen in _off(said).items():
            raise _not_binding(name, seen, _CGROUPS)
        where = self._engine.docker_host or os.environ.get("DOCKER_HOST", "")
        known = ("ID", "ServerVersion", "KernelVersion", "CgroupDriver", "CgroupVersion", *_FLAGS)
        return sha256_hex(canonical_json(["limits of both networks", where, *(str(said.get(name)) for name in known)]))

    def prove(self, engine: str, image: str) -> None:
        """Prove each limit on containers of `image`, once for each `engine` that `ask` knows.

        Raises `Unavailable` (engine_limits for one that does not bind; engine_unavailable, store_unavailable).
        """
        with self._lock:
            if engine not in self._held:
                self._prove(engine, image)
                self._held.add(engine)
            self._bound_at = time.monotonic()

    def _prove(self, engine: str, image: str) -> None:
        if self._store.recall(engine) == _HELD:
            return
        with self._engine.speaking("prove its limits") as api:
            for proof in _PROOFS:
                state = _end_of(api, proof, image, self._owner)
                if not proof.held(state):
                    raise _not_binding(proof.limit, _broken(state), proof.fix)
        self._store.remember(engine, _HELD)


def _off(said: Mapping[str, Any]) -> dict[str, str]:
    """The limits that the engine itself says it does not have, and its words."""
    return {name: f"docker info says {flag}: false" for flag, name in _FLAGS.items() if said.get(flag) is False}


def _not_binding(name: str, seen: str, fix: str) -> Unavailable:
    return Unavailable(Cause.ENGINE_LIMITS, f"the Docker engine's {name} does not bind: {seen}", fix)


def _broken(state: dict[str, Any]) -> str:
    return f"the container that ran into it ended with {state['ExitCode']}"


def _prove(api: docker.APIClient, proof: _Proof, image: str | None, owner: str) -> ProbeResult:
    if image is None:
        text = "not proven: none of Countersign's images is on the engine yet"
        return ProbeResult(name=proof.name, ok=False, text=text, fix="verify an order once, then run doctor again")
    try:
        state = _end_of(api, proof, image, owner)
    except (*ENGINE_ERRORS, Unavailable) as error:
        text = f"not proven: {explanation(error)}"
        return ProbeResult(name=proof.name, ok=False, text=text, fix=START_ENGINE)
    if proof.held(state):
        return ProbeResult(name=proof.name, ok=True, text=proof.text)
    return ProbeResult(name=proof.name, ok=False, text=f"does not bind: {_broken(state)}", fix=proof.fix)


def _end_of(api: docker.APIClient, proof: _Proof, image: str, owner: str) -> dict[str, Any]:
    """How its container ended; the last of a few when the limit never seemed to hold.

    A busy engine forgets now and then to say that a container ran out of memory (measured: 3 of 160, four at a time,
    Docker 20.10). A limit that does not bind does not bind the next time, either.
    """
    state = _end_of_one(api, proof, image, owner)
    for _ in range(_TRIES - 1):
        if proof.held(state):
            break
        state = _end_of_one(api, proof, image, owner)
    return state


def _end_of_one(api: docker.APIClient, proof: _Proof, image: str, owner: str) -> dict[str, Any]:
    labels = {OWNER: owner, DEADLINE: str(int(time.time()) + _LIFETIME_SECONDS)}
    name = f"countersign-probe-{uuid.uuid4().hex[:12]}"
    container = Container(
        name, image, proof.script, labels, limits=proof.limits, init=False, waiting=True, bare=proof.bare
    )
    identity = create(api, container)
    try:
        api.start(identity)
        api.wait(identity)
        state: dict[str, Any] = api.inspect_container(identity)["State"]
        return state
    finally:
        remove_container(api, identity)


def _available_image(api: docker.APIClient) -> str | None:
    """One of ours, of those that are there the least likely to be removed meanwhile."""
    tags = {tag: str(image["Id"]) for image in api.images() for tag in image["RepoTags"] or ()}
    ours = [tag for tag in tags if tag.startswith(_OUR_IMAGES)]
    rank = {tag: max(place for place, start in enumerate(_OUR_IMAGES) if tag.startswith(start)) for tag in ours}
    return tags[min(ours, key=lambda tag: rank[tag])] if ours else None
