"""What a file says, by its name and its bytes, without what changes nothing about it. It reads no file.

Binary files and large ones have no form: their bytes are what they say. Source: DESIGN 3 "Monotonicity".
"""

from __future__ import annotations

import json
import posixpath
from typing import Final, Literal

from domain.claims.code_form import code_form, family_of, plain_form
from domain.claims.python_form import python_form
from domain.claims.volatile import of_output, of_prose, without_stamps

MAX_BYTES: Final = 256 * 1024
"""Of a file that is looked into: one search of a text keeps all other threads waiting."""

VERSION: Final = 1
"""Of the rules: what was remembered by others is not used."""

Kind = Literal["python", "json", "prose", "output", "code", "plain"]

_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("py", "pyi", "pyw"), "python"),
    **dict.fromkeys(("json", "ipynb", "webmanifest", "geojson"), "json"),
    **dict.fromkeys(("md", "markdown", "mdx", "rst", "txt", "adoc", "tex", "org"), "prose"),
    **dict.fromkeys(("log", "out", "err"), "output"),
}
_REQUIREMENTS = ("requirements", "constraints")


def ending_of(path: str) -> str:
    """What of a name tells how its file is read: what stands after its last dot, or all of it; lower case."""
    name = posixpath.basename(path).lower()
    if name == "cmakelists.txt" or (name.endswith(".txt") and name.startswith(_REQUIREMENTS)):
        return "conf"
    stem, _, ending = name.rpartition(".")
    return "dockerfile" if stem == "dockerfile" else ending


def form_of(ending: str, data: bytes) -> bytes | None:
    """What a file whose name has this `ending` says, with what kind of text it is; None where it is no text."""
    if len(data) > MAX_BYTES or b"\0" in data:
        return None
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        return None
    kind, form = _form(ending, text)
    return f"{kind}\n{form}".encode("utf-8", "surrogatepass")


def _form(ending: str, text: str) -> tuple[Kind, str]:
    match _KINDS.get(ending):
        case "python":
            tree = python_form(text)
            return ("plain", plain_form(text)) if tree is None else ("python", tree)
        case "json":
            value = _json(text)
            return ("plain", plain_form(text)) if value is None else ("json", value)
        case "prose":
            return "prose", " ".join(of_prose(text).split())  # filled anew, it says the same
        case "output":
            return "output", of_output(text)
    family = family_of(ending)
    return ("plain", plain_form(text)) if family is None else ("code", code_form(text, family))


def _json(text: str) -> str | None:
    """Without layout. The order of names stays, and so does a name that is there twice."""
    try:
        value = json.loads(text, object_pairs_hook=lambda pairs: {"": pairs}, parse_float=lambda number: {"": number})
        return without_stamps(json.dumps(value, ensure_ascii=False))
    except (ValueError, RecursionError):
        return None
