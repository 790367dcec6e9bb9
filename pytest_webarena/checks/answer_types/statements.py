"""Yes, no, and the statement that there is no such thing, as wanted values."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_webarena.checks.answer_types.accounting import denials, is_content, is_negation, stem
from pytest_webarena.checks.answer_types.finding import Finding
from pytest_webarena.checks.answer_types.tokens import Token, tokens

__all__ = ["Absence", "YesNo"]


@dataclass(frozen=True, slots=True, kw_only=True)
class YesNo:
    """Yes or no."""

    count = 0

    value: bool

    def find(self, answer: Sequence[Token], question: str) -> Finding:
        stated = {index: _YES_NO[token.plain] for index, token in enumerate(answer) if _is_reply(answer, index)}
        if not stated or len(set(stated.values())) > 1:
            return Finding(in_part="it does not say yes or no alone" if answer else "")
        if self.value not in stated.values():
            return Finding()
        rest = [token for index, token in enumerate(answer) if index not in stated]
        affirms = any(map(is_content, rest)) and not any(is_negation(token.plain) for token in rest)
        if not self.value and (affirms or any(_YES_NO.get(token.plain) for token in rest)):
            return Finding(in_part="it says no, and then something else")
        return Finding(frozenset(stated), negated=not self.value)

    def __str__(self) -> str:
        return "yes" if self.value else "no"

    def instruction(self) -> str:
        return "Answer with 'yes' or 'no' alone."


_YES_NO = {"yes": True, "true": True, "no": False, "false": False}
_SUBJECTS = frozenset("it they he she you there that this we i".split())  # noqa: SIM905


def _is_reply(answer: Sequence[Token], index: int) -> bool:
    """Whether the token at ``index`` is a reply of its own, and not part of ``no reviews``."""
    if answer[index].plain not in _YES_NO:
        return False
    following = answer[index + 1] if index + 1 < len(answer) else None
    alone = following is None or following.new_clause
    return alone or (answer[index].new_clause and following is not None and following.plain in _SUBJECTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Absence:
    """The statement that there is no such thing, or that the task can't be done."""

    count = 0

    reason: str
    """Why; its words are accounted for."""

    def find(self, answer: Sequence[Token], question: str) -> Finding:
        if self._claims_something(answer):
            return Finding(in_part="it says more than that there is none")
        for length in (1, 2):
            alone = len(answer) <= length or answer[length].new_clause or answer[length].plain in _REASONS
            if " ".join(token.plain for token in answer[:length]) in _IMPOSSIBLE and alone:
                return Finding(frozenset(range(length)), negated=True)
        reason = {token.plain for token in tokens(self.reason) if is_content(token)}
        speaks_of_it = any(is_negation(token.plain) or token.plain in reason for token in answer)
        if speaks_of_it and not any(is_negation(token.plain) for token in tokens(self.reason)):
            # "The number is unlisted": words alone do not show whether an answer gives such a reason or denies it.
            return Finding(in_part="it speaks of the reason, and is not N/A")
        if any(token.plain in ("impossible", "infeasible", "unachievable") for token in answer):
            return Finding(in_part="it calls something impossible")
        if any(token.plain in _FIRST_PERSON for token in answer):
            return Finding(in_part="it says what the agent did or could not do")
        if any(_is_reply(answer, index) for index in range(len(answer))) or all(is_negation(t.plain) for t in answer):
            return Finding(in_part="it answers the question" if answer else "")
        denying = denials(answer, question)
        if not denying and any(is_negation(token.plain) for token in answer):
            return Finding(in_part="it denies in the words of the question")
        if any(index + 1 < len(answer) and answer[index + 1].plain in _EVERY for index in denying):
            return Finding(in_part="it denies that all are so")
        detached = [index for index in denying if index + 1 == len(answer) or answer[index + 1].new_clause]
        if denying and detached == denying and len(answer) > len(denying):
            return Finding(in_part="it says no, and then something else")
        clauses = itertools.accumulate(token.new_clause for token in answer)
        per_clause = Counter(clause for token, clause in zip(answer, clauses, strict=True) if is_negation(token.plain))
        if max(per_clause.values(), default=0) > 1:
            return Finding(in_part="it denies twice")
        return Finding(frozenset(denying), negated=True)

    def _claims_something(self, answer: Sequence[Token]) -> bool:
        """Whether a clause neither denies nor gives the reason: ``N/A. Deleted.``, ``there is none, so I added it``."""
        reason = {stem(token.plain) for token in tokens(self.reason)}
        clauses: list[list[Token]] = []
        for token in answer:
            if token.new_clause or token.plain == "so":
                clauses.append([])
            clauses[-1].append(token)
        denying = [any(is_negation(t.plain) or t.plain in _REFUSALS for t in clause) for clause in clauses]
        new = [any(is_content(t) and stem(t.plain) not in reason for t in clause) for clause in clauses]
        return any(denying) and any(more and not denies for more, denies in zip(new, denying, strict=True))

    def __str__(self) -> str:
        return f'"N/A" ({self.reason})'

    def instruction(self) -> str:
        return ""


_IMPOSSIBLE = frozenset(
    {
        "n/a", "na", "none", "null", "not achievable", "unachievable", "infeasible", "not feasible", "impossible",
        "not possible", "not available", "not applicable",
    }
)  # fmt: skip
_REFUSALS = frozenset(word for form in _IMPOSSIBLE for word in form.split())
_REASONS = frozenset("because since as".split())  # noqa: SIM905
_EVERY = frozenset("all every each everything everyone".split())  # noqa: SIM905
_FIRST_PERSON = frozenset("i me my we our i'm i've we've".split())  # noqa: SIM905
