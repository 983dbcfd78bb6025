"""The criterion about a Python function: what it is called with, and what must come of it. It calls none.

Source: CONTRACT "An order", DESIGN 8 "Out of process".
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from domain.base import Part, canonical_json
from domain.criterion import MAX_CASES_BYTES, CriterionBase
from domain.fields import PythonName, RelativePath, quoted, wrong
from domain.strategies import Inputs, constant


class PythonCase(Part):
    """One call: arguments, and either the value it returns or the name of the exception it raises. Plain data only."""

    args: list[JsonValue] = []
    kwargs: dict[str, JsonValue] = {}
    returns: JsonValue = None
    raises: PythonName | None = None

    @model_validator(mode="before")
    @classmethod
    def _one_expectation(cls, data: Any) -> Any:
        if isinstance(data, dict) and ("returns" in data) == ("raises" in data):
            given = "both returns and raises" if "returns" in data else "neither returns nor raises"
            raise wrong(given, "one of the two in a case")
        if isinstance(data, dict) and "raises" in data and data["raises"] is None:
            raise wrong("raises is null", "the name of an exception, or returns: null", at=("raises",))
        return data

    @model_serializer(mode="wrap")
    def _without_the_other(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Only the expectation that was given, since an expected null and no expectation differ."""
        data: dict[str, Any] = handler(self)
        del data["returns" if self.raises is not None else "raises"]
        return data


def _module_file(path: str) -> str:
    name = path.rpartition("/")[2]
    if not name.endswith(".py") or not name.removesuffix(".py").isidentifier():
        raise wrong(f"{quoted(path)} cannot be imported", "a file such as reference.py, beside the order")
    return path


class Generate(Inputs):
    """Random cases, of which a trusted function tells what must come of each.

    `reference` is a file beside the order; its `function` has the name of the criterion's where none is given.
    """

    reference: Annotated[RelativePath, AfterValidator(_module_file)]
    function: PythonName | None = None


class Property(Inputs):
    """What holds for the function f on random cases, x being its one argument without a name.

    `idempotent`: f(f(x)) == f(x). `inverse`: with(f(x)) == x, where `with` is a function of the same module, or of
    another one (`module.function`). `monotone`: in the one argument that varies. `raises`: in every case.
    """

    model_config = ConfigDict(serialize_by_alias=True)

    property: Literal["idempotent", "inverse", "monotone", "raises"]
    with_: PythonName | None = Field(default=None, alias="with")
    direction: Literal["increasing", "decreasing"] = "increasing"
    strict: bool = False
    exception: PythonName | None = None

    @model_validator(mode="after")
    def _fields_of_its_kind(self) -> Property:
        fields = {
            "with": ("inverse", self.with_ is not None),
            "exception": ("raises", self.exception is not None),
            "direction": ("monotone", self.direction != "increasing"),
            "strict": ("monotone", self.strict),
        }
        for name, (kind, given) in fields.items():
            if given and kind != self.property:
                raise wrong(f"says nothing about the property {self.property}", f"property: {kind}", at=(name,))
            if not given and kind == self.property and name in ("with", "exception"):
                raise wrong(f"the property {kind} has no {name}", f"a name as {name}")
        return self

    @model_validator(mode="after")
    def _one_argument(self) -> Property:
        if self.property in ("idempotent", "inverse") and len(self.args) != 1:
            raise wrong(f"{len(self.args)} arguments without a name", f"one, for the property {self.property}")
        varying = [s for s in (*self.args, *self.kwargs.values()) if not constant(s)]
        if self.property == "monotone" and [s.kind in ("integer", "number") for s in varying] != [True]:
            raise wrong(
                "what varies is not one number", "one argument of the kind integer or number, the others a value"
            )
        return self


class PythonCallParams(Part):
    """`path` is the folder of the tree that goes on the import path; `function` may be dotted (`Class.method`)."""

    path: RelativePath = "."
    module: PythonName
    function: PythonName
    cases: list[PythonCase] = []
    generate: Generate | None = None
    properties: list[Property] = []

    @model_validator(mode="after")
    def _something_is_expected(self) -> PythonCallParams:
        if not (self.cases or self.generate or self.properties):
            raise wrong("nothing is expected of the function", "at least one of cases, generate, properties")
        return self

    @model_validator(mode="after")
    def _cases_are_small(self) -> PythonCallParams:
        size = len(canonical_json([case.model_dump(mode="json") for case in self.cases]))
        if size > MAX_CASES_BYTES:
            raise wrong(f"{size} bytes of cases", f"at most {MAX_CASES_BYTES} as JSON", at=("cases",))
        for name, generated in (
            ("generate", [self.generate] if self.generate else []),
            ("properties", self.properties),
        ):
            size += sum(inputs.largest for inputs in generated)
            if size > MAX_CASES_BYTES:
                raise wrong(f"up to {size} bytes of cases", f"at most {MAX_CASES_BYTES} as JSON", at=(name,))
        return self


class PythonCall(CriterionBase):
    """A function does what each case and property says, compared outside the process that runs it (DESIGN 8)."""

    type: Literal["python_call"]
    params: PythonCallParams
