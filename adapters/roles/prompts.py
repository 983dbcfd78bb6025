"""What a role is told before anything else: its Markdown file, filled in. Nothing of the worker's goes in here.

One file a role, in `prompts/`, and in `prompts/shared/` what several of them say; a name that nobody fills in is an
error. Source: seed `auditor` 3.3, seed `pipeline` "Verification Roles".
"""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

FOLDER = Path(__file__).parent / "prompts"

_ENVIRONMENT = Environment(  # noqa: S701 - Markdown for a model, no HTML
    loader=FileSystemLoader(FOLDER),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)


def prompt_of(role: str, **known: object) -> str:
    """The system prompt of `role`. Raises `jinja2.UndefinedError` where its file asks for more than is known."""
    return _ENVIRONMENT.get_template(f"{role}.md").render(known, role=role)
