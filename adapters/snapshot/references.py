"""Reads a repository's references from its files alone; no git process is run, no link is followed.

A worker may have written all of them: every file is opened part by part below git's own folder, must be a regular one
(a pipe would be waited on for ever) and is read to a bound. Reference tables (reftable) are not read.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from dulwich.config import ConfigFile

_POINTER_BYTES = 8192
_PACKED_BYTES = 16 * 2**20
_CONFIG_BYTES = 2**20
_SYMBOLIC = 5  # hops; git's own limit
_LISTED = 20_000  # entries of folders of references
_ID = re.compile(r"[0-9a-f]{40}")
_ID_OF_SHA256 = re.compile(r"[0-9a-f]{64}")
_UNUSABLE = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|\.lock(?:/|$)|//|/\.|/$|\.$")
"""What git allows in no name of a reference (git-check-ref-format)."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

SHA256 = "its object format is sha256, which is not supported yet"


class Unresolved(Exception):
    """A name leads to no commit, and why; no `Unavailable`, since the worker can bring it about."""


class References:
    """The references of the repository whose root is `repository`: a work tree, a linked one, or a bare repository.

    `HEAD` is the work tree's own; all other names are the repository's. Raises `Unresolved`.
    """

    def __init__(self, repository: Path) -> None:
        self._own, self._common = _folders(repository)
        self._packed: dict[str, str] | None = None

    @property
    def folder(self) -> Path:
        """Git's folder, links followed: the one that all work trees of the repository share."""
        try:
            return self._common.resolve()
        except (OSError, ValueError, RuntimeError) as error:
            raise Unresolved(f"its folder {str(self._common)!r:.200} cannot be found: {error!s:.200}") from error

    def head(self) -> str:
        """The id that HEAD leads to."""
        name, found = self._followed("HEAD")
        if found is None:
            raise Unresolved(f"HEAD leads to {name!r:.200}, which has no commit")
        return found

    def get(self, name: str) -> str | None:
        """The id that `name` leads to, which is `HEAD` or a whole name such as `refs/heads/main`; None for none."""
        return self._followed(name)[1] if name == "HEAD" or _is_name(name) else None

    def target(self, name: str) -> str:
        """The whole name that the symbolic reference `name` leads to; `name` itself where it is not symbolic."""
        return self._followed(name)[0]

    def find(self, name: str) -> dict[str, str]:
        """What a person may mean by `name`: whole names, in git's order, with the ids that they lead to."""
        return {whole: found for whole in whole_names(name) if (found := self.get(whole)) is not None}

    def below(self, folder: str) -> Iterator[str]:
        """The whole names below `folder`, such as `refs/tags`, as far as bounds allow."""
        yield from (name for name in self._all_packed() if name.startswith(f"{folder}/"))
        waiting, left = [folder], _LISTED
        while waiting:
            for name, is_folder in _entries(self._common, waiting.pop()):
                left -= 1
                if left < 0:
                    return
                if is_folder:
                    waiting.append(name)
                elif _is_name(name):
                    yield name

    def remote_of(self, name: str) -> tuple[str, str, str]:
        """The remote, its branch and its URL for a whole name below `refs/remotes`; URL and remote may be empty.

        The repository's own configuration alone is read, and nothing that it includes.
        """
        short = name.removeprefix("refs/remotes/")
        text = _text(self._common, "config", _CONFIG_BYTES) or ""
        try:
            config = ConfigFile.from_file(BytesIO(os.fsencode(text)), expand_includes=False)
        except ValueError as error:
            raise Unresolved(f"its configuration cannot be read: {error!s:.200}") from error
        remotes = [os.fsdecode(section[1]) for section in config.sections() if section[0] == b"remote" and section[1:]]
        remote = max((known for known in remotes if short.startswith(f"{known}/")), key=len, default="")
        if not remote:
            return "", short, ""
        try:
            url = config.get((b"remote", os.fsencode(remote)), b"url")
        except KeyError:
            url = b""
        return remote, short.removeprefix(f"{remote}/"), os.fsdecode(url)

    def _followed(self, name: str) -> tuple[str, str | None]:
        """The last name on the way from `name`, and the id there."""
        for _ in range(_SYMBOLIC):
            text = _text(self._own if name == "HEAD" else self._common, name, _POINTER_BYTES)
            if text is None and name == "HEAD":
                raise Unresolved("it has no HEAD")
            if text is None:
                return name, self._all_packed().get(name)
            if _ID.fullmatch(text):
                return name, text
            if _ID_OF_SHA256.fullmatch(text):
                raise Unresolved(SHA256)
            following = text.removeprefix("ref:").strip()
            if following == "refs/heads/.invalid":
                raise Unresolved("its references are in tables (reftable), which are not supported yet")
            if not text.startswith("ref:") or not _is_name(following):
                raise Unresolved(f"it has a reference that is neither an id nor a name: {text!r:.200}")
            name = following
        raise Unresolved(f"its references lead on more than {_SYMBOLIC} times")

    def _all_packed(self) -> dict[str, str]:
        if self._packed is None:
            lines = (_text(self._common, "packed-refs", _PACKED_BYTES) or "").split("\n")
            pairs = (line.partition(" ")[::2] for line in lines)
            self._packed = {name: found for found, name in pairs if _ID.fullmatch(found) and _is_name(name)}
        return self._packed


def whole_names(name: str) -> tuple[str, ...]:
    """The whole names that `name` may be short for, in git's order; none for what git allows in no name."""
    if _UNUSABLE.search(name) or name.startswith(("/", "-", ".")) or not name:
        return ()
    if name == "HEAD" or name.startswith("refs/"):
        return (name,)
    return (f"refs/tags/{name}", f"refs/heads/{name}", f"refs/remotes/{name}", f"refs/remotes/{name}/HEAD")


def _folders(repository: Path) -> tuple[Path, Path]:
    """Git's folder of this work tree, and the one that all work trees of the repository share."""
    own = repository / ".git"
    if not own.is_dir():
        pointer = _text(repository, ".git", _POINTER_BYTES) or ""
        if pointer.startswith("gitdir: "):
            own = repository / pointer.removeprefix("gitdir: ")
        elif not pointer and (repository / "objects").is_dir() and (repository / "HEAD").is_file():
            own = repository
        else:
            raise Unresolved("its .git is neither a folder nor says where that is")
    shared = _text(own, "commondir", _POINTER_BYTES)
    return own, own / shared if shared else own


def _is_name(name: str) -> bool:
    return name.startswith("refs/") and not _UNUSABLE.search(name)


def _text(folder: Path, path: str, most: int) -> str | None:
    """A file below `folder`, stripped; None when it is not there. Raises `Unresolved` for more than `most` bytes."""
    *above, last = path.split("/")
    try:
        inside = _opened(folder, above)
        try:
            file = os.open(last, _FILE, dir_fd=inside)
        finally:
            os.close(inside)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:  # ValueError: a NUL in a folder's name
        raise Unresolved(f"its {path!r:.200} cannot be read: {error!s:.200}") from error
    mode = os.fstat(file).st_mode
    if not stat.S_ISREG(mode):
        os.close(file)
        if stat.S_ISDIR(mode) and above:
            return None  # a folder of further references: git looks among the packed ones, too
        raise Unresolved(f"its {path!r:.200} is no regular file")
    with os.fdopen(file, "rb") as opened:
        read = opened.read(most + 1)
    if len(read) > most:
        raise Unresolved(f"its {path!r:.200} has more than {most} bytes")
    return os.fsdecode(read).strip()


def _opened(folder: Path, parts: list[str]) -> int:
    """A descriptor of the folder `parts` below `folder`; no link is followed. Raises `OSError`, `ValueError`."""
    descriptor = os.open(folder, _FOLDER)
    try:
        for part in parts:
            try:
                following = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=descriptor)
            except NotADirectoryError:
                if stat.S_ISREG(os.stat(part, dir_fd=descriptor, follow_symlinks=False).st_mode):
                    # refs/heads/a is a reference, so that there is no refs/heads/a/b.
                    raise FileNotFoundError(2, "a reference is in the folder's place", part) from None
                raise
            os.close(descriptor)
            descriptor = following
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _entries(folder: Path, path: str) -> list[tuple[str, bool]]:
    """The files and folders below the folder `path`, as `path/name`, and whether each is a folder."""
    try:
        inside = _opened(folder, path.split("/"))
        try:
            with os.scandir(inside) as entries:
                found = [(f"{path}/{entry.name}", entry.is_dir(follow_symlinks=False)) for entry in entries]
        finally:
            os.close(inside)
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise Unresolved(f"its {path!r:.200} cannot be read: {error!s:.200}") from error
    return found
