"""A naive verifier, to show that a cheat cheats: it believes the exit code of the check in the worker's own tree.

It runs in a container all the same, with the same image and user and without network: what it trusts is a cheat's.
"""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import docker

from tests.tamper.claims import Claim

LIMIT_SECONDS = 120
WHERE = "worker/tree"
_SCRIPT = 'mkdir -p /tmp/home && cd "/$0" && export HOME=/tmp/home && exec timeout -k 2 "$1" sh -c "$2"'


def exit_code(api: docker.APIClient, image: str, claim: Claim, work: Path) -> int:
    """What the check's command, after the order's builds, ends with in the tree `work`, brought there as it is."""
    variables = {**claim.project.check, **claim.check}.get("env", {})
    builds = claim.order.get("environment", {}).get("build", [])
    command = " && ".join([*builds, claim.command])
    made = api.create_container(
        image,
        ["sh", "-c", _SCRIPT, WHERE, str(LIMIT_SECONDS), command],
        environment=variables,
        user="1000",
        host_config=api.create_host_config(network_mode="none", mem_limit="512m", pids_limit=256, init=True),
    )
    try:
        api.put_archive(made, "/", _archive(work))
        api.start(made)
        return int(api.wait(made, timeout=LIMIT_SECONDS * 2)["StatusCode"])
    finally:
        api.remove_container(made, force=True, v=True)


def _archive(work: Path) -> bytes:
    """Times are kept, since compiled files name those of their sources."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
        tar.add(work, WHERE, filter=_owned)
    return stream.getvalue()


def _owned(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = 1000
    return info
