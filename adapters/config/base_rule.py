"""Resolves a base that is a rule, `merge-base with origin/main`, and judges whether it moved within what a pin says.

A worker can write its repository's references and configuration. So a base that moved counts only if it descends from
the pinned one and the remote that the pin names says that it is on that branch; commits are read from their objects.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote, urlsplit

from adapters.config.ways import entered
from adapters.snapshot.ancestry import Ancestry
from adapters.snapshot.naming import peeled, small_objects
from adapters.snapshot.references import References, Unresolved, whole_names
from adapters.snapshot.repository import find_repository
from domain.base import Message
from domain.errors import Unavailable
from domain.fields import ref_of_rule

REMOTE_SECONDS = 20.0
"""How long the remote may take to say where its branch is."""

_REMOTE, _LOCAL = "refs/remotes/", "refs/heads/"
_SCP = re.compile(r"[^/]*:")
_LINE = re.compile(r"([0-9a-f]{40})\t(.+)")
_PROTOCOLS = "file:git:http:https:ssh"


class ResolvedBase(Message):
    """What a rule came to at one moment: what a pin keeps of it. Paths are absolute.

    `ref` is the whole name of the branch in the rule, `tip` its commit. `remote_url` and `remote_branch` are empty for
    a local branch, and where the repository's configuration has no such remote; the URL may have a password in it.
    """

    workspace: str
    repository: str
    rule: str
    revision: str
    ref: str
    tip: str
    remote_url: str = ""
    remote_branch: str = ""


RuleResolver = Callable[[Path, Path, str], ResolvedBase]
"""Called with the workspace, the rule's repository and the rule. Raises `Unresolved`, `Unavailable`, `Refused`."""


@dataclass(frozen=True)
class Moved:
    """Why a base may not stand for the pinned one: `order_changed`, or `base_unproven` where the remote was no help."""

    code: str
    reason: str
    next_step: str


def refuse_rule(_workspace: Path, _repository: Path, rule: str) -> ResolvedBase:
    """Stands for the resolver of an order that nobody has pinned: the worker could move what the rule names."""
    raise Unresolved(f"{rule!r} counts only in an order that a person trusts")


def resolve_rule(workspace: Path, repository: Path, rule: str) -> ResolvedBase:
    """What the rule comes to now: the merge base of the workspace's HEAD and the branch, from commit objects.

    `repository` is the root of one. Raises `Unresolved` for names that lead nowhere, `Unavailable` (base_unreadable)
    where the objects end before there is an answer.
    """
    name = ref_of_rule(rule)
    if name is None:
        raise Unresolved(f"{rule!r} is not a rule; expected 'merge-base with REMOTE/BRANCH'")
    own = find_repository(workspace)
    if own is None:
        raise Unresolved(f"the workspace {workspace} is in no repository")
    references = References(repository)
    ref, target = _branch(references, name)
    head = References(own).head()
    with _commits(workspace, repository) as (ancestry, tip_of):
        tip = tip_of(target)
        revision = ancestry.merge_base(head, tip)
    if revision is None:
        raise Unresolved(f"HEAD {head} of the workspace and {ref} {tip} have no commit in common")
    url = branch = ""
    if ref.startswith(_REMOTE):
        _, branch, url = references.remote_of(ref)
    return ResolvedBase(
        workspace=str(workspace),
        repository=str(repository),
        rule=rule,
        revision=revision,
        ref=ref,
        tip=tip,
        remote_url=_absolute(url, repository),
        remote_branch=branch if url else "",
    )


def moved_within(pinned: ResolvedBase, now: ResolvedBase) -> Moved | None:
    """None where `now` is the pinned base, or a descendant that is on the pinned branch as the pinned remote has it.

    Asks that remote, for at most `REMOTE_SECONDS`, unless the base is the same.
    """
    moved = f"the rule '{now.rule}' leads to {now.revision} now, and to {pinned.revision} when it was trusted"
    if (now.rule, now.ref) != (pinned.rule, pinned.ref):
        reason = f"the rule '{now.rule}' means {now.ref} now, and '{pinned.rule}' meant {pinned.ref}"
        return _changed(f"{reason} when it was trusted")
    if now.revision == pinned.revision:
        return None
    if not pinned.ref.startswith(_REMOTE):
        return _changed(f"{moved}; {pinned.ref} is a local branch, which the worker could have moved")
    try:
        with _commits(Path(now.workspace), Path(now.repository)) as (ancestry, _):
            if not ancestry.leads_to(pinned.revision, now.revision):
                return _changed(f"{moved}, which is not before it")
            tip = _remote_tip(pinned)
            if not ancestry.has(tip):
                what = f"{pinned.remote_branch} of {shown_url(pinned.remote_url)} is at {tip}, which is not here"
                return Moved("base_unproven", f"{moved}; {what}", "Fetch it first: git fetch.")
            if not ancestry.leads_to(now.revision, tip):
                where = f"{pinned.remote_branch} of {shown_url(pinned.remote_url)}, which is at {tip}"
                return _changed(f"{moved}; that is not on {where}")
    except _Unproven as error:
        return Moved("base_unproven", f"{moved}; {error}", "Verify again when the remote answers, or trust the order.")
    except (Unavailable, Unresolved) as error:
        reason, step = (error.reason, error.next_step) if isinstance(error, Unavailable) else (str(error), _FSCK)
        return Moved("base_unproven", f"{moved}; {reason}", step)
    return None


_FSCK = "Check the repository with `git fsck`."


class _Unproven(Exception):
    """The remote does not say where its branch is."""


def _changed(reason: str) -> Moved:
    return Moved("order_changed", reason, "Look at the base, then trust the order with it: countersign trust ORDER.")


def _branch(references: References, name: str) -> tuple[str, str]:
    """The whole name of the branch that a rule names, and the id there."""
    allowed = [whole for whole in whole_names(name) if whole.startswith((_REMOTE, _LOCAL))]
    # `origin` alone means the default branch to git; a rule says which branch it is.
    found = {whole: target for whole in allowed[:2] if (target := references.get(whole)) is not None}
    if len(found) > 1:
        raise Unresolved(f"{name!r} is ambiguous: {' and '.join(found)}; write the whole name into the rule")
    if not found:
        raise Unresolved(f"{name!r} names no branch of the repository; tried {', '.join(allowed[:2]) or 'nothing'}")
    return next(iter(found.items()))


@contextmanager
def _commits(workspace: Path, repository: Path) -> Iterator[tuple[Ancestry, Callable[[str], str]]]:
    """The commits of the rule's repository and the workspace's, and what finds the commit that a reference is at."""
    own = find_repository(workspace)
    readers = []
    try:
        for root in dict.fromkeys(root for root in (repository, own) if root is not None):
            readers.append(small_objects(root))

        def tip_of(target: str) -> str:
            commit = peeled(readers[0], target)
            if commit is None:
                raise Unresolved(f"the branch is at {target}, which is no commit")
            return commit

        yield Ancestry(readers), tip_of
    finally:
        for reader in readers:
            reader.close()


def _absolute(url: str, repository: Path) -> str:
    """`url`, a path in it relative to the repository's root made absolute."""
    return url if not url or _local_path(url) is None or "://" in url else os.path.normpath(repository / url)


def _local_path(url: str) -> Path | None:
    """The path that `url` leads to on this machine; None for that of another."""
    if url.startswith("file://"):
        return Path(unquote(urlsplit(url).path))
    return None if "://" in url or _SCP.match(url) else Path(url)


def shown_url(url: str) -> str:
    """`url` without the user and password in it."""
    return re.sub(r"(?<=://)[^/@]*@", "", url)


def described(found: ResolvedBase) -> str:
    """What a rule came to, for the person who trusts it."""
    where = f"{found.remote_branch} of {shown_url(found.remote_url)}" if found.remote_url else "known here alone"
    return f"{found.rule} = {found.revision}; {found.ref} is at {found.tip}, {where}"


def _remote_tip(pinned: ResolvedBase) -> str:
    """Where the pinned remote says that its branch is. Raises `_Unproven`, `Unresolved`."""
    url, name = pinned.remote_url, f"{_LOCAL}{pinned.remote_branch}"
    if not url:
        raise _Unproven(f"the pin names no remote for {pinned.ref}")
    path = _local_path(url)
    if path is not None and (inside := _of_the_worker(path, Path(pinned.workspace))):
        raise _Unproven(f"the remote {path} leads through {inside}, where the worker can write")
    output = _ls_remote(url, name)
    for line in output.splitlines():
        match = _LINE.fullmatch(line)
        if match and match[2] == name:
            return match[1]
    raise _Unproven(f"the remote {shown_url(url)} has no branch {pinned.remote_branch}")


def _of_the_worker(path: Path, workspace: Path) -> Path | None:
    """The folder of the worker's that leads to `path`, if one does: the workspace, or git's folder of it."""
    folders = [workspace.resolve()]
    own = find_repository(workspace)
    if own is not None:
        folders.append(References(own).folder)
    try:
        return next((folder for folder in folders if entered(path, Path("/"), folder)), None)
    except (OSError, ValueError) as error:
        raise _Unproven(f"the remote {path} cannot be looked at: {error}") from error


def _ls_remote(url: str, name: str) -> str:
    """What `git ls-remote` prints; no repository is around it, so that none has a say. Raises `_Unproven`."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("GIT_", "SSH_ASKPASS"))}
    with TemporaryDirectory(prefix="countersign-remote-") as empty:
        environment |= {
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ALLOW_PROTOCOL": _PROTOCOLS,
            "GIT_CEILING_DIRECTORIES": str(Path(empty).resolve().parent),
            "SSH_ASKPASS_REQUIRE": "never",
            "LC_ALL": "C",
        }
        try:
            process = subprocess.Popen(  # noqa: S603 - a list, no shell; what the URL may be is narrowed above
                ["git", "ls-remote", "--", url, name],  # noqa: S607 - where git is, differs between systems
                cwd=empty,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # no terminal to ask at, and one group to end
            )
        except OSError as error:
            raise _Unproven(f"git cannot be run to ask the remote: {error.strerror}") from error
        try:
            output, errors = process.communicate(timeout=REMOTE_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise _Unproven(f"the remote {shown_url(url)} did not answer within {REMOTE_SECONDS:g} s") from error
        finally:
            _end(process)
    if process.returncode != 0:
        said = " ".join(errors.decode(errors="replace").replace(url, shown_url(url)).split())
        raise _Unproven(f"the remote {shown_url(url)} cannot be asked: {said[:300] or 'no reason given'}")
    return output.decode(errors="replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends git and what it started, and closes the pipes."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
