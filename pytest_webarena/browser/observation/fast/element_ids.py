"""Element ids of a session: which have been given, and for which page."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

__all__ = ["Numbers"]


@dataclass(slots=True)
class Numbers:
    """Counts up and never gives a number twice: not after a navigation, not in another tab or frame."""

    next: int = 1
    """The smallest number not given yet."""
    _spans: list[tuple[int, int, Hashable]] = field(default_factory=list)
    """First number, the one after the last, and the page they were given on: by a name, for a page that were held here
    would hold the context whose numbers these are."""

    @classmethod
    def of(cls, context: Any) -> Numbers:
        """Those of a browser context: one session has one, and each begins at 1, so that runs can be compared."""
        return _OF_CONTEXT.setdefault(context, cls())

    def taken_until(self, end: int, page: Hashable) -> None:
        """All numbers below ``end`` that were free have been given to elements of ``page``.

        >>> numbers = Numbers()
        >>> numbers.taken_until(5, "page 1")
        >>> numbers.page_of(4), numbers.page_of(5), numbers.next
        ('page 1', None, 5)
        """
        if end <= self.next:
            return
        if self._spans and self._spans[-1][2] == page:
            self._spans[-1] = (self._spans[-1][0], end, page)
        else:
            self._spans.append((self.next, end, page))
        self.next = end

    def give_back(self, first: int) -> None:
        """The numbers from ``first`` on were shown to nobody, and what had them is gone.

        >>> numbers = Numbers()
        >>> numbers.taken_until(5, "page 1")
        >>> numbers.taken_until(9, "page 2")
        >>> numbers.give_back(7)
        >>> numbers.page_of(6), numbers.page_of(7), numbers.next
        ('page 2', None, 7)
        """
        self.next = min(self.next, first)
        self._spans = [(begin, min(end, first), page) for begin, end, page in self._spans if begin < first]

    def take(self, page: Hashable) -> int:
        """One number for an element of ``page``."""
        number = self.next
        self.taken_until(number + 1, page)
        return number

    def page_of(self, number: int) -> Hashable | None:
        """Where ``number`` was given; None when it never was."""
        for first, end, page in reversed(self._spans):
            if first <= number < end:
                return page
        return None


_OF_CONTEXT: WeakKeyDictionary[Any, Numbers] = WeakKeyDictionary()
