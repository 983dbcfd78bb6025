"""What is wrong with a drafted check by its words alone, before anything of it runs. Pure.

It tells what is plain: a check that passes here may still fail its runs (`lint`). What a search looks for is no
command, and an address that nothing fetches is no use of the network. Source: issue "Designer, Strategist", 1.
"""

from __future__ import annotations

import re

from domain.command_criteria import CliIo, CommandExitZero
from domain.criteria import files_of
from domain.drafts.record import Fault
from domain.drafts.shell import parts_in
from domain.python_criteria import PythonCall
from domain.roles.designed import DraftedCheck

Told = tuple[Fault, str]
"""A fault, and what a strategist is told of it."""

_READERS = frozenset(("grep", "egrep", "fgrep", "rg", "ag", "ack"))
"""Programs whose words are what they look for."""

_SEEDED = re.compile(r"random\.seed\(|\bRandom\(\s*\d|default_rng\(\s*\d|\bsrand\(\s*\d|--random-source|\bRANDOM=\d")
_RANDOM = re.compile(
    r"(?<![\w.])RANDOM\b|\bfrom\s+random\s+import\b|\bMath\.random\(|\brand\(\)|\bdefault_rng\(\)"
    r"|\brandom\.(?:random|rand|randn|randint|randrange|randbytes|choices?|shuffle|sample|uniform|gauss|getrandbits"
    r"|permutation|normal\w*|triangular|betavariate|expovariate)\b"
)
_UNSEEDABLE = re.compile(
    r"\bos\.urandom\b|/dev/u?random\b|\buuid\.uuid[14]\b|\buuid[14]\(|\brandomUUID\b|\bSystemRandom\b"
    r"|\bsecrets\.(?:token|choice|rand)\w*|\brandomBytes\b"
)
_CLOCK = re.compile(
    r"\btime\.(?:time|monotonic|perf_counter)(?:_ns)?\(|\bdatetime\.(?:now|utcnow|today)\(|\bdate\.today\("
    r"|\bDate\.now\(|\bnew Date\(\)|\bEPOCH(?:SECONDS|REALTIME)\b|\bprocess\.hrtime\b"
)
_TIME_OF_DAY = re.compile(r"\+.*%[-_0^#:]*[sNSTMHIcrRX]")
_SLEEP = re.compile(r"\btime\.sleep\(|\bsetTimeout\(")
_LOOP = re.compile(r"\b(?:while|until|for)\b")

_FETCHERS = frozenset(("curl", "wget", "ftp", "ssh", "scp", "sftp", "nc", "ncat", "netcat", "telnet", "http", "https"))
"""Programs that may as well ask a server of the check's own."""

_ASKERS = frozenset(("ping", "ping6", "dig", "nslookup", "host", "traceroute", "whois", "ntpdate"))
_INSTALLERS: dict[str, frozenset[str]] = {
    **dict.fromkeys(("pip", "pip3", "pipx"), frozenset(("install", "download", "wheel"))),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), frozenset(("install", "ci", "add", "update", "i"))),
    **dict.fromkeys(
        ("apt", "apt-get", "apk", "dnf", "yum", "brew"), frozenset(("install", "update", "upgrade", "add"))
    ),
    **dict.fromkeys(
        ("gem", "cargo", "go", "composer", "conda"), frozenset(("install", "add", "get", "fetch", "update"))
    ),
    **dict.fromkeys(("uv", "poetry", "pdm", "pipenv"), frozenset(("install", "sync", "add", "update", "pip"))),
    "git": frozenset(("clone", "fetch", "pull", "push", "ls-remote", "submodule")),
    "docker": frozenset(("pull", "push", "run", "build")),
    "npx": frozenset(),
}
"""Programs that go to a registry or a server, and with which words; those without any always do."""

_URL = re.compile(r"\b(?:https?|ftp|wss?)://(\[[^\]]*\]|[^\s/:'\"`)\\?#]+)")
_HOST = re.compile(r"(?<![\w./-])(?:localhost|127(?:\.\d{1,3}){3}|\[::1\]|::1|0\.0\.0\.0)(?![\w.-])")
_LOOPBACK = re.compile(r"localhost|127(?:\.\d{1,3}){3}|\[::1\]|0\.0\.0\.0")
_CALLS_OUT = re.compile(
    r"\burlopen\b|\burlretrieve\b|\brequests?\.(?:get|post|put|head|delete|patch|request|Session)\b|\bhttpx\.|\baiohttp\b"
    r"|\bhttp\.client\b|\burllib3\b|\bfetch\(|\baxios\b|\bNet::HTTP\b|\bhttps?\.(?:get|request)\(|\bcreate_connection\b"
)

_NOTHING = frozenset(("true", ":", "echo", "printf", "pwd"))
_SWALLOWED = re.compile(
    r"(?:\|\||;|\n|(?<!&)&(?!&))\s*(?:true|:|exit(?:\s+0)?|(?:echo|printf)\b[^|;&\n]*)\s*;?\s*$|(?<![&>])&\s*$"
)
_STOPS_BEFORE = re.compile(r"\bset\s+-\w*e|\bsh\s+-\w*e|\bexit\s+(?:[1-9]|\$)")


def fault_of_words(check: DraftedCheck) -> Told | None:
    """What a reader sees wrong with `check`; None where nothing is."""
    if files_of(check) or (isinstance(check, CommandExitZero) and check.params.control):
        return "does_not_run", "it names a file beside the order or a control, and a draft has neither: write it whole"
    if isinstance(check, PythonCall):
        return None
    command = check.params.command
    parts = [(program, words) for program, words in parts_in(command) if program not in _READERS]
    return (
        _vacuous(check, command) or _of_the_network(parts) or _of_chance(parts, loops=_LOOP.search(command) is not None)
    )


def _vacuous(check: DraftedCheck, command: str) -> Told | None:
    parts = list(parts_in(command))
    if all(
        program in _NOTHING or program.startswith("#") or (program == "exit" and words in ([], ["0"]))
        for program, words in parts
    ):
        if not isinstance(check, CliIo):
            return "vacuous", f"`{_cut(command)}` says the same whatever the work does: run something of the work"
    elif isinstance(check, CommandExitZero) and _SWALLOWED.search(command) and not _STOPS_BEFORE.search(command):
        return "vacuous", "its end makes it pass whatever came before: let the exit code be that of what is checked"
    return None


def _of_the_network(parts: list[tuple[str, list[str]]]) -> Told | None:
    for program, words in parts:
        if program in _FETCHERS:
            outside = any(not _LOOPBACK.fullmatch(host) for host in _URL.findall(" ".join(words)))
            if outside or not any(map(_HOST.search, _plain(words))):
                return "needs_network", f"it calls {program}, and checks run without a network: ask a loopback address"
        elif program in _ASKERS or _installs(program, words):
            return "needs_network", f"it calls {_called(program, words)}, and checks run without a network"
        for word in (program, *words):
            hosts = [host for host in _URL.findall(word) if not _LOOPBACK.fullmatch(host)]
            if hosts and (not re.search(r"[\s(]", word) or _CALLS_OUT.search(word)):
                return "needs_network", f"it asks {hosts[0]}, and checks run without a network: use a loopback address"
    return None


def _plain(words: list[str]) -> list[str]:
    """Words as an address would stand in one: `http://localhost:80/x` begins after the slashes."""
    return [
        word.replace("://", " ").replace("/", " ").replace(":", " ") if "::" not in word else word for word in words
    ]


def _installs(program: str, words: list[str]) -> bool:
    if re.fullmatch(r"(?:python|pypy)[\d.]*", program) and words[:2] == ["-m", "pip"]:
        program, words = "pip", words[2:]
    if program not in _INSTALLERS or "--no-index" in words or "--offline" in words:
        return False
    return not _INSTALLERS[program] or bool(_INSTALLERS[program] & set(words[:3]))


def _called(program: str, words: list[str]) -> str:
    return _cut(" ".join((program, *words[:2])))


def _of_chance(parts: list[tuple[str, list[str]]], *, loops: bool) -> Told | None:
    """Chance and clocks: what they decide is not the same twice. `loops`: what waits may do so until it is there."""
    text = " ".join(word for program, words in parts for word in (program, *words))
    seeded = _SEEDED.search(text) is not None
    by_chance = None if seeded else _RANDOM.search(text)
    if found := by_chance or _UNSEEDABLE.search(text):
        return "flaky", f"it goes by chance (`{_cut(found[0])}`): use fixed values, or a fixed seed"
    if found := _CLOCK.search(text):
        return "flaky", f"it goes by the clock (`{_cut(found[0])}`): compare what is the same at any time"
    for program, words in parts:
        if program == "uuidgen" or (not seeded and (program == "shuf" or (program == "sort" and "-R" in words))):
            return "flaky", f"it goes by chance (`{program}`): use fixed values"
        if program == "date" and any(map(_TIME_OF_DAY.match, words)):
            return "flaky", "it goes by the clock (`date`): compare what is the same at any time"
        if (program == "sleep" or any(map(_SLEEP.search, words))) and not loops:
            return "flaky", "it waits for a fixed time, which may be too short: wait in a loop until it is there"
    return None


def _cut(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
