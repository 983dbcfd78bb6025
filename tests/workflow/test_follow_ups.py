"""The auditor asks and the worker answers: real todos and rounds, with an auditor that says what it is told to."""

from __future__ import annotations

from typing import Any

from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Replayer

from domain.claims.claim import ClaimedEvidence
from domain.requests import Answer, Override, Respond
from domain.todo import Gate, Todo
from tests.workflow.lives import ANN, WORKER, Life, claim_of, living, until, worked
from tests.workflow.scripted_role import APPROVED, LOOKED, Sayings, asking
from workflows.verification import VerificationWorkflow

CHECKED: Any = {"checks": [{"name": "tests", "command": "run tests"}]}
COMMAND = {"command": "./agent.sh", "timeout": 60.0}
DIALOGUE = ("follow_up_asked", "follow_up_answered", "follow_up_expired")


async def claimed(life: Life) -> None:
    await life.started()
    await life.claims()


async def asked(life: Life, number: int) -> Todo:
    """Wait until that question is open."""

    async def is_open() -> bool:
        question = (await life.state()).question
        return question is not None and question.round == number

    await until(is_open)
    return await life.state()


async def answers(life: Life, number: int) -> Answer:
    log = ClaimedEvidence(label="log", type="command_output", data=f"log {number}")
    return await life.ask("respond", Respond(actor=WORKER, answer=f"answer {number}", additional_evidence=[log]))


def dialogue(life: Life) -> list[tuple[str, Any, str]]:
    return [(row.action, row.payload["round"], str(row.actor)) for row in life.rows(*DIALOGUE)]


async def test_three_questions_are_answered_and_then_there_is_a_verdict(server: WorkflowEnvironment) -> None:
    said = Sayings([LOOKED, *(asking(f"question {number}", seconds=1.5) for number in (1, 2, 3)), APPROVED])
    async with living(server, audited=said, verification=CHECKED) as life:
        await claimed(life)
        for number in (1, 2, 3):
            question = (await asked(life, number)).question
            assert question is not None
            assert (question.question, question.of, question.evidence_requested) == (
                f"question {number}",
                3,
                ("the log of it",),
            )
            assert (await answers(life, number)).refused is None
        todo = await life.becomes("verified", "approved")
        assert dialogue(life) == [
            step
            for number in (1, 2, 3)
            for step in (("follow_up_asked", number, "auditor"), ("follow_up_answered", number, "worker:bot"))
        ]
        last = said.asked[-1]
        assert [(each.round, each.answer, len(each.evidence)) for each in last.answers] == [
            (number, f"answer {number}", 1) for number in (1, 2, 3)
        ]
        assert (last.part, last.questions, last.limit) == (3, 0, 300 - 10 - 3 * 1.5), (
            "a question takes none of its time"
        )
        assert todo.admitted is not None
        assert len(todo.admitted.evidence) == 4, "what was answered belongs to the claim"
        round = life.client.get_workflow_handle(f"round/{todo.session}/wo-1/1")
        replayer = Replayer(
            workflows=[VerificationWorkflow], data_converter=life.client.data_converter, debug_mode=True
        )
        assert (await replayer.replay_workflow(await round.fetch_history())).replay_failure is None


async def test_a_fourth_question_never_reaches_the_todo(server: WorkflowEnvironment) -> None:
    said = Sayings([LOOKED, *(asking(f"question {number}") for number in (1, 2, 3, 4)), APPROVED])
    async with living(server, audited=said, verification=CHECKED) as life:
        await claimed(life)
        for number in (1, 2, 3):
            await asked(life, number)
            await answers(life, number)
        await life.waits()
        assert len(life.rows("follow_up_asked")) == 3
        (decided,) = life.rows("audit_completed")
        assert (decided.payload["outcome"], str(decided.actor)) == ("inconclusive", "harness")
        refused = (await answers(life, 4)).refused
        assert refused is not None


async def test_a_worker_that_is_silent_still_gets_a_verdict(server: WorkflowEnvironment) -> None:
    said = Sayings([LOOKED, asking("which test?"), APPROVED])
    quick = {"follow_up_timeout": 0.5, "follow_ups": 1}
    async with living(server, audited=said, verification=CHECKED, safeguards=quick) as life:
        await claimed(life)
        await life.becomes("verified", "approved")
        assert dialogue(life) == [("follow_up_asked", 1, "auditor"), ("follow_up_expired", 1, "system")]
        assert [(each.round, each.answer) for each in said.asked[-1].answers] == [(1, None)]


async def test_a_pause_keeps_the_question_open(server: WorkflowEnvironment) -> None:
    said = Sayings([LOOKED, asking("which test?"), APPROVED])
    async with living(server, audited=said, verification=CHECKED) as life:
        await claimed(life)
        await asked(life, 1)
        await life.says(Gate(status="paused"))
        question = (await life.state()).question
        assert question is not None
        assert (question.deadline, question.left is None) == (None, False), "its clock stands still"
        refused = (await answers(life, 1)).refused
        assert refused is not None
        assert refused.code == "session_paused"
        assert (len(said.asked), life.rows("follow_up_expired")) == (2, [])
        await life.says(Gate())
        assert (await answers(life, 1)).refused is None
        await life.becomes("verified", "approved")


async def test_a_human_who_decides_meanwhile_ends_the_round(server: WorkflowEnvironment) -> None:
    said = Sayings([LOOKED, asking("which test?"), APPROVED])
    allowed = {"direct_approval_allowed": True}
    async with living(server, audited=said, verification=CHECKED, override_policy=allowed) as life:
        await claimed(life)
        await asked(life, 1)
        answer = await life.ask("override", Override(actor=ANN, kind="direct", reason="seen by me"))
        assert (answer.refused, answer.status, answer.review_status) == (None, "verified", "overridden")
        await life.has("round_ignored")
        assert len(life.rows("verification_cancelled")) == 1
        assert (await life.state()).question is None
        assert len(said.asked) == 2, "nobody is asked any more"
        assert (await answers(life, 1)).refused is not None


async def test_a_pass_that_nobody_waits_for_any_more_is_ended(server: WorkflowEnvironment) -> None:
    said = Sayings([APPROVED], seconds=300.0)
    allowed = {"direct_approval_allowed": True}
    async with living(server, audited=said, verification=CHECKED, override_policy=allowed) as life:
        await claimed(life)

        async def begun() -> bool:
            return bool(said.asked)

        await until(begun)
        await life.ask("override", Override(actor=ANN, kind="direct", reason="seen by me"))
        await life.has("verification_cancelled")
        assert said.cancelled == 1


async def test_a_worker_command_answers(server: WorkflowEnvironment) -> None:
    said = Sayings([LOOKED, asking("which test?"), APPROVED])
    async with living(server, audited=said, verification=CHECKED, worker=COMMAND) as life:
        life.script.works = [worked(claim_of("did it")), worked(answer="the last one")]
        await life.session.signal("mean", args=["wo-1", Gate(turn=True)])
        await life.says(Gate(turn=True))
        await life.becomes("verified", "approved")
        assert [work.drive for work in life.script.worked] == [1, 2]
        question = life.script.worked[1].todo.question
        assert question is not None
        assert question.question == "which test?"
        assert dialogue(life)[1:] == [("follow_up_answered", 1, "worker:command")]
        assert said.asked[-1].answers[0].answer == "the last one"


BROKEN = worked(problems=("answer: is no JSON",))


async def test_a_worker_command_that_cannot_answer_is_silent_and_no_more(server: WorkflowEnvironment) -> None:
    said = Sayings([LOOKED, asking("which test?"), APPROVED])
    limits = {"follow_up_timeout": 2.0}
    async with living(server, audited=said, verification=CHECKED, worker=COMMAND, safeguards=limits) as life:
        life.script.works = [worked(claim_of("did it")), BROKEN, BROKEN, BROKEN]
        await life.session.signal("mean", args=["wo-1", Gate(turn=True)])
        await life.says(Gate(turn=True))
        todo = await life.becomes("verified", "approved")
        assert (todo.refused_drives, life.rows("escalated")) == (0, [])
        assert dialogue(life)[1:] == [("follow_up_expired", 1, "system")]


async def test_a_worker_command_that_cannot_answer_is_started_three_times(server: WorkflowEnvironment) -> None:
    said = Sayings([LOOKED, asking("which test?"), APPROVED])
    async with living(server, audited=said, verification=CHECKED, worker=COMMAND) as life:
        life.script.works = [worked(claim_of("did it")), BROKEN, BROKEN, BROKEN]
        await life.session.signal("mean", args=["wo-1", Gate(turn=True)])
        await life.says(Gate(turn=True))

        async def given_up() -> bool:
            return (await life.state()).refused_drives == 3

        await until(given_up)
        assert (await answers(life, 1)).refused is None, "the question is open to others"
        todo = await life.becomes("verified", "approved")
        assert [work.drive for work in life.script.worked] == [1, 2, 3, 4]
        assert (todo.refused_drives, life.rows("escalated")) == (0, [])
        assert dialogue(life)[1:] == [("follow_up_answered", 1, "worker:bot")]
