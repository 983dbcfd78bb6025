"""Reads a session's file into planned todos; refuses with every problem found, each with its line.

Whether the session may be created is not checked here: its workflow says so. Source: CONTRACT "An order".
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from adapters.config.configuration import Configured
from adapters.config.defaults import Policies, ProjectPolicy
from adapters.config.explain import explain
from adapters.config.in_force import authority_of
from adapters.config.layers import Fields, Layer, Layered, layer_of
from adapters.config.order_file import only_trees, parsed, validated
from adapters.config.order_secrets import held
from adapters.config.order_trees import OrderTrees
from adapters.config.policy_floor import problem_of_session, problems_below, protecting
from adapters.config.problems import shown_as
from adapters.config.session_todos import Context, Joining, plan_todos, refuse
from adapters.config.settings import Settings
from adapters.config.text_file import bytes_of, text_in
from adapters.config.worker_written import refuse_authority_within
from adapters.config.yaml_document import Document
from domain.base import sha256_hex
from domain.errors import Malformed, Problem
from domain.life import PlannedTodo
from domain.order import Order
from domain.planning import OWN_FIELDS, SessionFile, SessionPlan, under

TIMES_AN_ORDER = 32
"""How many times as large as an order's file that of a session may be."""

MAX_SESSION_BYTES = TIMES_AN_ORDER * 1024 * 1024
NO_CONTENT = "A todo that was created later"
"""Stands in a session's defaults for the content that every todo says itself."""


@dataclass(frozen=True)
class LoadedSession:
    """A session as its file describes it. `plan.blob` and `planning.todos_blob(todos)` are what is stored of it.

    `files`: the configuration that is in force for it.
    """

    id: str
    file: Path
    plan: SessionPlan
    todos: tuple[PlannedTodo, ...]
    files: tuple[Configured, ...] = ()

    @property
    def orders(self) -> tuple[Order, ...]:
        """Those of its todos, then its defaults, where later todos begin with any."""
        return (*(one.order for one in self.todos), *((self.plan.defaults,) if self.plan.defaults else ()))

    @property
    def session_timeout(self) -> float:
        """Seconds from its creation on."""
        return self.plan.session_timeout


def bytes_of_session(path: Path) -> bytes:
    """What the file at `path` has now, for `load_session`. Raises `Malformed` for what is no file."""
    return bytes_of(path, shown_as(path), "an order or a session in YAML or JSON", MAX_SESSION_BYTES)


def describes_session(path: Path, content: bytes | None = None) -> bool:
    """Whether the file is a session's rather than an order's, going by its fields. Raises `Malformed`.

    `content` as in `load_session`.
    """
    shown = shown_as(path)
    content = bytes_of_session(path) if content is None else content
    text = text_in(content, shown, "an order or a session in YAML or JSON", MAX_SESSION_BYTES)
    data = parsed(text, shown, "an order or a session", TIMES_AN_ORDER).data
    return isinstance(data, dict) and not data.keys().isdisjoint({"todos", "defaults", "session_timeout"})


def load_session(path: Path, settings: Settings, content: bytes | None = None) -> LoadedSession:
    """The session in `path`, with what the project of `settings` asks of every order. Raises `Malformed`.

    `content`: what the file had when it was read before, None to read it now.
    """
    shown = shown_as(path)
    content = bytes_of_session(path) if content is None else content
    text = text_in(content, shown, "a session in YAML or JSON", MAX_SESSION_BYTES)
    policies = Policies(settings)
    first = policies.of(path)
    loaded = _loaded(path, parsed(text, shown, "a session", TIMES_AN_ORDER), first, settings)
    policy = policies.of(path, sorted(_workspaces(loaded)))
    if policy.files == first.files:
        return loaded
    return _loaded(path, parsed(text, shown, "a session", TIMES_AN_ORDER), policy, settings)


def _loaded(path: Path, document: Document, policy: ProjectPolicy, settings: Settings) -> LoadedSession:
    """The session that `document` describes, which was read from `path`."""
    try:
        said = SessionFile.model_validate_json(json.dumps(document.data))
    except ValidationError as error:
        refuse([*document.problems, *explain(error, SessionFile, document)])
        raise AssertionError("a problem of the document's is told") from error
    file = path.resolve()
    defaults = layer_of(document, dict(said.defaults), ("defaults",))
    context = Context(document, path.parent, str(file), (*policy.layers, defaults), policy.floor)
    timeout, problems = _timeout(said, policy, document)
    template, of_defaults = _template(said, context)
    if not said.todos and not said.defaults:
        problems.append(
            document.problem(("todos",), "is missing", "expected a list of todos, or defaults for later ones")
        )
    todos, of_todos = plan_todos(context, {("todos", n): one for n, one in enumerate(said.todos)}, Joining())
    problems += [*document.problems, *of_defaults, *of_todos, *held(document.data, document, "a session")]
    if policy.layers:
        problems += held(Layered(policy.layers).data, Layered(policy.layers), "an order")
    refuse(problems + _authority({one.order.workspace for one in todos}, settings, policy))
    authority = authority_of(settings, policy.files)
    plan = SessionPlan(
        session_timeout=timeout, defaults=template, order_file=str(file), floor=policy.floor, authority=authority
    )
    name = said.id or f"session-{sha256_hex(os.fsencode(file))[:10]}"
    return LoadedSession(name, file, plan, under(authority, todos), policy.files)


def _workspaces(loaded: LoadedSession) -> set[Path]:
    """Those of its todos, and of those that join later."""
    orders = [*(todo.order for todo in loaded.todos), *([loaded.plan.defaults] if loaded.plan.defaults else [])]
    return {Path(order.workspace) for order in orders}


def _timeout(said: SessionFile, policy: ProjectPolicy, document: Document) -> tuple[float, list[Problem]]:
    """The session's time in seconds: what is not written is raised to the floor."""
    most = policy.floor.session_timeout
    if "session_timeout" not in said.model_fields_set:
        return (said.session_timeout if most is None else min(most, said.session_timeout)), []
    return said.session_timeout, problem_of_session(policy.floor, said.session_timeout, document)


def _template(said: SessionFile, context: Context) -> tuple[Order | None, list[Problem]]:
    """The defaults as a whole order, its trees absolute: without a base where they name none for later todos."""
    if not said.defaults:
        return None, []
    problems = [
        context.document.problem(("defaults", name), "is each todo's own", "expected it in the todos", at_key=True)
        for name in OWN_FIELDS
        if name in said.defaults
    ]
    layers: list[Layer] = list(context.layers)
    data: Fields = {name: value for name, value in said.defaults.items() if name not in OWN_FIELDS}
    layers[-1] = layer_of(context.document, {"content": NO_CONTENT, **data}, ("defaults",))
    source = Layered(layers, protecting(context.floor, Layered(layers).data))
    order, wrong = validated(source)
    problems += wrong
    if order is not None:
        problems += problems_below(context.floor, order, source)
    trees = OrderTrees(context.folder, source, of_session=True)
    placed = None
    if (partly := order or only_trees(source)) is not None:
        if partly.base is None:
            placed = trees.with_workspace(partly)
        elif "workspace" in data:
            placed = trees.with_trees(partly, None, None)
        else:
            placed = trees.of_later_todos(partly)
    return placed, [*problems, *trees.problems]


def _authority(workspaces: set[str], settings: Settings, policy: ProjectPolicy) -> list[Problem]:
    problems: list[Problem] = []
    for workspace in sorted(workspaces):
        try:
            refuse_authority_within(settings, Path(workspace), policy.files)
        except Malformed as error:
            problems += error.problems
    return problems
