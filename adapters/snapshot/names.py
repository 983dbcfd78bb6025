"""Which names may be in a tree at all: refuses what cannot be written down, misleads the eye, or leads out of it."""

from __future__ import annotations

import os
import posixpath
import unicodedata

MAX_PATH_BYTES = 1024  # a quarter of Linux's PATH_MAX: there is room for the folder that a tree is laid out in
_INVISIBLE = frozenset({"Cf", "Zl", "Zp"})
_SCRIPTS = frozenset({"LATIN", "CYRILLIC", "GREEK"})
_DOUBLES = frozenset("асԁеһіјӏморѕтухАВСЕНІЈКМОРЅТХУαικνορτυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ")
"""Cyrillic and Greek letters that look like Latin ones."""
_STYLED = ("FULLWIDTH LATIN", "MATHEMATICAL", "LATIN SMALL LIGATURE")


def join(folder: str, name: str) -> str:
    """`name` in `folder`, whose root is the empty string."""
    return f"{folder}/{name}" if folder else name


def unusable(path: str) -> str:
    """Why no tree can hold `path` (as `os` decoded it), or nothing. Holds for bases too."""
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    if any(unicodedata.category(character) == "Cc" for character in posixpath.basename(path)):
        return "its name has a control character"
    if size > MAX_PATH_BYTES:
        return f"its path is longer than {MAX_PATH_BYTES} bytes"
    return ""


def misleading(name: str) -> str:
    """Why a new file's `name` is not what it looks like, or nothing. Source: DESIGN 8 "Trusted tree".

    Scripts may change at a dot, since the extension of a Cyrillic name deceives nobody, unless every letter of it has a
    Latin double: such a name reads as that of another file.
    """
    if name.isascii():
        return ""
    if any(unicodedata.category(character) in _INVISIBLE for character in name):
        return "its name has an invisible character"
    if any(unicodedata.name(character, "").startswith(_STYLED) for character in name):
        return "its name has letters that only look Latin"
    foreign = {character for character in name if character.isalpha() and not character.isascii()}
    for part in [name] if foreign <= _DOUBLES else name.split("."):
        scripts = {unicodedata.name(character, "").partition(" ")[0] for character in part if character.isalpha()}
        mixed = sorted(scripts & _SCRIPTS)
        if len(mixed) > 1:
            return f"its name mixes {' and '.join(script.title() for script in mixed)} letters"
    return ""


def shown(path: str) -> str:
    """`path` as it can be printed and stored: what is not UTF-8 and control characters are escaped, long ones cut."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    text = "".join(
        c.encode("unicode_escape").decode() if unicodedata.category(c) in ("Cc", *_INVISIBLE) else c for c in text
    )
    return text if len(text) <= MAX_PATH_BYTES else f"{text[:200]}...{text[-50:]}"


def link_problem(path: str, target: str) -> str:
    """Why the link at `path` may not be kept, or nothing.

    A target may climb only at its start, and not above the root. `path` is physical (no link is followed to
    reach it), so however such links are chained none of them leads out, whatever else the tree holds.
    """
    if not target or unusable(target):
        return "a link whose target is not a plain name"
    if target.startswith("/"):
        return "a link to an absolute path"
    parts = [part for part in target.split("/") if part not in ("", ".")]
    climbs = next((place for place, part in enumerate(parts) if part != ".."), len(parts))
    if ".." in parts[climbs:]:
        return "a link whose target climbs again after it went down"
    if climbs > path.count("/"):
        return "a link that leads out of the tree"
    return ""
