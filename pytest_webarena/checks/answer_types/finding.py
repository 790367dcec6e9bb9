"""Where an answer states a value, and the protocol of values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pytest_webarena.checks.answer_types.tokens import Token

__all__ = ["Finding", "Value"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Where an answer states a value."""

    stated: frozenset[int] = frozenset()
    """Indices of the tokens that state it; empty if the answer does not state it."""
    in_part: str = ""
    """Why the answer may state it in a way that is not read; empty if it does not state it at all."""
    negated: bool = False
    """Whether the value is an absence, so that words of negation belong to it."""


class Value(Protocol):
    """A wanted value."""

    @property
    def count(self) -> int:
        """Number of names that it consists of; 0 for numbers and the like, whose count says nothing."""

    def find(self, answer: Sequence[Token], question: str) -> Finding:
        """Returns where the answer states the value."""

    def instruction(self) -> str:
        """Returns the sentence that asks an agent for a value of this type. It must not depend on the value."""
