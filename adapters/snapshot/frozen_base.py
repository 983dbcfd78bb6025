"""What freezing work needs of a base that was frozen before it, beside the base's manifest; it reads no tree.

Everything that somebody could move after the start is in it: the base's files, its `.gitignore` files, what of it does
not travel, the files beside the order (DESIGN 1.3, "The base is frozen when the todo starts").
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

from pydantic import ConfigDict

from adapters.snapshot.found import Tree
from domain.base import Message
from domain.errors import Cause, Unavailable
from domain.messages import Leak
from domain.tree import Dropped, Manifest


class Rest(Message):
    """`manifest` names the base's tree. `include`: the patterns it was read with. The rest is as in `Tree`.

    `asked` are the paths beside the order that were frozen with it, `order_files` names their manifest, empty where
    there are none. `secrets`: as in `Frozen.secrets_in_base`.
    """

    # A .gitignore need not be UTF-8.
    model_config = ConfigDict(frozen=True, extra="ignore", ser_json_bytes="base64", val_json_bytes="base64")

    manifest: str
    include: tuple[str, ...]
    ignore_files: dict[str, bytes] = {}
    submodules: tuple[str, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    asked: tuple[str, ...] = ()
    order_files: str = ""
    secrets: tuple[Leak, ...] = ()

    def tree(self, manifest: Manifest) -> Tree:
        """The base as it was read."""
        return Tree(list(manifest.entries), list(self.dropped), dict(self.ignore_files), set(self.submodules))

    def demand(self, include: Iterable[str]) -> None:
        """Raise `Unavailable` (base_unreadable) where other patterns are asked for: what they select is not in it."""
        if self.include != tuple(include):
            raise Unavailable(
                Cause.BASE_UNREADABLE,
                f"The base was frozen with snapshot.include {list(self.include)}, and now {list(include)} is asked for",
                "Make a new todo of the order: what a todo looks at is settled when it is started.",
            )

    def unfrozen(self, order_files: Iterable[str], frozen: Manifest) -> tuple[str, ...]:
        """Those of `order_files` that are not in `frozen`: a human's edit of the order has named them since."""
        asked = [posixpath.normpath(path) for path in self.asked]
        return tuple(
            path
            for path in order_files
            if not (_holds(asked, posixpath.normpath(path)) and below(frozen, [path]).entries)
        )


def below(beside: Manifest, paths: Iterable[str]) -> Manifest:
    """Of the files beside an order those at or below `paths`."""
    wanted = [posixpath.normpath(path) for path in paths]
    return Manifest.of(entry for entry in beside.entries if _holds(wanted, entry.path))


def _holds(places: Iterable[str], path: str) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)
