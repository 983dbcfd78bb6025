"""Proves on small containers that the engine's limits bind; it reports and refuses nothing.

Source: DESIGN section 7, "`doctor` proves on a probe container that memory, pids and network limits bind".
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import docker

from adapters.sandbox.confinement import MIB, Container, Limits, create
from adapters.sandbox.engine import DEADLINE, ENGINE_ERRORS, OWNER, START_ENGINE, Engine, explanation, remove_container
from domain.base import Message
from domain.errors import Unavailable

_LIFETIME_SECONDS = 120
_OUR_IMAGES = ("countersign/", "countersign-base:")
_CGROUPS = "boot the engine's host with this cgroup controller on (docker info shows the warning), restart the engine"


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
    script: str
    limits: Limits
    held: Callable[[dict[str, Any]], bool]
    text: str
    fix: str


_PROOFS = (
    _Proof(
        name="memory limit",
        script="text=0123456789; while :; do text=$text$text; done",
        limits=Limits(memory=16 * MIB),
        held=lambda state: bool(state["OOMKilled"]),
        text="a container that asks for more memory than its limit is killed",
        fix=_CGROUPS,
    ),
    _Proof(
        name="process limit",
        script="exec 3<&0; i=0; while [ $i -lt 64 ]; do (read -r forever <&3) & i=$((i + 1)); done; exit 99",
        limits=Limits(pids=16),
        held=lambda state: state["ExitCode"] != 99,
        text="a container cannot start more processes than its limit",
        fix=_CGROUPS,
    ),
    _Proof(
        name="no network",
        script="while read -r name _; do case $name in Inter*|face*|lo:*) ;; *) exit 9; esac; done < /proc/net/dev",
        limits=Limits(),
        held=lambda state: state["ExitCode"] == 0,
        text="a container has no network but its own loopback",
        fix="use an engine whose `none` network is Docker's own",
    ),
)


def probe(engine: Engine, owner: str) -> tuple[ProbeResult, ...]:
    """The engine first; then, if it answers, one finding for each limit."""
    try:
        with engine.speaking("say its version") as api:
            said = api.version()
            answers = ProbeResult(name="docker", ok=True, text=f"Docker engine {said['Version']} answers")
            image = _available_image(api)
            return (answers, *(_prove(api, proof, image, owner) for proof in _PROOFS))
    except Unavailable as error:
        return (ProbeResult(name="docker", ok=False, text=error.reason, fix=START_ENGINE),)


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
    text = f"does not bind: the container ended with {state['ExitCode']}"
    return ProbeResult(name=proof.name, ok=False, text=text, fix=proof.fix)


def _end_of(api: docker.APIClient, proof: _Proof, image: str, owner: str) -> dict[str, Any]:
    labels = {OWNER: owner, DEADLINE: str(int(time.time()) + _LIFETIME_SECONDS)}
    name = f"countersign-probe-{uuid.uuid4().hex[:12]}"
    identity = create(api, Container(name, image, proof.script, labels, limits=proof.limits, init=False, waiting=True))
    try:
        api.start(identity)
        api.wait(identity)
        state: dict[str, Any] = api.inspect_container(identity)["State"]
        return state
    finally:
        remove_container(api, identity)


def _available_image(api: docker.APIClient) -> str | None:
    for image in api.images():
        if any(tag.startswith(_OUR_IMAGES) for tag in image["RepoTags"] or ()):
            return str(image["Id"])
    return None
