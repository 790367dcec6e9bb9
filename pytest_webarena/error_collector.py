"""Collects the errors of a file that is read line by line, and reports them together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pytest_webarena.errors import UsageError

__all__ = ["ErrorCollector"]

_MOST = 50
"""Maximum number of lines whose errors are reported."""


class ErrorCollector:
    """Collects the errors of a file's lines, so that one message reports all of them.

    >>> collector = ErrorCollector()
    >>> for number in (1, 2):
    ...     with collector.of_one():
    ...         raise UsageError(f"line {number}: expected a name, found none")
    >>> collector.raise_errors()
    Traceback (most recent call last):
    pytest_webarena.errors.UsageError: line 1: expected a name, found none
    line 2: expected a name, found none
    """

    def __init__(self) -> None:
        self._messages: list[str] = []

    @contextmanager
    def of_one(self) -> Iterator[None]:
        """Context manager around the work on one line: stores its `UsageError`."""
        try:
            yield
        except UsageError as error:
            self._messages.append(str(error))

    def raise_errors(self) -> None:
        """Raise one `UsageError` with all stored errors, if there are any."""
        if self._messages:
            more = len(self._messages) - _MOST
            raise UsageError("\n".join([*self._messages[:_MOST], *([f"… and {more} more"] if more > 0 else [])]))
