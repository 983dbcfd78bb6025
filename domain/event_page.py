"""The union of events as a page of Markdown, for `docs/events.md`: made from the tables, so that it cannot lag."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from domain.event_kinds import KINDS
from domain.event_names import AUDITOR_ACTORS, NAMES, Name
from domain.event_payloads import Payload
from domain.events import Action

_HEAD = """# Events

Every row of the trail is one of these events. `make docs` writes this page from the tables in `domain/event_kinds.py`,
`domain/event_payloads.py`, `domain/round_payloads.py` and `domain/event_names.py`; a test holds them together.

A row has `event_id, session, sequence, todo_id, attempt, actor {role, identity}, action, before, after, payload,
tool_call_id, correlation_id, caused_by, timestamp, workflow_id, ordinal, previous_hash, hash`. `before` and `after`
have what the event changed of a todo (`status` and `review_status` always; of what lists show the rest, where it
changed) or, where `todo_id` is empty, of its session (`status`, `deadline`). Rows of a round whose todo has a workflow
of its own have neither: the todo's own rows say what became of it. Writers keep to the fields below, and tests hold
them to it; readers meet rows of older and newer versions, and take them as they are.

`countersign log show` prints the label and, of the payload, the fields in italics.
"""

_AUDITOR = """## The auditor's names

`log show --names auditor`: an event has the fields `event_id, timestamp, todo_id, actor, action, before_state,
after_state, payload`. The action is ours, by our name, but for a `verification_started` that itself begins the review
of a todo (`after` says `auditing` and `before` does not), which is `audit_started`. No event is left out. The actor is
one of four words, and whoever gives the verdict is the `auditor`, a harness too:
"""

_OTHER = """`log show --names {vocabulary}`: `event`, `event_id`, `timestamp`, and the fields below. Events that are not
in the table have no name there; they are left out, and counted on stderr.
"""

_TITLES = {"authority": "## The authority's names", "pipeline": "## The pipeline's names"}


def page() -> str:
    """The whole page."""
    parts = [_HEAD, _table(("event", "label", "who", "what", "payload"), _kinds())]
    parts += [_AUDITOR, _table(("actor", "the auditor's word"), AUDITOR_ACTORS.items())]
    for vocabulary, names in NAMES.items():
        parts += [f"{_TITLES[vocabulary]}\n", _OTHER.format(vocabulary=vocabulary)]
        parts.append(_table(("event", "its name", "its fields"), _names(names)))
    return "\n".join(parts)


def _kinds() -> Iterator[tuple[str, ...]]:
    for action, kind in KINDS.items():
        fields = ", ".join(_fields(kind.payload, kind.shown)) or "nothing"
        yield f"`{action}`", f"`{kind.label}`", ", ".join(kind.actors), kind.what, fields


def _fields(payload: type[Payload], shown: tuple[str, ...]) -> Iterator[str]:
    properties = payload.model_json_schema()["properties"]
    definitions = payload.model_json_schema().get("$defs", {})
    for name, field in payload.model_fields.items():
        type_ = _type(properties[name], definitions)
        mark = "*" if name in shown else ""
        yield f"{mark}{name}{mark}{'' if field.is_required() else '?'} {type_}"


def _type(schema: dict[str, object], definitions: dict[str, dict[str, object]]) -> str:
    """What a field holds, in a few characters."""
    reference = schema.get("$ref")
    if isinstance(reference, str):
        schema = definitions[reference.rpartition("/")[2]]
    words, options, items = schema.get("enum"), schema.get("anyOf"), schema.get("items")
    if isinstance(words, list):
        return " / ".join(words)
    if isinstance(options, list):
        return " or ".join(_type(option, definitions) for option in options)
    if isinstance(items, dict):
        return f"[{_type(items, definitions)}]"
    return str(schema["type"])


def _names(names: dict[Action, Name]) -> Iterator[tuple[str, ...]]:
    for action, name in names.items():
        yield f"`{action}`", f"`{name.name}`", ", ".join(f"{field} = {s.words}" for field, s in name.fields.items())


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
