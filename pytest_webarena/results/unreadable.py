"""What commands say of trials that are in no figure, for their record can't be read."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_webarena.results.rundir import Unreadable

__all__ = ["name_unreadable"]


def name_unreadable(unreadable: Sequence[Unreadable]) -> int:
    """Name them on stderr. The exit code of a command that met them: 1, or 0 when there are none."""
    for each in unreadable:
        print(f"can't be read, and in no figure: {each}", file=sys.stderr)
    return 1 if unreadable else 0
