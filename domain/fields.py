"""Field types that an order's parts share, each refusing what does not fit with what was expected instead."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

MAX_SECONDS = 604_800.0
"""A week."""

SHOWN = 48
_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_ORDER_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,99}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SIZE = re.compile(r"([1-9][0-9]{0,14})([kmgKMG]?)[bB]?")
_UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]*")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}")
_CLASS = re.compile(r"(\\[^/])|\[[!^]?(\]?[^\]/]*)(\]?)")
_RANGE = re.compile(r"(.)-(.)", re.DOTALL)
_RULE = re.compile(r"merge-base with ([^\s~^:?*\[\\@{}-][^\s~^:?*\[\\@{}]*)")
_PYTHON_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")


def wrong(what: str, expected: str, at: tuple[str | int, ...] = ()) -> PydanticCustomError:
    """An error with the two halves that a person needs: what is wrong and what was expected.

    `at` leads from the value that is validated to the part of it that is wrong.
    """
    return PydanticCustomError("order", "{what}, expected {expected}", {"what": what, "expected": expected, "at": at})


def quoted(text: str) -> str:
    """`text` in quotes, escaped, cut where it is long: as a message on one line has it."""
    return repr(text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}...")


def not_yet(value: Any) -> Any:
    """Refuses whatever is not empty, for parts of the contract that a later version brings."""
    if value:
        raise wrong("is not supported by this version", "it to be left out")
    return value


def _identifier(text: str) -> str:
    if text and not _IDENTIFIER.fullmatch(text):
        raise wrong(
            f"{quoted(text)} is no id", "letters, digits, '.', '_' and '-', at most 100, first a letter or digit"
        )
    return text


def _order_id(text: str) -> str:
    if text and not _ORDER_ID.fullmatch(text):
        raise wrong(f"{quoted(text)} is no id", "a-z, 0-9 and '-', at most 100, first a letter or digit")
    return text


def _command(text: str) -> str:
    if not text.strip():
        raise wrong("an empty command", "a shell command")
    if "\0" in text:
        raise wrong("a command with a NUL character", "a shell command")
    return text


def _content(text: str) -> str:
    if "\0" in text:
        raise wrong("text with a NUL character", "what is to be done, in words")
    return text


def _inside(text: str) -> str:
    """A path that stays inside the tree by its spelling alone."""
    if not text:
        raise wrong("an empty path", "a path relative to the tree's root")
    if text.startswith("/") or re.match(r"[A-Za-z]:[\\/]", text):
        raise wrong(f"{quoted(text)} is absolute", "a path relative to the tree's root")
    if ".." in text.split("/"):
        raise wrong(f"{quoted(text)} climbs out of the tree", "a path inside the tree")
    if "\0" in text:
        raise wrong("a path with a NUL character", "a path inside the tree")
    return text


def _scope_pattern(text: str) -> str:
    """A gitignore pattern that can match something: a deny that never does would be no deny."""
    if not text.strip():
        raise wrong("a blank pattern", "a gitignore pattern")
    if text.startswith("#"):
        raise wrong(f"{quoted(text)} is a comment to gitignore", "a pattern (a leading # is written \\#)")
    _character_classes(text)
    # What is stripped is what gitignore does not read: white space at the end, but for a space after a backslash.
    read = text if text.endswith("\\ ") else text.rstrip()
    if any((len(part) - len(part.rstrip("\\"))) % 2 for part in read.split("/")):
        raise wrong(f"{quoted(text)} ends with a lone backslash", "a gitignore pattern")
    _inside(read.removeprefix("!"))
    return text


def _character_classes(text: str) -> None:
    """Refuses a `[...]` that gitignore, or the expression that becomes of it, takes for none."""
    for escaped, characters, closed in _CLASS.findall(text):
        if not (escaped or closed):
            raise wrong(f"{quoted(text)} opens a [ that is not closed", "a pattern (a [ by itself is written \\[)")
        for first, last in _RANGE.findall(characters):
            if first > last:
                what = f"{quoted(text)} has a range from {first!r} to {last!r}"
                raise wrong(what, "a pattern (a range goes upwards)")


def _scope_patterns(patterns: list[str]) -> list[str]:
    if patterns and patterns[0].startswith("!"):
        what = f"{quoted(patterns[0])} takes back a pattern before it, and there is none"
        raise wrong(what, "a pattern (a leading ! is written \\!)", at=(0,))
    return patterns


def _variables(variables: dict[str, str]) -> dict[str, str]:
    for name, value in variables.items():
        if not _VARIABLE.fullmatch(name):
            raise wrong(f"{quoted(name)} is no variable name", "letters, digits and '_', first no digit", at=(name,))
        if "\0" in value:
            raise wrong("the value has a NUL character", "text", at=(name,))
    return variables


def _size(text: str) -> str:
    if not _SIZE.fullmatch(text):
        raise wrong(f"{quoted(text)} is no size", "a whole number with k, m or g, such as 512m")
    return text


def size_in_bytes(text: str) -> int:
    """`512m` as bytes; units are powers of 1024."""
    match = _SIZE.fullmatch(text)
    assert match is not None
    return int(match[1]) * _UNITS[match[2].lower()]


def _image(text: str) -> str:
    if not _IMAGE.fullmatch(text):
        raise wrong(f"{quoted(text)} is no image", "a folder of sandbox_images/ or an image reference")
    return text


def bytes_between(least: str, most: str) -> Callable[[str], str]:
    """A validator that holds a size within two others, both included."""

    def held(text: str) -> str:
        if not size_in_bytes(least) <= size_in_bytes(text) <= size_in_bytes(most):
            raise wrong(f"{quoted(text)} is out of bounds", f"a size from {least} to {most}")
        return text

    return held


def _url(text: str) -> str:
    parts = _split(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise wrong(f"{quoted(text)} is no address of a service", "a URL such as https://service.example/version")
    if parts.username is not None or parts.password is not None:
        raise wrong("the URL has a user name or password in it", "a URL without credentials")
    return text


def _loopback_url(text: str) -> str:
    parts = _split(_url(text))
    if parts.scheme != "http" or parts.hostname not in ("127.0.0.1", "localhost", "::1"):
        raise wrong(f"{quoted(text)} leads out of the container", "a URL such as http://127.0.0.1:8000/health")
    return text


def _split(text: str) -> SplitResult:
    if any(c.isspace() or not c.isprintable() for c in text):
        raise wrong(f"{quoted(text)} is no URL", "a URL without white space")
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError as error:
        raise wrong(f"{quoted(text)} is no URL: {error}", "a URL such as http://127.0.0.1:8000/health") from error
    return parts


def _headers(headers: dict[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        if not _HEADER.fullmatch(name):
            raise wrong(f"{quoted(name)} is no name of a header", "a token such as Accept", at=(name,))
        if not value.isprintable():
            raise wrong("the value has a line break or a control character", "printable text", at=(name,))
    return headers


def _repository_name(text: str) -> str:
    if not _REPOSITORY.fullmatch(text):
        raise wrong(f"{quoted(text)} is no repository", "owner/name")
    return text


def _branch(text: str) -> str:
    if not text or any(c.isspace() or not c.isprintable() for c in text):
        raise wrong(f"{quoted(text)} is no branch", "a branch, or owner:branch")
    return text


def _variable(text: str) -> str:
    if not _VARIABLE.fullmatch(text):
        raise wrong(f"{quoted(text)} is no variable name", "letters, digits and '_', first no digit")
    return text


def _python_name(text: str) -> str:
    if not _PYTHON_NAME.fullmatch(text):
        raise wrong(f"{quoted(text)} is no name of Python's", "a name, dotted where it is inside another")
    return text


def _commit_id(text: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{40}", text):
        instead = "a full commit id of 40 hexadecimal digits (`git rev-parse NAME^{commit}` prints it), or a rule"
        raise wrong(f"{quoted(text)} is a name that can move", instead)
    return text


def ref_of_rule(text: str) -> str | None:
    """The branch that a rule such as `merge-base with origin/main` names; None where `text` is not a rule."""
    match = _RULE.fullmatch(text)
    return match[1] if match else None


def _rule(text: str) -> str:
    if ref_of_rule(text) is None:
        raise wrong(f"{quoted(text)} is not a rule for a base", "'merge-base with REMOTE/BRANCH'")
    return text


# A description completes "expected ...": it is what somebody reads who wrote something else there.
Identifier = Annotated[str, AfterValidator(_identifier), Field(description="text that is an id, such as AC-1")]
OrderId = Annotated[str, AfterValidator(_order_id), Field(description="text that is an id, such as wo-is-prime")]
Content = Annotated[str, Field(min_length=1), AfterValidator(_content)]
Command = Annotated[str, AfterValidator(_command), Field(description="text that is a shell command")]
RelativePath = Annotated[str, AfterValidator(_inside), Field(description="text that is a path inside the tree")]
ScopePattern = Annotated[str, AfterValidator(_scope_pattern), Field(description="text that is a gitignore pattern")]
ScopePatterns = Annotated[list[ScopePattern], AfterValidator(_scope_patterns)]
EnvironmentVariables = Annotated[
    dict[str, str], AfterValidator(_variables), Field(description="an object of variable names and texts")
]
Size = Annotated[str, AfterValidator(_size), Field(description="a whole number with k, m or g, such as 512m")]
Image = Annotated[str, AfterValidator(_image), Field(description="text: a folder of sandbox_images/ or an image")]
PythonName = Annotated[str, AfterValidator(_python_name), Field(description="text that is a name, dotted or not")]
Seconds = Annotated[float, Field(gt=0, le=MAX_SECONDS, description="seconds: a number above 0 and at most 604800")]
VariableName = Annotated[str, AfterValidator(_variable), Field(description="text that is a variable's name")]
Url = Annotated[str, AfterValidator(_url), Field(description="text that is a URL, http or https")]
LoopbackUrl = Annotated[str, AfterValidator(_loopback_url), Field(description="text that is a URL on 127.0.0.1")]
Headers = Annotated[dict[str, str], AfterValidator(_headers), Field(description="an object of header names and texts")]
RepositoryName = Annotated[str, AfterValidator(_repository_name), Field(description="text: owner/name")]
Branch = Annotated[str, AfterValidator(_branch), Field(description="text: a branch, or owner:branch")]
CommitId = Annotated[str, AfterValidator(_commit_id)]
MergeBase = Annotated[str, AfterValidator(_rule), Field(description="text: merge-base with REMOTE/BRANCH")]
