"""Choices that look like chance and are the same on every machine."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

__all__ = ["Chance"]

T = TypeVar("T")


class Chance:
    """A stream of choices that a text decides. It uses `random.Random.random` alone, the same in every Python."""

    def __init__(self, seed: str) -> None:
        self._next = random.Random(seed).random

    def happens(self, probability: float) -> bool:
        """True that often."""
        return self._next() < probability

    def between(self, low: float, high: float) -> float:
        """A number from ``low`` to ``high``."""
        return low + (high - low) * self._next()

    def whole(self, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high``, both included."""
        return low + int((high - low + 1) * self._next())

    def one_of(self, items: Sequence[T]) -> T:
        """One of ``items``."""
        return items[int(len(items) * self._next())]

    def some_of(self, items: Sequence[T], number: int) -> list[T]:
        """``number`` different ones of ``items``, in an order of their own; all, if there are fewer."""
        remaining, found = list(items), list[T]()
        while remaining and len(found) < number:
            found.append(remaining.pop(int(len(remaining) * self._next())))
        return found
