"""What a survey comes to: everything that an order for the repository needs to say. It reads nothing."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class PlannedCheck:
    """One check: its name, command and variables. `timeout` in seconds."""

    name: str
    command: str
    env: dict[str, str] = field(default_factory=dict)
    timeout: int = 600


@dataclass
class Plan:
    """How a repository is set up, built and tested. `notes` are for the person who reads the order."""

    language: str = "unknown"
    image: str = "python"
    image_comment: str = "a folder of sandbox_images/, or any image that the engine has"
    setup: list[str] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    build: list[str] = field(default_factory=list)
    checks: list[PlannedCheck] = field(default_factory=list)
    example: str = "make test"
    protect: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
