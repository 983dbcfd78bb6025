"""Code and configuration without comments and layout, by a few rules for each family of languages. It parses nothing.

Where it cannot tell it leaves a text as it is: then a comment may count as news, and never the other way round for what
stands in a string on one line. Every pattern takes time in proportion to the text, whatever is in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from domain.claims.volatile import without_stamps

_DOUBLE = r'"(?:\\.|[^"\\\n])*+"'
_SINGLE = r"'(?:\\.|[^'\\\n])*+'"
_CHARACTER = r"'(?:\\[^\n']{1,10}|[^'\\\n])'"
_TRIPLE = r'"""(?s:.*?)(?:"""|\Z)'
_TRIPLE_SINGLE = r"'''(?s:.*?)(?:'''|\Z)"
_BACKTICK = r"`(?s:\\.|[^`\\])*+(?:`|\Z)"
_DOUBLED = r"'(?:[^']|'')*+(?:'|\Z)"
_LITERAL = r"(?<!\w)'[^'\n]*+'"

_BLOCK = r"/\*(?s:.*?)(?:\*/|\Z)"
_SLASHES = r"//[^\n]*"
_NO_ADDRESS = r"(?<!:)//[^\n]*"
_HASH = r"(?<!\S)#(?!!)[^\n]*"
_ANY_HASH = r"#[^\n]*"
_HASH_LINE = r"(?:\n|\A)[ \t]*[#;][^\n]*"
_PHP_HASH = r"#(?!\[)[^\n]*"
_DASHES = r"--[^\n]*"
_NO_OPERATOR = r"(?<![!#$%&*+./<=>?@\\^|~:-])--+(?![!#$%&*+./<=>?@\\^|~:])[^\n]*"
_LUA_BLOCK = r"--\[\[(?s:.*?)(?:\]\]|\Z)"
_MARKUP = r"<!--(?s:.*?)(?:-->|\Z)"
_RUBY_BLOCK = r"(?m:^)=begin\b(?s:.*?)(?:(?m:^)=end\b[^\n]*|\Z)"


class Family(NamedTuple):
    """What comments and strings look like. `free`: space means nothing beside a sign. `indented`: it does in front."""

    comments: tuple[str, ...]
    strings: tuple[str, ...] = ()
    free: bool = False
    indented: bool = False


_C = Family((_SLASHES, _BLOCK), (_TRIPLE, _DOUBLE, _CHARACTER), free=True)
_GO = Family((_SLASHES, _BLOCK), (_DOUBLE, _CHARACTER, _BACKTICK), free=True)
_DART = Family((_SLASHES, _BLOCK), (_TRIPLE, _TRIPLE_SINGLE, _DOUBLE, _SINGLE), free=True)
_SCRIPT = Family((_SLASHES, _BLOCK), (_DOUBLE, _SINGLE, _BACKTICK), free=True)
_SHELL = Family((_HASH,), (_DOUBLE, _LITERAL))
_LAID_OUT = Family((_HASH,), (r"(?<!\w)" + _DOUBLE, _LITERAL), indented=True)
_SQL = Family((_DASHES, _BLOCK), (_DOUBLED, _DOUBLE))

_FAMILIES: dict[Family, tuple[str, ...]] = {
    _C: (
        *("c", "cc", "cpp", "cxx", "h", "hh", "hpp", "m", "mm", "rs", "java", "kt", "kts", "scala", "swift", "cs"),
        *("proto", "zig", "thrift"),
    ),
    _GO: ("go",),
    _DART: ("dart", "groovy", "gradle", "jenkinsfile", "sol"),
    _SCRIPT: ("js", "cjs", "mjs", "jsx", "ts", "cts", "mts", "tsx", "jsonc", "json5"),
    Family((_BLOCK,), (_DOUBLE, _SINGLE)): ("css",),
    Family((_NO_ADDRESS, _BLOCK), (_DOUBLE, _SINGLE)): ("scss", "less"),
    Family((_SLASHES, _PHP_HASH, _BLOCK), (_DOUBLE, _SINGLE), free=True): ("php",),
    Family((_HASH, _RUBY_BLOCK), (_DOUBLE, _SINGLE)): (
        "rb",
        "gemfile",
        "rakefile",
        "ex",
        "exs",
        "pl",
        "pm",
        "t",
        "r",
        "jl",
    ),
    _SHELL: ("sh", "bash", "zsh", "ksh", "fish", "dockerfile", "containerfile", "tf", "hcl", "cmake", "env", "conf"),
    _LAID_OUT: ("yaml", "yml", "mk", "makefile", "gnumakefile", "nix", "coffee"),
    Family((_ANY_HASH,), (_TRIPLE, _TRIPLE_SINGLE, _DOUBLE, r"'[^'\n]*+'")): ("toml", "lock"),
    Family((_HASH_LINE,), indented=True): ("ini", "cfg", "properties", "gitignore", "dockerignore", "editorconfig"),
    _SQL: ("sql", "ddl"),
    Family((_LUA_BLOCK, _DASHES), (_DOUBLE, _SINGLE)): ("lua",),
    Family((_NO_OPERATOR,), (_DOUBLE,), indented=True): ("hs", "elm", "ads", "adb"),
    Family((_MARKUP,)): ("html", "htm", "xhtml", "xml", "svg", "xsd", "xsl", "vue", "svelte"),
}
_BY_ENDING = {ending: family for family, endings in _FAMILIES.items() for ending in endings}

_OPENS, _CLOSES, _SIGNS = "([{,;", ")]},;", "=+-*%<>&|^!?:"


def family_of(ending: str) -> Family | None:
    """The rules for files whose name ends so (no dot, lower case), or is this."""
    return _BY_ENDING.get(ending)


def code_form(text: str, family: Family) -> str:
    """`text` (lines end with a line feed) without comments, blank lines, and space that means nothing."""
    return without_stamps(_SCANNERS[family].sub(_writer(family), text)).strip("\n" if family.indented else None)


def plain_form(text: str) -> str:
    """A text of which nothing else is known: without trailing white space, blank lines and time stamps."""
    lines = (line.rstrip() for line in text.split("\n"))
    return without_stamps("\n".join(line for line in lines if line))


def _scanner(family: Family) -> re.Pattern[str]:
    """Strings as they are; else each run of space and comments, the indentation of the line after it apart."""
    between = "|".join((*family.comments, r"[^\S\n]++", r"\n"))
    parts = [*family.strings, r"\\(?s:.)", rf"(?P<gap>(?:{between})++)"]
    return re.compile("|".join(parts))


_SCANNERS = {family: _scanner(family) for family in _FAMILIES}


def _writer(family: Family) -> Callable[[re.Match[str]], str]:
    def write(found: re.Match[str]) -> str:
        if found.lastgroup != "gap":
            return found[0]
        gap, source = found[0], found.string
        before, after = source[found.start() - 1 : found.start()], source[found.end() : found.end() + 1]
        if "\n" in gap or not before or not after:
            if family.free and (before in _OPENS or (after and after in _CLOSES)):
                return ""
            return "\n" + (_indentation(gap) if family.indented and after else "")
        return "" if family.free and _needs_no_space(before, after) else " "

    return write


def _indentation(gap: str) -> str:
    last = gap.rpartition("\n")[2]
    return last[: len(last) - len(last.lstrip())]


def _needs_no_space(before: str, after: str) -> bool:
    if not after or before in "([{)]},;:" or after in "([{)]},;":
        return True
    return (_in_word(before) and after in _SIGNS) or (before in _SIGNS and _in_word(after))


def _in_word(character: str) -> bool:
    return character.isalnum() or character in "_$\"'`"
