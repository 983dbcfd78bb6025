"""Who acts: which environments are an agent's, and how a person is established. Pure; no process is looked at here.

An agent that runs in a person's shell has that person's user id and files. What tells it apart is what its own program
sets in the environment of every command that it starts. Source: DESIGN 1.4 and 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Literal

Established = Literal["signed", "terminal", "token", "said"]
"""How an actor was established: by a signature, by a confirmation typed at an interactive terminal, by a token, or by
no more than a name that was given (`--as`, a variable, a signal of Temporal's own)."""

AGENT_MARKS = (
    "AGENT",
    "AI_AGENT",
    "AIDER_*",
    "AMP_CURRENT_THREAD_ID",
    "ANTIGRAVITY_AGENT",
    "AUGMENT_AGENT",
    "CI_AGENT",
    "CLAUDECODE",
    "CLAUDE_CODE",
    "CLAUDE_CODE_*",
    "CLINE_*",
    "CODEX_*",
    "COPILOT_AGENT*",
    "COPILOT_CLI",
    "COUNTERSIGN_BRIEF",
    "CURSOR_*",
    "GEMINI_CLI",
    "GOOSE_TERMINAL",
    "OPENCODE",
    "OPENCODE_CLIENT",
    "QWEN_CODE",
    "ROO_ACTIVE",
    "TRAE_AI_SHELL_ID",
    "WINDSURF_AGENT*",
)
"""Names of variables that agents set for what they run; `*` is any text. `COUNTERSIGN_BRIEF` is a worker command's."""

NO_MARKS = (
    "*_API_KEY",
    "CLAUDE_CODE_DISABLE_*",
    "CLAUDE_CODE_ENABLE_*",
    "CLAUDE_CODE_MAX_*",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_*",
    "CODEX_HOME",
)
"""Names among them that people set in their own profile; each of these agents sets another mark besides."""

ACTOR_VARIABLE = "COUNTERSIGN_ACTOR"


def agent_marks(environ: Mapping[str, str], extra: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the names of the variables in `environ` that mark an agent's process, sorted; none for a person's.

    `extra` are further patterns, to which no exception applies. A variable counts whatever its value, but
    `COUNTERSIGN_ACTOR`, which is a mark where it names a worker.
    """
    further = tuple(extra)
    return tuple(sorted(name for name in environ if _marks(name, environ[name], further)))


def _marks(name: str, value: str, further: tuple[str, ...]) -> bool:
    if name == ACTOR_VARIABLE:
        return value.partition(":")[0] == "worker"
    if _matches(name, further):
        return True
    return _matches(name, AGENT_MARKS) and not _matches(name, NO_MARKS)


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
