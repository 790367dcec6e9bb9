"""Report of trials that no figure includes, because their record can't be read."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_webarena.results.stored_records import Unreadable

__all__ = ["name_unreadable"]


def name_unreadable(unreadable: Sequence[Unreadable]) -> int:
    """Name the trials on stderr; return the command's exit code: 1, or 0 when there are none."""
    for each in unreadable:
        print(f"can't be read, and in no figure: {each}", file=sys.stderr)
    return 1 if unreadable else 0
