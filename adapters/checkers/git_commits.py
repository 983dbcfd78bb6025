"""Checks that the workspace's repository has a commit, in the list that was stored when the workspace was frozen.

Codes: `ok`, `no_commit`. Whatever is wrong with the repository is the worker's doing, so it is `no_commit` with a note.
"""

from __future__ import annotations

import asyncio

from adapters.checkers.facts import seen
from adapters.checkers.plain_data import printable
from adapters.snapshot.commits import CommitLog
from domain.checks import Item, Outcome
from domain.criteria import GitCommitExists
from domain.ports import CheckContext, EvidenceStore, Finding

SHOWN = 100  # characters of a message's first line, and of the text that is looked for


class GitCommitExistsChecker:
    """A commit since the base has a text in its message, compared as it is."""

    type = "git_commit_exists"

    def __init__(self, store: EvidenceStore) -> None:
        self._store = store

    async def check(self, item: Item, context: CheckContext) -> Finding:
        """Whether a stored commit has the text. Raises `Unavailable` (store_unavailable)."""
        criterion = item.criterion
        assert isinstance(criterion, GitCommitExists)
        assert context.commits, "the round was frozen without its commits"
        log = CommitLog.model_validate_json(await asyncio.to_thread(self._store.get, context.commits))
        wanted = criterion.params.message
        found = next((commit for commit in log.commits if wanted in commit.message), None)
        if found is not None:
            first = printable(found.message.strip().partition("\n")[0])[:SHOWN]
            outcome, code, text = Outcome.PASSED, "ok", f"{found.id[:12]} {first}"
        else:
            told = f"; {log.note}" if log.note else ""
            text = f"none of {len(log.commits)} commits has {wanted!r:.{SHOWN}} in its message{told}"
            outcome, code = Outcome.FAILED, "no_commit"
        facts = seen(item, context, commits=context.commits, looked_at=len(log.commits), note=log.note)
        return Finding(
            outcome=outcome,
            code=code,
            text=text,
            out_of_process=True,
            seen={**facts, "commit": found.model_dump(mode="json") if found else None},
        )
