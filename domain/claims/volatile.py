"""Takes out of a text what is different each time it is made: times, durations, temporary paths, addresses, ids.

What is left is the same for the same news. Numbers that mean something stay: counts, exit codes, versions. It refuses
to guess what a bare number or a date without a time is about. Source: DESIGN 3 "Monotonicity".
"""

from __future__ import annotations

import re
from collections.abc import Callable

MARK = "Ø"
"""Stands for what was taken out: a letter, so that nothing beside it looks like the edge of a word afterwards."""

_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6}"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}"
_GAP = r"[ \t]{1,4}"
_CLOCK = r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?"
_ZONE = r"(?: ?(?:Z|UTC|GMT|CES?T|[ECMP][SD]T|[+-]\d\d:?\d\d))?"
_TWELVE = rf"{_CLOCK}(?: ?[AP]M)?"
_DATE = r"\d{4}-\d\d-\d\d"
_NUMBERS = r"(?:\d{4}[/.]\d{1,2}[/.]\d{1,2}|\d{1,2}[/.]\d{1,2}[/.]\d{2,4})"
_OF_MONTH = rf"{_MONTH}{_GAP}\d{{1,2}}(?:,?{_GAP}\d{{4}},?)?(?:{_GAP}at)?"

_STAMPS = (
    rf"(?<![\w.]){_DATE}[Tt ] ?{_CLOCK}{_ZONE}(?!\w)",  # ISO 8601
    rf"(?<![\w.])\d{{8}}T\d{{6}}(?:[.,]\d+)?{_ZONE}(?!\w)",
    rf"\b(?:{_DAY},?{_GAP})?\d{{1,2}}[ -]{_MONTH}[ -]\d{{2,4}},?{_GAP}{_CLOCK}{_ZONE}(?!\w)",  # RFC 5322, of HTTP
    rf"\b(?:{_DAY},?{_GAP})?{_OF_MONTH}{_GAP}{_TWELVE}{_ZONE}(?:{_GAP}\d{{4}})?(?!\w)",
    rf"(?<![\w/])\d{{1,2}}/{_MONTH}/\d{{4}}:\d\d:\d\d:\d\d(?: [+-]\d{{4}})?",  # of web servers
    rf"(?<![\w/.]){_NUMBERS},?{_GAP}{_TWELVE}(?!\w)",
)
"""Dates with times."""

_DATING = r"(?:updated|generated|modified|created|built|compiled|timestamp|date)"
_DATED = rf"(\b{_DATING}\b[^\w\n]{{0,3}}(?:(?:on|at|by)\b[^\w\n]{{0,3}})?){_DATE}(?:[T ]{_CLOCK}{_ZONE})?(?!\w)"

_PART = r"[^\s/\\'\"`:,;()<>\[\]{}|]{1,200}"
_MARKS = (
    rf"(?<![\w.-])(?:/private)?(?:/var/folders/{_PART}/{_PART}/T|/var/tmp|/tmp|/dev/shm)(?:/{_PART}(?:/pytest-\d+)?)?",
    rf"[A-Za-z]:\\(?:[^\\\s'\"]{{1,100}}\\){{1,9}}Temp\\{_PART}",
    rf"pytest-of-{_PART}/pytest-\d+",
    r"(?<![A-Za-z0-9])tmp(?:[a-z0-9_]{8}|\.[A-Za-z0-9]{10})(?![A-Za-z0-9])",
    r"(?<!\w)0x[0-9a-fA-F]{6,}(?!\w)",
    r"(?<!\w)[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?!\w)",
    r"(?<![A-Za-z0-9])(?=\d{0,40}[a-fA-F])[0-9a-fA-F]{16,}(?![A-Za-z0-9])",
    r"(?<![\w.])1[5-9]\d{8}(?:\d{3}|\d{6}|\d{9})?(?:\.\d+)?(?!\w)",  # seconds since 1970, and parts of them
    r"(?<![\w.])\d+\.\d+ ?(?:[mnuµμ]?s|m?secs?|seconds?)(?!\w)",
)
"""Temporary paths, addresses, ids, epochs, durations that were measured."""

_UNIT = r"(?:days?|hours?|hrs?|minutes?|mins?|(?:milli|micro|nano)?seconds?|m?secs?|[mnuµμ]?s)"  # not m: 512m is a size
_MEASURES = (
    rf"(?<![\w.])(?:\d{{1,6}} ?[dhm] ?){{0,3}}\d+(?:\.\d+)? ?{_UNIT}(?!\w)",
    r"(?<![\w:.])\d{1,3}:\d\d:\d\d(?:[.,]\d+)?(?![\w:])",
    r"(?<![\w:])\d{1,3}:\d\d(?::\d\d)?<(?:\d{1,3}:\d\d(?::\d\d)?|\?)",
    r"(?<![\w.])\d+(?:\.\d+)? ?(?:[kKMG]?i?B|[A-Za-z]{1,12})/s(?:ec)?(?!\w)",
    r"(?<=\w)\[\d{2,7}\](?=:)",
    r"(?<=localhost:|127\.0\.0\.1:)(?:3[2-9]|[45]\d|6[0-5])\d{3}(?!\w)",
)
"""Durations, clocks, rates, process ids of logs, ports that were given away."""

_VALUE = r"[^\s\"',;&<>\[\](){}]"
_WITH_DIGIT = r"(?=[^\s\"',;&<>\[\](){}\d]{0,100}\d)"
_ID = r"(?:run|request|trace|span|correlation|session|build|job|process|thread)[ _-]?id"
_NAMES = rf"(?:nonce|token|seed|salt|uuid|guid|p?pid|tid|{_ID})"
_AT = r"(?:started|finished|ended|created|updated|completed)[ _-]?at"
_TIMES = rf"(?:timestamp|duration|elapsed|took|time|{_AT})(?:[ _-]?[mnu]?s(?:ec(?:ond)?s?)?)?"
_KEYED = (
    _DATED,
    rf"((?<![A-Za-z])nonce[\"']? ?[:=] ?[\"']?){_VALUE}+",
    rf"((?<![A-Za-z])(?:{_NAMES}|{_TIMES}|hostname)[\"']? ?[:=] ?[\"']?){_WITH_DIGIT}{_VALUE}+",
    rf"((?<![A-Za-z]){_NAMES} #?){_WITH_DIGIT}{_VALUE}+",
    r"(\b(?:in|took|after|elapsed) )\d+(?:\.\d+)? ?[dhm](?!\w)",
)
"""What only the word before it tells; the word stays."""

_LONG = re.compile(r"(?<!\w)[A-Za-z0-9_+/-]{20,}+={0,2}")
_CLASS = re.compile(r"[a-z]+|[A-Z]+|\d+")

_OF_STAMPS = re.compile("|".join((_DATED, *_STAMPS)), re.IGNORECASE)
_OF_PROSE = re.compile("|".join((_DATED, *_STAMPS, *_MARKS)), re.IGNORECASE)
_OF_OUTPUT = re.compile("|".join((*_KEYED, *_STAMPS, *_MARKS, *_MEASURES)), re.IGNORECASE)

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SPACE = re.compile(r"[^\S\n]+")
_RULE = re.compile(r"([=*#~_\u2500-\u259f-])\1{2,}")

_VOLATILE = frozenset(
    {
        *("timestamp", "timestamps", "ts", "time", "date", "datetime", "epoch", "duration", "durations", "elapsed"),
        *("took", "wallclock", "seconds", "milliseconds", "nonce", "token", "salt", "seed", "random", "uuid", "guid"),
        *("pid", "ppid", "tid", "hostname", "mtime", "ctime", "atime", "tmp", "tmpdir", "tempdir", "started"),
        *("finished", "runid", "requestid", "traceid", "spanid", "correlationid", "sessionid", "buildid", "jobid"),
        *("processid", "threadid", "eventid", "toolcallid"),
    }
)
_VOLATILE_ENDS = ("timestamp", "duration", "elapsed", "nonce", "_at", "_ms", "_ns", "_us", "_seconds", "_secs")


def without_stamps(text: str) -> str:
    """`text` without its dates with times; dates alone only where a word such as "updated" says what they are."""
    return _OF_STAMPS.sub(_marked, text)


def of_prose(text: str) -> str:
    """A text that people read, line for line, without time stamps, temporary paths, ids and measured durations.

    "30 seconds" stays, which may be what the text is about.
    """
    return _settled(_shown(text), lambda plain: _LONG.sub(_random, _OF_PROSE.sub(_marked, plain)))


def of_output(text: str) -> str:
    """What a program printed, line for line, without what the next run of it would print otherwise."""
    return _settled(_shown(text), lambda plain: _LONG.sub(_random, _OF_OUTPUT.sub(_marked, plain)))


def is_volatile(name: str) -> bool:
    """Whether a field of this name says when or how long, or has an id that is new each time."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().replace("-", "_").replace(" ", "_")
    return words.replace("_", "") in _VOLATILE or words.endswith(_VOLATILE_ENDS)


def _shown(text: str) -> str:
    """As a terminal shows it in the end: no colours, of a line that was written over the last writing; no layout."""
    plain = _CONTROL.sub("", _ESCAPES.sub("", text))
    lines = (_SPACE.sub(" ", line.rstrip("\r").rpartition("\r")[2]).strip() for line in plain.split("\n"))
    return _RULE.sub(r"\1\1\1", "\n".join(line for line in lines if line))


def _settled(text: str, change: Callable[[str], str]) -> str:
    """What `change`, which never makes it longer, leaves as it is."""
    while (changed := change(text)) != text:
        text = changed
    return text


def _marked(found: re.Match[str]) -> str:
    return (found[found.lastindex] if found.lastindex else "") + MARK


def _random(found: re.Match[str]) -> str:
    """`MARK` for what nobody would type: letters and digits in no order."""
    kinds = _CLASS.findall(found[0])
    size = sum(map(len, kinds))
    digits = [place for place, kind in enumerate(kinds) if kind.isdigit()]
    if size < 20 or not digits or len(digits) == len(kinds):
        return found[0]
    return MARK if len(digits) >= 3 or len(kinds) > 0.35 * size else found[0]
