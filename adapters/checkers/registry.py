"""Which class checks which type of criterion. A type without an entry is one that no machine can check."""

from __future__ import annotations

from adapters.checkers.commands import CommandExitZeroChecker, CommandOutputChecker
from adapters.checkers.files import FileContainsChecker, FileExistsChecker
from adapters.checkers.python_call import PythonCallChecker
from domain.ports import Checker, EvidenceStore, Sandbox


def checkers(store: EvidenceStore, sandbox: Sandbox) -> dict[str, Checker]:
    """A checker for every deterministic type of `domain.criteria`, by type."""
    found: tuple[Checker, ...] = (
        FileExistsChecker(store),
        FileContainsChecker(store),
        CommandExitZeroChecker(sandbox),
        CommandOutputChecker(sandbox),
        PythonCallChecker(sandbox),
    )
    return {checker.type: checker for checker in found}
