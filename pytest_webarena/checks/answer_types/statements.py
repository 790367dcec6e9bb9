"""Yes, no, and the statement that there is no such thing, as wanted values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_webarena.checks.answer_types.accounting import is_content, is_negation, stem
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
        if rest and any(is_negation(token.plain) for token in tokens(question)):
            return Finding(in_part="it says more than yes or no to a question that denies")
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
    """Why; its words are accounted for, and as a whole belong to the statement."""

    def find(self, answer: Sequence[Token], question: str) -> Finding:
        if self._claims_something(answer):
            return Finding(in_part="it says more than that there is none")
        for length in (1, 2):
            alone = len(answer) <= length or answer[length].new_clause or answer[length].plain in _REASONS
            if " ".join(token.plain for token in answer[:length]) in _IMPOSSIBLE and alone:
                reasoned = [each.plain for each in answer[length:]] == [each.plain for each in tokens(self.reason)]
                return Finding(frozenset(range(len(answer) if reasoned else length)), negated=True)
        # A denial in other words may say what the agent did not do, or that there is no such value.
        spoken = {token.plain for token in answer}
        reason = {token.plain for token in tokens(self.reason) if is_content(token)}
        if any(is_negation(token.plain) for token in tokens(self.reason)):
            reason = set()  # without a negation, its words say the contrary
        if any(map(is_negation, spoken)) or spoken & (reason | _IMPOSSIBLE | _FIRST_PERSON | {"null"}):
            return Finding(in_part="it may say that it can't be done, and is not N/A")
        return Finding()

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
        "n/a", "na", "not achievable", "unachievable", "infeasible", "not feasible", "impossible", "not possible",
        "not applicable",
    }
)  # fmt: skip
"""How an answer says that the task can't be done. "None" and "not available" may also be the value."""
_REFUSALS = frozenset(word for form in _IMPOSSIBLE for word in form.split()) | {"none", "null", "available"}
_REASONS = frozenset("because since as".split())  # noqa: SIM905
_FIRST_PERSON = frozenset("i me my we our i'm i've we've".split())  # noqa: SIM905
