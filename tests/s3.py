"""A real S3 server for tests, on this host alone: rclone, which keeps the buckets as folders."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from tests.ports import held_for

KEY, SECRET = "test-key-id", "test-secret-of-the-bucket-1"
RCLONE = Path(sys.executable).parent / "rclone"
_PATIENCE = 120.0  # seconds


class S3Server:
    """Buckets in `folder`, one of which is called `evidence`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "evidence").mkdir(parents=True)
        self.port = held_for(self)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The endpoint."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables with which a client may use it."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
        }

    def start(self) -> None:
        """Come up, on the same port each time; it answers when this returns."""
        ours = {name: value for name, value in os.environ.items() if not name.startswith("RCLONE_")}
        self._process = subprocess.Popen(
            [
                *(RCLONE, "--config", os.devnull, "--log-level", "ERROR"),
                *("serve", "s3", "--addr", f"127.0.0.1:{self.port}", "--auth-key", f"{KEY},{SECRET}", self.folder),
            ],
            env=ours,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        ends = time.monotonic() + _PATIENCE
        while time.monotonic() < ends and self._process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            except OSError:
                time.sleep(0.05)
            else:
                return
        raise AssertionError("rclone serves no S3")

    def stop(self) -> None:
        """Go away, at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
