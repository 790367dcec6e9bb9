"""The ground of an impossible task: what an audit must not find on the pages that the task's account can reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from pytest_webarena.checks.answer_types.accounting import is_content
from pytest_webarena.checks.answer_types.amounts import amounts_in
from pytest_webarena.checks.answer_types.tokens import tokens
from pytest_webarena.checks.numbers import numbers_in
from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.record_shapes import Convert, Field, ListOf
from pytest_webarena.tasks.shapes import Fault, Text
from pytest_webarena.tasks.task_shapes import Accounts, reason_fault
from pytest_webarena.text import clip

if TYPE_CHECKING:
    from pytest_webarena.tasks.model import Task

__all__ = ["GROUND_FIELDS", "GROUND_KEYS", "REASON", "Ground", "Term", "declared_ground", "ground_of"]


@dataclass(frozen=True, slots=True)
class Term:
    """Words, or a number, that an audit looks for."""

    text: str
    number: Fraction | None = None
    """The value, if the text is a number."""

    @property
    def values(self) -> frozenset[Fraction]:
        """The values that the number may mean: of 45 %, also 0.45. Empty for words."""
        if self.number is None:
            return frozenset()
        return frozenset((self.number, self.number / 100 if self.text.endswith("%") else self.number))

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What makes a task impossible."""

    absent: tuple[Term, ...] = ()
    """Words and numbers that no page has."""
    controls: tuple[Term, ...] = ()
    """Words that no label of a link, button, field or option has."""
    about: str = ""
    """The thing to which this applies; empty: to everything."""
    visible_to: Mapping[str, str] = field(default_factory=dict)
    """Privileged accounts by site, which see all of it; empty: nobody does."""

    @property
    def terms(self) -> tuple[Term, ...]:
        """Everything that is looked for."""
        return (*self.absent, *self.controls)


def declared_ground(task: Task) -> Ground | None:
    """Returns the ground that one of the task's checks declares; None if none does."""
    pending = list(task.checks)
    while pending:
        check = pending.pop(0)
        if (found := getattr(check.spec, "ground", None)) is not None and isinstance(found, Ground):
            return found
        pending += check.children
    return None


def ground_of(given: Mapping[str, Any]) -> Ground | None:
    """Returns the ground that the keys of a check declare; None if they declare none."""
    if not (given["absent"] or given["absent_controls"]):
        return None
    return Ground(
        absent=given["absent"],
        controls=given["absent_controls"],
        about=given["about"],
        visible_to=given["visible_to"],
    )


def _has_words(text: str, _: Reading) -> Fault | None:
    if any(token.has_digit or is_content(token) for token in tokens(text)):
        return None
    return Fault("words that name something, or a number", f"'{clip(text)}'")


def _term(text: str, _: Reading) -> Term:
    words, numbers = tokens(text), numbers_in(text)
    if len(numbers) == 1 and numbers[0].text == text:
        return Term(text, numbers[0].value)
    number = next((amount.value for amount in amounts_in(words) if (amount.start, amount.end) == (0, len(words))), None)
    return Term(text, number)


def _reason(text: str, reading: Reading) -> Fault | None:
    """Refuse what says only that the task can't be done, which judges would read as the reason."""
    words = tokens(text)
    says_nothing = len(words) < 2 and (not words or words[0].plain in _NO_REASON)
    if says_nothing or reason_fault(text.strip(), reading):
        hint = "say why it can't be done: there is no such order"
        return Fault("the reason in words", f"'{clip(text)}'", hint)
    return None


_NO_REASON = frozenset(("n/a", "na", "unachievable", "infeasible", "impossible", "none", "on", "off"))
REASON = Text("the reason in words", strip=True, check=_reason, form="prose")

_TERM = Convert(Text("words or a number", strip=True, check=_has_words, form="prose"), _term)
_TERMS = ListOf(_TERM, or_one=True, label="words, a number, or a list of them", low=1)
GROUND_KEYS = ("absent", "absent_controls", "about", "visible_to")

GROUND_FIELDS: tuple[Field, ...] = (
    Field(
        key="absent",
        shape=_TERMS,
        default=(),
        default_text="none",
        doc=(
            "For `unachievable`: its ground, which [`--audit`](audit.md#impossible-tasks) attacks. These words and "
            "numbers are on no page that the task's account can reach. Words count as a whole, numbers by their value, "
            "also as the sum of a column."
        ),
        example="- answer: {unachievable: the shop lists no weights, type: number, absent: [gram, weight]}",
    ),
    Field(
        key="absent_controls",
        shape=_TERMS,
        default=(),
        default_text="none",
        doc=(
            "Like `absent`, but only labels of links, buttons, fields and options count. One word is a whole label, "
            "several may be a part of one."
        ),
        example="- answer: {unachievable: orders can't be cancelled, absent_controls: [cancel, cancel order]}",
    ),
    Field(
        key="about",
        shape=Text("a name", strip=True, check=_has_words, form="prose"),
        default="",
        default_text="everything",
        doc=(
            "The thing that `absent` and `absent_controls` apply to: pages with this name in their title or main "
            "heading, and on other pages what belongs to it: its row, card, entry or column, or what it labels. The "
            "audit fails if it finds no page or passage with it."
        ),
        example="- answer: {unachievable: it has no telephone, absent: telephone, about: Kettle Chapel}",
    ),
    Field(
        key="visible_to",
        shape=Accounts(anywhere=True),
        default={},
        default_text="nobody",
        doc=(
            "For tasks that need a permission: an account that has it, of the first site or by site, and not the "
            "task's own. The audit also visits as this account, and must find everything there that `absent` and "
            "`absent_controls` list."
        ),
        example="- answer: {unachievable: only the owner sees it, absent: 1204.5, visible_to: emma}",
    ),
)
