"""What a project asks of every order: its defaults, and the floor that none goes below.

Source: CONTRACT "An order", precedence. Who may write such a file is for `settings.refuse_authority_within` to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from adapters.config.layers import Fields, Layer, layer_of
from adapters.config.project_file import PROJECT_FILE, read_project
from adapters.config.settings import Settings
from adapters.config.yaml_document import Document
from domain.order import Safeguards
from domain.policy_floor import NO_FLOOR, PolicyFloor, raised


@dataclass(frozen=True)
class ProjectPolicy:
    """The layers below an order's own, the weakest first: those of the floor, then the defaults."""

    layers: tuple[Layer, ...] = ()
    floor: PolicyFloor = NO_FLOOR


NO_POLICY = ProjectPolicy()

_BUILT_IN = Document({}, {}, {}, "built in")
_SIGNED = layer_of(_BUILT_IN, {"signatures": "required"}, ("override_policy",), ("override_policy",))
"""Where people can sign, they have to, unless somebody says otherwise: the weakest layer of all."""


def load_policy(settings: Settings, *, signable: bool = True) -> ProjectPolicy:
    """What the project file of `settings` asks of orders; nothing where there is none. Raises `Malformed`.

    `signable`: whether people who are configured as signers can sign, which in a session from before that nobody can.
    """
    file = settings.project / PROJECT_FILE
    signed = (_SIGNED,) if signable and settings.signers_file is not None else ()
    if not file.exists():
        return ProjectPolicy(signed) if signed else NO_POLICY
    said, document = read_project(file)
    return ProjectPolicy((*signed, *_floor(said.policy_floor, document), *_defaults(document)), said.policy_floor)


def _floor(floor: PolicyFloor, document: Document) -> Iterator[Layer]:
    """What stands where nothing is said. An order's own check by the name of one of these is refused later."""
    table = "policy_floor"
    data: Fields = {}
    for (first, *rest), value in raised(floor).items():
        inner = data.setdefault(first, {})
        for name in rest[:-1]:
            assert isinstance(inner, dict)
            inner = inner.setdefault(name, {})
        assert isinstance(inner, dict)
        inner[rest[-1]] = value
    if data:
        yield layer_of(document, data, (table,))
    if floor.checks:
        yield layer_of(document, _table(document, table)["checks"], (table, "checks"), ("verification", "checks"))


def _defaults(document: Document) -> Iterator[Layer]:
    for table, target in (("verification_defaults", "verification"), ("override_policy", "override_policy")):
        if said := _table(document, table):
            yield layer_of(document, said, (table,), (target,))
    numbers = _table(document, "thresholds")
    of_safeguards = {name: value for name, value in numbers.items() if name in Safeguards.model_fields}
    of_verification = {name: value for name, value in numbers.items() if name not in of_safeguards}
    for target, data in (("verification", of_verification), ("safeguards", of_safeguards)):
        if data:
            yield layer_of(document, data, ("thresholds",), (target,))


def _table(document: Document, name: str) -> Fields:
    assert isinstance(document.data, dict)
    found = document.data.get(name, {})
    assert isinstance(found, dict)
    return found
