"""What a project asks of every order: its defaults, and the floor that none goes below.

Source: CONTRACT "An order", precedence. Who may write such a file is for `worker_written` to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from adapters.config.configuration import Configured, Reader, conflict
from adapters.config.layers import Fields, Layer, layer_of
from adapters.config.project_file import SIGNED_ACTS
from adapters.config.settings import Settings
from adapters.config.yaml_document import Document
from domain.order import Safeguards
from domain.policy_floor import NO_FLOOR, PolicyFloor, conflicts, joined, raised, stricter


@dataclass(frozen=True)
class ProjectPolicy:
    """The layers below an order's own, the weakest first: those of the floor, then the defaults.

    `files`: every file whose policy is in force, the outermost of each chain first.
    """

    layers: tuple[Layer, ...] = ()
    floor: PolicyFloor = NO_FLOOR
    files: tuple[Configured, ...] = ()


NO_POLICY = ProjectPolicy()

_BUILT_IN = Document({}, {}, {}, "built in")
_SIGNED = layer_of(_BUILT_IN, {"signatures": "required"}, ("override_policy",), ("override_policy",))
"""Where people can sign, they have to, unless somebody says otherwise: the weakest layer of all."""


class Policies:
    """What the configuration asks of orders, by where they and their workspaces are. It reads each file once.

    `signable`: whether people who are configured as signers can sign, which in a session from before that nobody can.
    """

    def __init__(self, settings: Settings, *, signable: bool = True) -> None:
        self._settings = settings
        self._signable = signable
        self._reader = Reader((*settings.files, *settings.above))
        self.last = NO_POLICY
        """What was asked of the order that was looked at last."""

    def of(self, order: Path | None = None, workspaces: Iterable[Path] = ()) -> ProjectPolicy:
        """What is asked of the order in the file `order`, None for none, whose worker changes one of `workspaces`.

        Policy and signers are those of every file above the current directory, the order and the workspaces; defaults
        are those of the settings alone. Raises `Malformed`.
        """
        settings = self._settings
        places = [*([order] if order else ()), *workspaces]
        found = (*settings.files, *settings.above, *self._reader.above(*places))
        files = tuple({one.path: one for one in found}.values())
        floor = _joined(files)
        if settings.human_acts == "signed":
            floor = joined(floor, SIGNED_ACTS)
        named = settings.signers_file is not None or any(one.said.signers.file for one in files)
        layers = (
            *((_SIGNED,) if (named and self._signable) or settings.human_acts == "signed" else ()),
            *_floor(floor, files),
            *_overrides(files),
            *(layer for one in settings.files for layer in _defaults(one.document)),
        )
        self.last = ProjectPolicy(layers, floor, files)
        return self.last


def load_policy(settings: Settings) -> ProjectPolicy:
    """What is asked of orders wherever they are: by the files above the current directory. Raises `Malformed`."""
    return Policies(settings).of()


def _joined(files: Iterable[Configured]) -> PolicyFloor:
    """What all their floors ask for. Raises `Malformed` where no order can have what two of them ask for."""
    floor = NO_FLOOR
    before: list[Configured] = []
    for one in files:
        own = one.said.floor
        for outer in before:
            for name in conflicts(outer.said.floor, own):
                first, _, check = name.partition(".")
                what = f"the check {check} is another one" if check else f"is {getattr(own, name)}"
                raise conflict(one, ("policy_floor", first), what, outer)
        floor = joined(floor, own)
        before.append(one)
    return floor


def _floor(floor: PolicyFloor, files: Iterable[Configured]) -> Iterator[Layer]:
    """What stands where nothing is said, told of in the file that asks for it.

    An order's own check by the name of one of these is refused later.
    """
    table = "policy_floor"
    strictest = raised(floor)
    for one in files:
        data: Fields = {}
        for (first, *rest), value in raised(one.said.floor).items():
            if strictest[first, *rest] != value:
                continue
            inner = data.setdefault(first, {})
            for name in rest[:-1]:
                assert isinstance(inner, dict)
                inner = inner.setdefault(name, {})
            assert isinstance(inner, dict)
            inner[rest[-1]] = value
        if data:
            yield layer_of(one.document, data, (table,))
        if one.said.policy_floor.checks:
            checks = _table(one.document, table)["checks"]
            yield layer_of(one.document, checks, (table, "checks"), ("verification", "checks"))


def _overrides(files: Iterable[Configured]) -> Iterator[Layer]:
    """What each file says of overrides, as far as no other one says something stricter."""
    told = [(one, _table(one.document, "override_policy")) for one in files]
    strictest = reduce(stricter, (data for _, data in told), Fields())
    for one, data in told:
        if kept := {name: value for name, value in data.items() if strictest[name] == value}:
            yield layer_of(one.document, kept, ("override_policy",), ("override_policy",))


def _defaults(document: Document) -> Iterator[Layer]:
    if said := _table(document, "verification_defaults"):
        yield layer_of(document, said, ("verification_defaults",), ("verification",))
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
