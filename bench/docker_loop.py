"""What a round is compared with: the same checks by `docker run`, one after another, as a careful user would do it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from adapters.sandbox.confinement import MIB
from bench.project import CHECK, CannotMeasure

LIMIT_SECONDS = 60
MEMORY, DISK = 512 * MIB, 400 * MIB
TREE_BYTES, TREE_INODES = 128 * MIB, 8192
"""Room for a copy of the tree, which memory is charged with."""

SCRIPT = """
mkdir /work/home /work/tree && cp -RPp /src/. /work/tree && cd /work/tree && exec timeout -k 2 60 sh -c "$0"
"""


def loop(image: str, tree: Path, checks: int) -> None:
    """Run `checks` checks over `tree`, each in a container of its own. Raises `CannotMeasure`."""
    docker = shutil.which("docker")
    if docker is None:
        raise CannotMeasure("there is no docker command to compare with")
    for _ in range(checks):
        ended = subprocess.run(  # noqa: S603 - docker, with constants
            [docker, "run", "--rm", *_restrictions(tree), "--entrypoint", "sh", image, "-c", SCRIPT, CHECK],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
        if ended.returncode != 0:
            raise CannotMeasure(f"docker run ended with {ended.returncode}: {ended.stderr.strip()[-300:]}")


def _restrictions(tree: Path) -> list[str]:
    """Those of `adapters.sandbox.confinement`, in the words of the command."""
    memory, disk = MEMORY + TREE_BYTES, DISK + TREE_BYTES
    owned = "mode=0755,uid=1000,gid=1000,rw,exec,nosuid,nodev"
    return [
        *("--network", "none", "--read-only", "--user", "1000:1000", "--hostname", "sandbox"),
        *("--cap-drop", "ALL", "--security-opt", "no-new-privileges:true", "--init", "--no-healthcheck"),
        *("--memory", str(memory), "--memory-swap", str(memory), "--pids-limit", "256", "--cpus", "1.0"),
        *("--ipc", "private", "--shm-size", "16m", "--log-driver", "none"),
        *("--ulimit", "nofile=4096:4096", "--ulimit", f"fsize={disk}:{disk}", "--ulimit", "core=0:0"),
        *("--tmpfs", f"/tmp:{owned},size={DISK},nr_inodes=65536"),  # noqa: S108 - in the container
        *("--tmpfs", f"/work:{owned},size={disk},nr_inodes={65536 + TREE_INODES}"),
        *("--mount", f"type=bind,source={tree},target=/src,readonly", "--env", "HOME=/work/home"),
    ]
