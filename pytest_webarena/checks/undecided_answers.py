"""Gives an answer that the rules can't decide to the judge model; without one it stays undecided."""

from __future__ import annotations

from pytest_webarena.checks.judge_protocol import JudgeOff, JudgeUnreadable, Question, QuestionKind
from pytest_webarena.checks.kind import Judgement, View
from pytest_webarena.errors import JudgeError
from pytest_webarena.text import clip

__all__ = ["judge_or_undecided"]


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
    if view.asker is None:
        return Judgement.undecided(expected=reference, actual=actual, why=why)
    try:
        grade = view.asker.ask(Question(kind=kind, intent=view.intent, reference=reference, answer=answer))
    except JudgeOff:
        return Judgement.undecided(expected=reference, actual=actual, why=why)
    except JudgeError as error:
        if isinstance(error, JudgeUnreadable) and error.cause != "agent":
            return Judgement.undecided(expected=reference, actual=actual, why=f"{why}; {error}")
        return Judgement.unknown(expected=reference, actual=actual, why=f"{why}; {error}", cause=error.cause)
    said = f"{grade.model} ({grade.prompt}): {grade.decision.replace('_', ' ')}: {clip(grade.reply, 300)}"
    return Judgement.of(grade.decision == "correct", expected=reference, actual=actual, why=f"{why}; {said}")
