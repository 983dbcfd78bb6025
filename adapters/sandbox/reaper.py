"""Removes what killed workers left on the engine: nothing of another owner's, and nothing before its deadline."""

from __future__ import annotations

import time
from collections.abc import Mapping

from adapters.sandbox.engine import DEADLINE, OWNER, Engine, remove_container, remove_volume


def reap(engine: Engine, owner: str, *, everything: bool = False) -> int:
    """How many containers and volumes went: containers first, since they hold the volumes. Raises `Unavailable`.

    `everything`: whether its deadline has passed or not.
    """
    with engine.speaking("remove what is past its deadline") as api:
        ours = {"label": [f"{OWNER}={owner}", DEADLINE]}
        now = time.time()
        removed = 0
        for container in api.containers(all=True, filters=ours):
            if everything or _expired(container["Labels"], now):
                removed += remove_container(api, container["Id"])
        for volume in api.volumes(filters=ours)["Volumes"] or ():
            if everything or _expired(volume["Labels"], now):
                removed += remove_volume(api, volume["Name"])
        return removed


def _expired(labels: Mapping[str, str], now: float) -> bool:
    return int(labels[DEADLINE]) < now
