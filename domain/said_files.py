"""The files of an attempt's folder on what roles said: an auditor's part, each criterion's, each side's case. Pure.

They are made from the report's document and say nothing that it does not. Source: seed `pipeline` "Evidence Storage".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from domain.base import sha256_hex
from domain.roles.spending import MICROS

FIRST_LOOK = ("assessments", "suspicions")
OPINION = (
    *("verdict", "confidence", "assessments", "claims", "reasons", "required_actions", "evidence_citations"),
    *("model", "scripted", "prompt", "tools", "policy", "packet"),
)
"""What of a pass stands beside the answer in the folder that people open."""

TAKEN = frozenset({"index", "auditor"})
"""Names in `audits/` that no criterion's file may have."""

Json = dict[str, Any]


def files_said(report: Json) -> dict[str, object]:
    """The files by name. `report`: the document; the lists are empty while nobody was asked."""
    audits = report.get("audits", [])
    files: dict[str, object] = {"audits/index.json": [_listed(audit) for audit in audits]}
    if audits:
        files["audits/auditor.json"] = _audit(report)
    files |= {f"audits/{name}.json": told for name, told in _by_criterion(report)}
    sides = [each for each in _sides(report) if each is not None]
    files["arguments/index.json"] = [_listed_side(each) for each in sides]
    files |= {f"arguments/{each['side']}.json": each for each in sides}
    return files


def file_names(ids: Iterable[str]) -> dict[str, str]:
    """A name for the file of each id: itself where that is free, on a disk that ignores case, too."""
    names: dict[str, str] = {}
    taken = set(TAKEN)
    for id in ids:
        name = id if id.casefold() not in taken else f"{id}.{sha256_hex(id.encode())[:12]}"
        taken.add(name.casefold())
        names[id] = name
    return names


def _listed(audit: Json) -> Json:
    """One line of the list of what auditors said."""
    words = {name: audit[name] for name in ("role", "stage", "part", "outcome", "model", "scripted", "verdict")}
    return {**words, "file": "auditor.json"}


def _audit(report: Json) -> Json:
    """The auditor's part for people: what it came to, its blind first look, its opinion, the dialogue, each pass."""
    passes = report["audits"]
    answered = {audit["stage"]: audit for audit in passes if audit["outcome"] == "answered"}
    return {
        "auditor": report["auditor"],
        "first_look": _answer(answered.get("blind"), FIRST_LOOK),
        "opinion": _answer(answered.get("informed"), OPINION),
        "dialogue": [audit["question"] for audit in passes if audit["question"]],
        "refused": [call for audit in passes for call in audit["refused"]],
        "usage": _sum([audit["usage"] for audit in passes]),
        "passes": passes,
    }


def _answer(audit: Json | None, fields: tuple[str, ...]) -> Json | None:
    return {name: audit[name] for name in fields} if audit else None


def _sum(usages: list[Json]) -> Json:
    """The sum over passes, in millionths of a dollar: a sum of fractions is not that of the report."""
    names = [name for name in usages[0] if name != "cost_usd"]
    summed: Json = {name: sum(usage[name] for usage in usages) for name in names}
    summed["cost_usd"] = sum(round(usage["cost_usd"] * MICROS) for usage in usages) / MICROS
    return {name: summed[name] for name in usages[0]}


def _by_criterion(report: Json) -> Iterator[tuple[str, Json]]:
    """One file for each criterion or check that the auditor assessed or a judge ruled on.

    A report without `draft` is of a version that filed none of these.
    """
    if "draft" not in report:
        return
    lines = {**{each["id"]: each for each in report["criteria"]}, **{each["name"]: each for each in report["checks"]}}
    told = {id: line for id, line in lines.items() if line.get("audited") or line["judged"]}
    names = file_names(told)
    for id, line in told.items():
        yield (
            names[id],
            {
                "criterion": id,
                "description": line.get("description", line["command"]),
                "required": line["required"],
                "outcome": line["outcome"],
                "auditor": line.get("audited"),
                "disputed": _disputed(report, id),
                "arguments": [each for each in report["arguments"] if each["criterion"] == id],
                "judge": line["judged"],
            },
        )


def _disputed(report: Json, id: str) -> list[str]:
    disputes = report["judgement"]["disputes"] if report["judgement"] else []
    return [why for dispute in disputes if dispute["criterion"] == id for why in dispute["why"]]


def _sides(report: Json) -> Iterator[Json | None]:
    """Both sides' files: the pass as it went, and what was argued; none for a side that nobody asked."""
    passes = report["judgement"]["passes"] if report["judgement"] else []
    for side in ("advocate", "critic"):
        asked = next((each for each in passes if each["role"] == side), None)
        argued = [each for each in report["arguments"] if each["side"] == side]
        yield {"side": side, "arguments": argued, "pass": asked} if asked else None


def _listed_side(side: Json) -> Json:
    """One line of the list of what was argued."""
    words = {name: side["pass"][name] for name in ("role", "stage", "outcome", "model", "scripted")}
    criteria = [each["criterion"] for each in side["arguments"]]
    return {**words, "criteria": criteria, "file": f"{side['side']}.json"}
