"""Who and what decided besides the order: what was in force when a command asked for a round.

A verdict holds for these only: a round under other files, another pin or other variables says nothing about them.
"""

from __future__ import annotations

from domain.base import Message


class ConfigurationFile(Message):
    """One `countersign.toml` that was in force."""

    path: str
    """Where it is: an absolute path."""
    digest: str
    """The SHA-256 of its bytes."""


class Authority(Message):
    """The configuration, the pin and the variables that a round was asked for under."""

    configuration: tuple[ConfigurationFile, ...] = ()
    """Every `countersign.toml` in force, the outermost first."""
    pin: str = ""
    """The digest of the pin of the order, empty where the order needs none."""
    signers: str = ""
    """The SHA-256 of the file that says who may sign, empty where no file does."""
    environment: dict[str, str] = {}
    """The variables that choose who decides, or on what: the SHA-256 of each value by name."""
    program: str = ""
    """The version of Countersign; empty where it was not recorded."""
    models: str = ""
    """The SHA-256 of which models the roles have, empty where the order asks none."""


NO_AUTHORITY = Authority()


class Rejection(Message):
    """A person sent a tree back, by the same order: no further round of it passes."""

    attempt: int
    """The round that they decided about."""
    head: str
    base: str
    """The digests of the tree and of its base."""
    by: str
    """Who, as the trail spells them."""
    feedback: str
