"""Runs commands in containers on a Docker engine: the `Sandbox` port. Source: DESIGN section 7, basic form."""

from adapters.sandbox.limits import ProbeResult
from adapters.sandbox.sandbox import DockerSandbox

__all__ = ["DockerSandbox", "ProbeResult"]
