"""Judges a decided round once more, on what is stored of it: no container, no server, no model. It changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import ValidationError

from adapters.checkers.again import Again
from adapters.snapshot.snapshots import changed_inputs
from adapters.snapshot.trusted import trusted
from adapters.trail.chain import content_hash
from domain.checks import BaseOutcome, CheckResult, Item, Outcome
from domain.errors import Unavailable
from domain.events import TrailRow
from domain.filing import assemble
from domain.flakes import standing
from domain.messages import SHOWN, RoundRecord
from domain.ports import EvidenceStore, Finding
from domain.references import of_record, of_rows
from domain.rejudge import (
    Drift,
    Rejudged,
    as_worded_now,
    decide_again,
    differences,
    of_evidence,
    of_folder,
    of_passes,
    of_verdict,
    result_again,
)
from domain.rejudge import of_rows as drift_of_rows
from domain.rejudge_dispute import judgements_in, of_dispute
from domain.roles.argued import Case, Judgement
from domain.suite.scripts import scripts_of
from entrypoints import exporting


class Rejudging:
    """One decided round: its rows, the last of which is its verdict's."""

    def __init__(self, store: EvidenceStore, rows: Sequence[TrailRow], verdict: TrailRow) -> None:
        self._store = store
        self._rows = rows
        self._verdict = verdict
        self._damaged: dict[str, str] = {}
        self._drift: list[Drift] = []
        self._rederived: list[str] = []
        self._compared: list[str] = []

    async def run(self) -> Rejudged:
        """Everything that is not as it was recorded; what is missing or damaged is listed, and the rest looked at."""
        row = self._verdict
        outcome = ""
        recorded = str(row.payload.get("outcome", ""))
        self._drift += self._hashes()
        for digest in sorted(of_rows(self._rows)):
            self._get(digest)
        record = self._record()
        if record is not None:
            for digest in sorted(of_record(record)):
                self._get(digest)
            self._drift += of_verdict(row, record)
            self._drift += drift_of_rows(self._rows, record)
            self._drift += of_passes(self._rows, record)
            results = tuple([await self._again(record, result) for result in record.results])
            await self._audit(record)
            self._dispute(record)
            if not self._damaged:
                self._documents(record)
                decision = decide_again(record, results)
                self._drift += differences("decision", record.decision, decision)
                outcome = decision.outcome.value
        return Rejudged(
            session=row.session,
            todo=row.todo_id,
            attempt=row.attempt,
            recorded=recorded,
            decided=outcome,
            rederived=tuple(self._rederived),
            compared=tuple(self._compared),
            drift=tuple(self._drift),
            damaged=self._damaged,
        )

    def _get(self, digest: str) -> bytes | None:
        """The blob, None when it is missing or damaged, which is noted."""
        try:
            return self._store.get(digest)
        except Unavailable as error:
            self._damaged[digest or "no digest"] = error.reason
            return None

    def _record(self) -> RoundRecord | None:
        digest = self._verdict.payload.get("record")
        if not isinstance(digest, str) or not digest:
            self._damaged["record"] = "the row names no record of the round: a version wrote it that kept none"
            return None
        stored = self._get(digest)
        return RoundRecord.model_validate_json(stored) if stored is not None else None

    def _hashes(self) -> Iterator[Drift]:
        """Rows whose hash is not that of what they say; the rest of the chain is for `log verify`."""
        for row in self._rows:
            found = content_hash(row)
            if found != row.hash:
                yield Drift(where="row", field=f"{row.action}/{row.sequence}.hash", said=row.hash, found=found)

    async def _again(self, record: RoundRecord, result: CheckResult) -> CheckResult:
        """The result as its evidence has it now, or as it is recorded where it has none."""
        body = self._body(result.evidence) if result.evidence else None
        if body is None:
            self._compared.append(result.id)
            return result
        self._drift += of_evidence(record, result, body)
        found = await self._judged(result.id, body, record.input.order.verification.on_flaky == "pass")
        again = result_again(result, found, found.outcome, found.code, found.base or await self._base(result))
        if body.get("findings"):
            outcomes = [Outcome(finding["outcome"]) for finding in body["findings"]]
            again = again.model_copy(update={"outcomes": tuple(outcomes)})
        self._drift += differences("record", result, again, result.id)
        return again

    async def _base(self, result: CheckResult) -> BaseOutcome | None:
        """What the same command came to on the base, by its own evidence."""
        rows = (row for row in self._rows if row.action == "base_compared" and row.payload.get("check") == result.id)
        row = next(rows, None)
        if row is None:
            return None
        evidence = str(row.payload.get("evidence", ""))
        body = self._body(evidence)
        if body is None:
            return BaseOutcome(
                outcome=Outcome(str(row.payload.get("base_outcome"))), code=str(row.payload.get("base_code"))
            )
        judged = await self._judged(f"{result.id} on the base", body)
        said = {"base_outcome": row.payload.get("base_outcome"), "base_code": row.payload.get("base_code")}
        found = {"base_outcome": judged.outcome.value, "base_code": judged.code}
        self._drift += differences("row", said, found, f"base_compared/{row.sequence}")
        return BaseOutcome(outcome=judged.outcome, code=judged.code, evidence=evidence)

    async def _judged(self, name: str, body: dict[str, Any], flaky_passes: bool = False) -> Finding:
        """The finding that stands, with outcome and code by what was seen; of several runs, each is judged again."""
        item = Item.model_validate(body["item"])
        said = [Finding.model_validate(finding) for finding in body.get("findings") or [body["finding"]]]
        judged = [await self._run_judged(name, body, item, finding) for finding in said]
        (self._compared if None in judged else self._rederived).append(name)
        found = [now or then for now, then in zip(judged, said, strict=True)]
        for then, now in zip(said, found, strict=True):
            self._drift += _differ(name, then, now)
        stands = standing(found, flaky_passes=flaky_passes)
        if len(found) > 1:
            self._drift += _differ(name, standing(said, flaky_passes=flaky_passes), stands)
            recorded = Finding.model_validate(body["finding"])
            self._drift += differences("evidence", recorded, standing(said, flaky_passes=flaky_passes), name)
        return stands

    async def _run_judged(self, name: str, body: dict[str, Any], item: Item, finding: Finding) -> Finding | None:
        """One run's finding by what was seen; None where that does not tell, and the finding has to be believed."""
        try:
            judged = await Again(self._store).judge(item, finding, str(body["tree"]))
        except Unavailable as error:
            self._damaged[name] = error.reason
            return None
        return finding.model_copy(update={"outcome": judged[0], "code": judged[1]}) if judged else None

    async def _audit(self, record: RoundRecord) -> None:
        """The auditor's word, by its stored answer and what that cites."""
        if record.audit is None or record.scope is None or self._damaged:
            return
        from entrypoints.rejudging_audit import audit_again  # noqa: PLC0415 - only for rounds in which roles had a part

        try:
            self._drift += await audit_again(self._store, record, self._rows)
        except Unavailable as error:
            self._damaged["audit"] = error.reason
        except ValidationError as error:
            self._damaged["audit"] = f"what is stored as an answer is none: {error.error_count()} faults in its form"

    def _dispute(self, record: RoundRecord) -> None:
        """What the adversarial stage came to, by what it was about and by the judge's stored answers."""
        if record.dispute is None or self._damaged:
            return
        try:
            said = {
                digest: Judgement.model_validate_json(self._store.get(digest))
                for digest in judgements_in(record.dispute)
            }
            for side in (record.dispute.advocate, record.dispute.critic):
                if side is not None and side.said:
                    Case.model_validate_json(self._store.get(side.said))
        except ValidationError as error:
            what = "an argument" if error.title == Case.__name__ else "a judgement"
            self._damaged["dispute"] = f"what is stored as {what} is none: {error.error_count()} faults in its form"
            return
        self._drift += of_dispute(record, said)

    def _body(self, digest: str) -> dict[str, Any] | None:
        stored = self._get(digest)
        return json.loads(stored) if stored is not None else None

    def _documents(self, record: RoundRecord) -> None:
        """The trusted tree, the report and the folder, made once more; everything they need is there."""
        self._drift += self._scope(record)
        filed = exporting.attempt_folder(self._store, self._verdict)
        report = as_worded_now(json.loads(filed["verdict.json"]))
        self._drift += differences("report", report, assemble(record, self._store.get).report)
        self._drift += of_folder(tuple(exporting.edited(self._store, self._verdict, filed)))

    def _scope(self, record: RoundRecord) -> Iterator[Drift]:
        """What of the work was taken, by the order's scope as this version reads it."""
        frozen, scope, order = record.frozen, record.scope, record.input.order
        if frozen is None or scope is None:
            return
        try:
            tests = order.verification.tests
            found_again = trusted(self._store.get, frozen, order.scope, tests, scripts_of(order))
        except Unavailable as error:  # a new test was looked into, and an export may have no files
            self._damaged["scope"] = error.reason
            return
        said = scope.model_dump(mode="json", include={"tree", "violations", "changed_inputs"})
        found = {
            "tree": found_again.tree.digest,
            "violations": [violation.model_dump(mode="json") for violation in found_again.report.violations[:SHOWN]],
            "changed_inputs": list(changed_inputs(found_again.base, found_again.head, tuple(order.environment.inputs))),
        }
        yield from differences("record", said, found, "scope")


def _differ(name: str, said: Finding, found: Finding) -> Iterator[Drift]:
    one, other = ({"outcome": finding.outcome.value, "code": finding.code} for finding in (said, found))
    return differences("evidence", one, other, name)
