"""Holds what is recorded of a round against what its evidence comes to now, field by field. Pure: it is given both.

Source: issue "Replay of the record", DESIGN 1.6: decisions are pure, so the same evidence must give the same one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, JsonValue

from domain.audit_report import NEVER_ASKED, in_stages
from domain.base import Message
from domain.checks import BaseOutcome, CheckResult, Outcome, beside_the_base
from domain.decision import Counters, Decision, Policy, decide
from domain.events import Action, TrailRow
from domain.facts import facts_of
from domain.messages import RoundRecord
from domain.ports import Finding
from domain.rejudge_roles import AskedAgain
from domain.roles.names import Role
from domain.roles.results import PassResult
from domain.verdict import Audit

Where = Literal["row", "report", "record", "evidence", "decision", "folder", "audit", "dispute"]

_OF_A_ROUND = ("check_completed", "base_compared", "snapshot_frozen", "scope_assessed", "audit_completed")


class Drift(Message):
    """One field that is not what it should be: what is said there, and what the evidence comes to."""

    where: Where
    field: str
    said: JsonValue
    found: JsonValue


class Rejudged(Message):
    """What judging a round again came to.

    `rederived`: items judged again from what was seen; `compared`: those of which only the finding is stored, or that
    were never run. `damaged`: evidence that is missing or not what was stored, with the reason. `roles`: what they say
    now, where they were asked once more.
    """

    session: str
    todo: str
    attempt: int
    recorded: str = ""
    decided: str = ""
    rederived: tuple[str, ...] = ()
    compared: tuple[str, ...] = ()
    drift: tuple[Drift, ...] = ()
    damaged: dict[str, str] = {}
    roles: AskedAgain | None = None


def decide_again(record: RoundRecord, results: tuple[CheckResult, ...]) -> Decision:
    """What `decide` makes of the record's facts with these results, and with what the roles came to then."""
    return decide_on(record, results, record.audit.audit if record.audit else None)


def decide_on(record: RoundRecord, results: tuple[CheckResult, ...], audit: Audit | None) -> Decision:
    """The same with another word of the auditor's; what was argued and ruled stays as it is recorded."""
    given, order = record.effective, record.order
    facts = facts_of(
        order,
        record.scope,
        results,
        record.refused,
        record.unknown,
        record.probe,
        given.authored,
        audit=audit,
        undrafted=record.undrafted,
        dispute=record.dispute,
        rejected=given.rejection(record.frozen),
    )
    return decide(facts, Policy.of(order), Counters(inconclusive=given.inconclusive))


def result_again(
    result: CheckResult, finding: Finding, outcome: Outcome, code: str, base: BaseOutcome | None
) -> CheckResult:
    """`result` as its evidence has it: with the finding's words, this outcome and code, and beside the base's."""
    seen = result.model_copy(
        update={
            "outcome": outcome,
            "code": code,
            "text": finding.text,
            "next_step": finding.next_step,
            "exit_code": finding.exit_code,
            "duration_ms": finding.duration_ms,
            "isolation": "out_of_process" if finding.out_of_process else "in_process",
            "base_outcome": None,
            "tests": finding.tests,
            "control": finding.control,
            "expectation": finding.expectation,
            "seed": finding.seed,
        }
    )
    return beside_the_base(seen, base) if base else seen


def as_worded_now(report: dict[str, Any]) -> dict[str, Any]:
    """A stored report without what earlier versions put into other words, or cut otherwise: outputs, and what is told.

    They are known by the headline, which they do not have. Everything that was decided is compared.
    """
    if "headline" in report:
        return report
    criteria = [
        {**_without(each, "next_step"), "evidence": _without(each["evidence"], "stdout", "stderr")}
        for each in report["criteria"]
    ]
    checks = [_without(each, "output", "next_step") for each in report["checks"]]
    return {**_without(report, "retry_context"), "criteria": criteria, "checks": checks}


def _without(given: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name not in names}


def differences(where: Where, said: Any, found: Any, field: str = "") -> Iterator[Drift]:
    """The fields of `said` that `found` has otherwise; what only `found` has is of a later version, and no drift.

    Both are models or plain data.
    """
    one, other = (value.model_dump(mode="json") if isinstance(value, BaseModel) else value for value in (said, found))
    if isinstance(one, dict) and isinstance(other, dict):
        for name, value in one.items():
            yield from differences(where, value, other.get(name), f"{field}.{name}" if field else name)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (a, b) in enumerate(zip(one, other, strict=True)):
            yield from differences(where, a, b, f"{field}[{number}]")
    elif one != other:
        yield Drift(where=where, field=field, said=one, found=other)


def of_rows(rows: Iterable[TrailRow], record: RoundRecord) -> Iterator[Drift]:
    """Where the round's rows say something else than its record."""
    results = {result.id: result for result in record.results}
    compared = {str(row.payload.get("check")) for row in rows if row.action == "base_compared"}
    for row in rows:
        if row.action in _OF_A_ROUND:
            expected = _expected(row, record, results, compared)
            said = {name: row.payload.get(name) for name in expected}
            yield from differences("row", said, expected, f"{row.action}/{row.sequence}")


def of_passes(rows: Sequence[TrailRow], record: RoundRecord) -> Iterator[Drift]:
    """Where the rows on what roles did say something else than the round's record."""
    for action, roles, payloads in _told(record):
        found = [row for row in rows if row.action == action and row.payload.get("role", roles[0]) in roles]
        if len(found) != len(payloads):
            yield Drift(where="row", field=f"{action}: how many", said=len(found), found=len(payloads))
            continue
        for row, payload in zip(found, payloads, strict=True):
            said = {name: row.payload.get(name) for name in payload}
            yield from differences("row", said, payload, f"{action}/{row.sequence}")


def _told(record: RoundRecord) -> Iterator[tuple[Action, tuple[Role, ...], list[dict[str, JsonValue]]]]:
    """The rows that there should be: the action, of which roles, and what each row of them says in their order."""
    audit, draft, dispute = record.audit, record.draft, record.dispute
    staged = [each for each in in_stages(audit.passes if audit else ()) if each.result.outcome not in NEVER_ASKED]
    hearings = dispute.hearings if dispute else ()
    by_roles: list[tuple[tuple[Role, ...], list[tuple[dict[str, JsonValue], PassResult]]]] = [
        (("auditor",), [({"stage": each.stage, "part": each.part}, each.result) for each in staged]),
        (("designer", "strategist"), [({}, result) for result in (draft.passes if draft else ())]),
        (("advocate",), [({}, dispute.advocate)] if dispute and dispute.advocate else []),
        (("critic",), [({}, dispute.critic)] if dispute and dispute.critic else []),
        (("judge",), [({"part": at, "first": one.first}, one.result) for at, one in enumerate(hearings)]),
    ]
    for roles, passes in by_roles:
        asked = [(place, result) for place, result in passes if result.outcome not in NEVER_ASKED]
        refused = [call for _, result in asked for call in result.refused]
        yield "role_pass_completed", roles, [_completed(place, result) for place, result in asked]
        yield "tool_refused", roles, [{"tool": call.tool, "code": call.code} for call in refused]
    answered = [each.result for each in staged if each.stage == "informed" and each.result.outcome == "answered"]
    assessed = [one.model_dump(mode="json") for result in answered for one in result.assessed]
    yield "criterion_audited", ("auditor",), assessed
    rulings: list[dict[str, JsonValue]] = [
        {"criterion": ruled.criterion, "verdict": ruled.verdict, "confidence": ruled.confidence, "first": one.first}
        for one in hearings
        for ruled in (one.result.rulings if one.result.outcome == "answered" else ())
    ]
    yield "criterion_judged", ("judge",), rulings


def _completed(place: dict[str, JsonValue], result: PassResult) -> dict[str, JsonValue]:
    return {
        **place,
        "outcome": result.outcome,
        "said": result.said,
        "messages": result.messages,
        **result.provenance.model_dump(mode="json"),
    }


def of_answer(said: Audit, found: Audit, faults: Sequence[str]) -> Iterator[Drift]:
    """Where the auditor's word does not follow from its stored answer, or that does not hold up by its evidence.

    What the version that stored it did not say of it is no drift.
    """
    yield from differences("audit", said.model_dump(mode="json", exclude_unset=True), found)
    yield from (Drift(where="audit", field=fault, said="cited", found="a fault") for fault in faults if said.cited)


def of_verdict(row: TrailRow, record: RoundRecord) -> Iterator[Drift]:
    """Where the record is of another round than the row that names it."""
    mine = {"session": record.input.session, "todo_id": record.input.todo, "attempt": record.input.attempt}
    yield from differences("record", mine, row.model_dump(mode="json"))


def of_evidence(record: RoundRecord, result: CheckResult, body: Mapping[str, JsonValue]) -> Iterator[Drift]:
    """Where a piece of evidence is bound to something else than the round that cites it (DESIGN 8)."""
    item = body.get("item")
    criterion = item.get("criterion") if isinstance(item, dict) else None
    said: dict[str, JsonValue] = {name: body.get(name) for name in ("session", "todo", "attempt", "tree")}
    said["id"] = criterion.get("id") if isinstance(criterion, dict) else None
    expected: dict[str, JsonValue] = {
        "session": record.input.session,
        "todo": record.input.todo,
        "attempt": record.input.attempt,
        "tree": record.scope.tree if record.scope else None,
        "id": result.id,
    }
    yield from differences("evidence", said, expected, result.id)


def of_folder(edited: Sequence[str]) -> Iterator[Drift]:
    """What the folder that people open has otherwise than it was filed, in words."""
    return (Drift(where="folder", field=text, said=None, found=None) for text in edited)


def _expected(
    row: TrailRow, record: RoundRecord, results: Mapping[str, CheckResult], compared: set[str]
) -> dict[str, JsonValue]:
    """What the row's payload should have, as far as the record knows."""
    decision, frozen, scope = record.decision, record.frozen, record.scope
    result = results.get(str(row.payload.get("check")))
    match row.action:
        case "audit_completed":
            return {
                "result": decision.verdict,
                "outcome": decision.outcome.value,
                "trigger": decision.trigger,
                "reasons": [reason.code for reason in decision.reasons],
            }
        case "snapshot_frozen" if frozen:
            return {"head": frozen.head, "base": frozen.base}
        case "scope_assessed" if scope:
            return {"tree": scope.tree, "report": scope.report, "changed": scope.changed_total}
        case "base_compared" if result:
            base = result.base_outcome.value if result.base_outcome else None
            return {"outcome": result.outcome.value, "code": result.code, "base_outcome": base}
        case "check_completed" if result:
            fixed: dict[str, JsonValue] = {
                "code": result.code,
                "exit_code": result.exit_code,
                "required": result.required,
                "evidence": result.evidence,
            }
            own: dict[str, JsonValue] = {"outcome": result.outcome.value, "passed": result.passed}
            return fixed if result.id in compared else {**fixed, **own}
    return {}
