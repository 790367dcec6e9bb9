"""Gives an answer that the rules can't decide to the judge model; without one it stays undecided."""

from __future__ import annotations

from pytest_webarena.checks.judge_protocol import Grade, JudgeOff, JudgeUnreadable, Question, QuestionKind
from pytest_webarena.checks.kind import Judgement, View
from pytest_webarena.errors import JudgeError
from pytest_webarena.text import clip

__all__ = ["ask_judge", "judge_or_undecided", "said"]


def ask_judge(question: Question, view: View) -> Grade | JudgeOff | JudgeError:
    """Returns the judge model's grade, or why it gave none."""
    if view.asker is None:
        return JudgeOff("it needs a judge model, and there is none (--judge)")
    try:
        return view.asker.ask(question)
    except (JudgeOff, JudgeError) as error:
        return error


def judge_or_undecided(kind: QuestionKind, reference: str, answer: str, view: View, why: str) -> Judgement:
    """Returns the judge model's decision on an answer, or an undecided judgement.

    Args:
        kind: what the model is asked.
        reference: the reference answer, or the true reason why the task can't be done.
        answer: the agent's answer.
        view: what the judgement may use; its judge model is asked if there is one.
        why: why the rules can't decide.
    """
    actual = f'"{answer}"'
    match ask_judge(Question(kind=kind, intent=view.intent, reference=reference, answer=answer), view):
        case Grade() as grade:
            holds = grade.decision == "correct"
            return Judgement.of(holds, expected=reference, actual=actual, why=f"{why}; {said(grade)}")
        case JudgeOff():
            return Judgement.undecided(expected=reference, actual=actual, why=why)
        case JudgeUnreadable(cause="judge") as error:
            return Judgement.undecided(expected=reference, actual=actual, why=f"{why}; {error}")
        case error:  # the model can't be reached, or refuses this answer alone
            return Judgement.unknown(expected=reference, actual=actual, why=f"{why}; {error}", cause=error.cause)


def said(grade: Grade) -> str:
    """Returns a grade, with its reply, as the reason of a judgement."""
    return f"{grade.model} ({grade.prompt}): {grade.decision.replace('_', ' ')}: {clip(grade.reply, 300)}"
