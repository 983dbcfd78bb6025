"""A worker with the workflows of `bench.least`, in a process of its own as the product's is: no client counts to it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
from temporalio.client import Client
from temporalio.worker import Worker

from bench.least import OneActivity, Updates, nothing
from bench.project import CannotMeasure

QUEUE = "bench-bare"
ROOT = Path(__file__).resolve().parent.parent


@contextmanager
def bare_worker(address: str) -> Iterator[psutil.Process]:
    """While the body runs, such a worker polls. Raises `CannotMeasure` when it does not come up."""
    command = [sys.executable, "-m", "bench.bare", address]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - ourselves
        try:
            assert process.stdout is not None
            if process.stdout.readline().strip() != "polls":
                raise CannotMeasure("the bare worker does not start")
            yield psutil.Process(process.pid)
        finally:
            process.terminate()


async def _serve(address: str) -> None:
    client = await Client.connect(address)
    async with Worker(client, task_queue=QUEUE, workflows=[OneActivity, Updates], activities=[nothing]):
        print("polls", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1]))
