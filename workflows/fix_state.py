"""How a fix loop stands: what it knows, what people are shown of it, and what it answers. It waits for nothing."""

from __future__ import annotations

from dataclasses import dataclass, field

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from domain.fix_messages import Ending, FixLoopInput, FixLoopResult, FixProgress, Iteration
    from domain.fixing import Tally
    from domain.messages import RoundInput, RoundResult
    from workflows.board import SHOWN_CHARACTERS, as_text


@dataclass
class FixState:
    """One loop. `round` and `result`: of the last round that came to one, whose work the next repair begins with.

    `broke`: a round after that one ended without a result. `verifying` is the id of a round that runs.
    """

    request: FixLoopInput
    round: RoundInput
    result: RoundResult
    tally: Tally
    iterations: list[Iteration] = field(default_factory=list)
    broke: bool = False
    loop: int = 0
    doing: str = "deciding"
    verifying: str = ""
    paused: bool = False

    @classmethod
    def of(cls, request: FixLoopInput) -> FixState:
        """At its beginning."""
        return cls(request=request, round=request.round, result=request.result, tally=request.tally)

    @property
    def progress(self) -> FixProgress:
        """As its query answers it."""
        return FixProgress(
            loop=self.loop,
            of=self.request.budget.loops,
            doing=self.doing,
            round=self.verifying,
            iterations=tuple(self.iterations),
        )

    @property
    def repaired(self) -> str:
        """The manifest of the last round's work where repairs made it another than the worker's, empty otherwise."""
        then, now = self.request.result.frozen, self.result.frozen
        return now.head if then and now and now.head != then.head else ""

    @property
    def verdict(self) -> str:
        """The last round's, in a few words."""
        outcome, confidence = self.result.decision.outcome.value, self.result.confidence
        return f"{outcome} ({confidence})" if confidence else outcome

    def does(self, doing: str, verifying: str = "") -> None:
        """It has come to that."""
        self.doing, self.verifying = doing, verifying
        workflow.set_current_details(self.details())

    def came_to(
        self, ending: Ending, trigger: str = "", reason: str = "", notes: tuple[str, ...] = ()
    ) -> FixLoopResult:
        """What the loop answers, before anything of it is placed or filed."""
        return FixLoopResult(
            ending=ending,
            trigger=trigger,
            reason=reason,
            tally=self.tally,
            loops=self.tally.loops,
            of=self.request.budget.loops,
            iterations=tuple(self.iterations),
            attempt=self.round.attempt,
            frozen=self.result.frozen,
            result=self.result,
            notes=notes,
        )

    def details(self) -> str:
        """Bullets of Markdown."""
        order, of = self.request.round.order, self.request.budget.loops
        doing = self.doing.upper()
        lines = [f"**{as_text(doing)}** {as_text(order.title[:SHOWN_CHARACTERS])}", ""]
        lines += [_line(iteration, of) for iteration in self.iterations]
        if self.loop > self.request.tally.loops + len(self.iterations):
            where = f" in {self.verifying}" if self.verifying else ""
            lines.append(_as_line("▸", f"loop {self.loop} of {of}: {self.doing}{where}"))
        return "\n".join(lines)


def _as_line(mark: str, text: str) -> str:
    """A bullet of Markdown that shows `text` as it is."""
    return f"- {mark} {as_text(text[:SHOWN_CHARACTERS])}"


def _line(iteration: Iteration, of: int) -> str:
    said = [part for part in (iteration.answer, iteration.outcome.replace("_", " "), iteration.why) if part]
    mark = "?" if iteration.why else "✓" if iteration.outcome == "verified" else "✗"
    return _as_line(mark, f"loop {iteration.loop} of {of}: {', '.join(said)}")
