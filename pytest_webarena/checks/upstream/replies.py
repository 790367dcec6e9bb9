"""How the original harness reads a judge model's reply."""

from __future__ import annotations

from pytest_webarena.checks.judge_protocol import QuestionKind

__all__ = ["loosely"]


def loosely(kind: QuestionKind, reply: str) -> bool | None:
    """Whether the reply passes the answer by the original's reading; None where the original raises.

    >>> loosely("equivalent", "That is not correct."), loosely("unachievable", "Not the same.")
    (True, True)
    """
    reply = reply.lower()
    bad, good = (("incorrect",), "correct") if kind == "equivalent" else (("different",), "same")
    if any(word in reply for word in bad) or (kind == "equivalent" and "partially correct" in reply):
        return False
    return True if good in reply else None
