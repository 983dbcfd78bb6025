from __future__ import annotations

import subprocess

import psutil

from adapters.processes import living


def test_a_process_is_the_same_though_the_clock_was_set_and_another_is_not() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        created = psutil.Process(process.pid).create_time()
        found = [living(process.pid, created + late) for late in (0.0, 1.0, -1.0, 10.0, -10.0)]
        assert [bool(one) for one in found] == [True, True, True, False, False]
        process.kill()
        while psutil.Process(process.pid).status() != psutil.STATUS_ZOMBIE:
            pass
        assert living(process.pid, created) is None
    assert living(process.pid, created) is None
