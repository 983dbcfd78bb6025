"""What each stage of a role does: what it is shown, what it may answer, how that is held against the evidence.

One class a stage; `runtime` has the table of them. It knows no library of models. Source: DESIGN 4 "Role passes".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

from adapters.roles.earlier import Earlier
from adapters.roles.editing import Edit
from adapters.roles.hearings import load_argued, load_judged
from adapters.roles.packets import load_packet
from adapters.roles.snapshot_tools import Glob, Grep, Limits, Read
from adapters.roles.tool import Tool
from adapters.roles.workbench import Workbench
from domain.feedback import RetryContext
from domain.ports import EvidenceStore
from domain.roles.argued import Case, Judgement
from domain.roles.citations import Asked, Pieces, asked_of, assessed_of, audit_of, faults
from domain.roles.commission import design_packet, strategy_packet
from domain.roles.designed import Specification, TestPlan
from domain.roles.drafting import faults_of_plan, faults_of_specification
from domain.roles.opinion import FirstLook, Opinion, Question
from domain.roles.packet import Packet, one_line
from domain.roles.passes import PassInput
from domain.roles.pleading import faults_of_case, faults_of_judgement, ruled_of
from domain.roles.repaired import Repair, faults_of_repair, word_of
from domain.roles.repairing import repair_packet
from domain.roles.results import Fixed
from domain.tree import Manifest

Answer = FirstLook | Opinion | Question | Case | Judgement | Specification | TestPlan | Repair


class Task(ABC):
    """A stage, of one pass. `answers`: the shapes that it may answer in."""

    answers: ClassVar[tuple[type[Answer], ...]]

    def __init__(self, store: EvidenceStore, request: PassInput, earlier: Earlier) -> None:
        self.store, self.request, self.earlier = store, request, earlier

    @abstractmethod
    def packet(self) -> Packet:
        """What the model is shown. It is asked for once, before any answer. Raises `Unavailable`."""

    @abstractmethod
    def faults(self, answer: Answer, pieces: Pieces) -> tuple[str, ...]:
        """Why `answer` may not stand; `pieces` is all that was shown, tools' answers among them."""

    @abstractmethod
    def filled(self, answer: Answer, pieces: Pieces) -> dict[str, Any]:
        """The fields of `PassResult` that an answer that stands fills. Raises `Unavailable`."""

    def tools(self) -> Sequence[Tool]:
        """Tools of its own, which stand for those that a worker process has for every pass; none: it has those."""
        return ()

    @property
    def disputed(self) -> Sequence[str]:
        """The ids of what is argued about."""
        return [one.criterion for one in self.request.disputes]


class BlindLook(Task):
    """The auditor, before it knows what the worker says."""

    answers: ClassVar[tuple[type[Answer], ...]] = (FirstLook,)

    def packet(self) -> Packet:
        """The todo and what was observed."""
        return load_packet(self.store, self.request)

    def faults(self, answer: Answer, pieces: Pieces) -> tuple[str, ...]:
        """By the rules of citations."""
        assert isinstance(answer, FirstLook | Opinion | Question)
        return faults(answer, pieces, self._asked)

    def filled(self, answer: Answer, pieces: Pieces) -> dict[str, Any]:
        """Each criterion's line, and the audit that an opinion comes to."""
        match answer:
            case Opinion():
                return {"audit": audit_of(answer, pieces, self._asked), "assessed": assessed_of(answer)}
            case FirstLook():
                return {"assessed": assessed_of(answer)}
        return {}

    @cached_property
    def _asked(self) -> Asked:
        given = self.request
        return asked_of(given.round.order, given.results, given.round.authored, given.questions)


class Audit(BlindLook):
    """The auditor, with everything that the worker says."""

    answers: ClassVar[tuple[type[Answer], ...]] = (Opinion, Question)

    def packet(self) -> Packet:
        """With the claim, and what was said of earlier attempts."""
        return load_packet(self.store, self.request, self.earlier(self.request))


class Argue(Task):
    """The advocate or the critic: a case for each disputed criterion."""

    answers: ClassVar[tuple[type[Answer], ...]] = (Case,)

    def packet(self) -> Packet:
        """The same for both sides."""
        return load_argued(self.store, self.request)

    def faults(self, answer: Answer, pieces: Pieces) -> tuple[str, ...]:
        """Every disputed criterion once, every quote in its place."""
        assert isinstance(answer, Case)
        return faults_of_case(answer, pieces, self.disputed)

    def filled(self, answer: Answer, pieces: Pieces) -> dict[str, Any]:  # noqa: ARG002 - the blob of the case is all
        """Nothing: a judge is given the blob."""
        return {}


class Judge(Task):
    """The judge, after both sides."""

    answers: ClassVar[tuple[type[Answer], ...]] = (Judgement,)

    def packet(self) -> Packet:
        """What both sides were shown, and what they argue, in the order that was drawn."""
        return load_judged(self.store, self.request)

    def faults(self, answer: Answer, pieces: Pieces) -> tuple[str, ...]:
        """Every disputed criterion once, a PASS by what the harness observed."""
        assert isinstance(answer, Judgement)
        return faults_of_judgement(answer, pieces, self.disputed)

    def filled(self, answer: Answer, pieces: Pieces) -> dict[str, Any]:  # noqa: ARG002 - its quotes have been looked up
        """The rulings."""
        assert isinstance(answer, Judgement)
        return {"rulings": ruled_of(answer)}


class Design(Task):
    """The designer: a specification of what the order asks for."""

    answers: ClassVar[tuple[type[Answer], ...]] = (Specification,)

    def packet(self) -> Packet:
        """The order, and what the base is made of."""
        return design_packet(self.request.round.order, self.request.scope.tree, self.paths())

    def paths(self) -> list[str]:
        """The files of the base."""
        return [entry.path for entry in Manifest.decode(self.store.get(self.request.scope.tree)).entries]

    def faults(self, answer: Answer, pieces: Pieces) -> tuple[str, ...]:  # noqa: ARG002 - a specification quotes nothing
        """Ids that mean something, a criterion for each requirement."""
        assert isinstance(answer, Specification)
        return faults_of_specification(answer)

    def filled(self, answer: Answer, pieces: Pieces) -> dict[str, Any]:  # noqa: ARG002 - as above
        """The specification."""
        return {"specification": answer}


class Plan(Design):
    """The strategist: a check for each criterion of the specification."""

    answers: ClassVar[tuple[type[Answer], ...]] = (TestPlan,)

    def packet(self) -> Packet:
        """The specification, and of an earlier plan what may not count."""
        given = self.request
        return strategy_packet(given.round.order, given.scope.tree, self.paths(), self._specification, given.rejected)

    def faults(self, answer: Answer, pieces: Pieces) -> tuple[str, ...]:  # noqa: ARG002 - a plan quotes nothing
        """One check for each criterion, of a kind that a round can run by itself."""
        assert isinstance(answer, TestPlan)
        return faults_of_plan(answer, self._specification, self.request.rejected)

    def filled(self, answer: Answer, pieces: Pieces) -> dict[str, Any]:  # noqa: ARG002 - as above
        """The plan."""
        return {"plan": answer}

    @cached_property
    def _specification(self) -> Specification:
        return Specification.model_validate_json(self.store.get(self.request.specification))


class Fix(Task):
    """The fix builder: edits of the work, on a workbench of the pass's own."""

    answers: ClassVar[tuple[type[Answer], ...]] = (Repair,)

    def __init__(self, store: EvidenceStore, request: PassInput, earlier: Earlier) -> None:
        super().__init__(store, request, earlier)
        self._bench = Workbench(store, request.frozen, request.scope, request.round.order)

    def tools(self) -> Sequence[Tool]:
        """What reads the workbench, and `Edit`."""
        limits = Limits()
        return (Read(self._bench, limits), Grep(self._bench, limits), Glob(self._bench, limits), Edit(self._bench))

    def packet(self) -> Packet:
        """The order, what may be edited, and the feedback."""
        given = self.request
        feedback = RetryContext.model_validate_json(self.store.get(given.feedback))
        paths = [entry.path for entry in self._bench.tree.entries]
        changed = [change.path for change in given.scope.changed]
        return repair_packet(given.round.todo, given.round.order, given.scope.tree, paths, changed, feedback)

    def faults(self, answer: Answer, pieces: Pieces) -> tuple[str, ...]:  # noqa: ARG002 - a repair quotes nothing
        """One of the three words, and edits where it says so."""
        assert isinstance(answer, Repair)
        return faults_of_repair(answer, bool(self._bench.changed))

    def filled(self, answer: Answer, pieces: Pieces) -> dict[str, Any]:  # noqa: ARG002 - as above
        """The work with its edits; nothing of them where it could not apply."""
        assert isinstance(answer, Repair)
        word = word_of(answer)
        assert word is not None, "an answer that stands has been read"
        said = Fixed(kind=word.kind, answer=one_line(answer.result), reason=word.reason)
        if word.kind == "could_not_apply":
            return {"fixed": said}
        kept = self._bench.keep()
        made = {"head": kept.head, "head_files": kept.files, "head_bytes": kept.size, "patch": kept.patch}
        return {"fixed": said.model_copy(update={**made, "paths": kept.paths, "edits": self._bench.edits})}
