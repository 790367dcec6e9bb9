"""What is wrong with a file of lines, told all at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pytest_webarena.errors import UsageError

__all__ = ["ErrorCollector"]

_MOST = 50
"""Lines of one file of which it is told what is wrong."""


class ErrorCollector:
    """Collects what is wrong with the lines of a file, so that all of it is told at once and nobody mends line by line.

    >>> wrongs = Wrongs()
    >>> for number in (1, 2):
    ...     with wrongs.of_one():
    ...         raise UsageError(f"line {number}: expected a name, found none")
    >>> wrongs.tell()
    Traceback (most recent call last):
    pytest_webarena.errors.UsageError: line 1: expected a name, found none
    line 2: expected a name, found none
    """

    def __init__(self) -> None:
        self._told: list[str] = []

    @contextmanager
    def of_one(self) -> Iterator[None]:
        """Around what is done with one line: keeps its `UsageError`."""
        try:
            yield
        except UsageError as error:
            self._told.append(str(error))

    def tell(self) -> None:
        """`UsageError` with all that was wrong, if anything was."""
        if self._told:
            more = len(self._told) - _MOST
            raise UsageError("\n".join([*self._told[:_MOST], *([f"… and {more} more"] if more > 0 else [])]))
