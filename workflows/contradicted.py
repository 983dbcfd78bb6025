"""Where a claim says something else than the round saw, with a row for each. What counts as that is `domain`'s."""

from __future__ import annotations

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from activities.claims import ClaimActivities
    from domain.checks import CheckResult
    from domain.claims.claim import Contradiction
    from domain.events import HARNESS
    from domain.messages import ClaimInput, RoundInput, ScopeResult
    from workflows import options
    from workflows.trail import RoundTrail


async def contradicted(
    request: RoundInput, results: tuple[CheckResult, ...], scope: ScopeResult | None, trail: RoundTrail
) -> tuple[Contradiction, ...]:
    """The contradictions of a round, in the trail; none where nobody claimed or there is no tree."""
    if request.claim is None or scope is None:
        return ()
    compared = await workflow.execute_activity_method(
        ClaimActivities.compare,
        ClaimInput(claim=request.claim, order=request.order, results=results, report=scope.report),
        summary="the claim beside what was seen",
        **options.REPORT,
    )
    for one in compared.found:
        await trail.record(
            "claim_contradicted",
            HARNESS,
            {"check": one.check, "claimed": one.claimed, "observed": one.observed, "evidence": one.evidence},
        )
    return compared.found
