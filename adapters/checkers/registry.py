"""Which class checks which type of criterion. A type without an entry is one that no machine can check."""

from __future__ import annotations

from adapters.checkers.api_response import ApiResponseChecker
from adapters.checkers.cli_io import CliIoChecker
from adapters.checkers.commands import CommandOutputChecker
from adapters.checkers.exit_zero import CommandExitZeroChecker
from adapters.checkers.files import FileContainsChecker, FileExistsChecker
from adapters.checkers.git_commits import GitCommitExistsChecker
from adapters.checkers.github import PrExistsChecker, PrMergedChecker
from adapters.checkers.http_response import HttpResponseChecker
from adapters.checkers.pytest_check import PytestChecker
from adapters.checkers.python_call import PythonCallChecker
from adapters.checkers.remote import NO_ACCESS, Access
from domain.ports import Checker, EvidenceStore, Sandbox


def checkers(store: EvidenceStore, sandbox: Sandbox, access: Access = NO_ACCESS) -> dict[str, Checker]:
    """A checker for every deterministic type of `domain.criteria`, by type."""
    found: tuple[Checker, ...] = (
        FileExistsChecker(store),
        FileContainsChecker(store),
        CommandExitZeroChecker(sandbox, store),
        CommandOutputChecker(sandbox),
        PythonCallChecker(sandbox, store),
        ApiResponseChecker(access),
        PrExistsChecker(access),
        PrMergedChecker(access),
        CliIoChecker(sandbox, store),
        HttpResponseChecker(sandbox),
        PytestChecker(store, sandbox),
        GitCommitExistsChecker(store),
    )
    return {checker.type: checker for checker in found}
