"""Element ids of a session, with the page of each."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

__all__ = ["IdCounter"]


@dataclass(slots=True)
class IdCounter:
    """Counter whose numbers are unique in a session, across navigations, tabs and frames."""

    next: int = 1
    """Smallest number that is not assigned yet."""
    _spans: list[tuple[int, int, Hashable]] = field(default_factory=list)
    """First number, end and page of each range. The page is a key, because a reference to it would keep the context
    alive, which is the weak key of this object."""

    @classmethod
    def of(cls, context: Any) -> IdCounter:
        """Return the counter of a browser context. Each begins at 1, so that runs are comparable."""
        return _OF_CONTEXT.setdefault(context, cls())

    def taken_until(self, end: int, page: Hashable) -> None:
        """Assign all free numbers below ``end`` to elements of ``page``.

        >>> numbers = IdCounter()
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
        """Release the numbers from ``first`` on, which were never shown and whose elements no longer exist.

        >>> numbers = IdCounter()
        >>> numbers.taken_until(5, "page 1")
        >>> numbers.taken_until(9, "page 2")
        >>> numbers.give_back(7)
        >>> numbers.page_of(6), numbers.page_of(7), numbers.next
        ('page 2', None, 7)
        """
        self.next = min(self.next, first)
        self._spans = [(begin, min(end, first), page) for begin, end, page in self._spans if begin < first]

    def take(self, page: Hashable) -> int:
        """Assign one number to an element of ``page``."""
        number = self.next
        self.taken_until(number + 1, page)
        return number

    def page_of(self, number: int) -> Hashable | None:
        """Return the page of ``number``; None if it was never assigned."""
        for first, end, page in reversed(self._spans):
            if first <= number < end:
                return page
        return None


_OF_CONTEXT: WeakKeyDictionary[Any, IdCounter] = WeakKeyDictionary()
