"""Keeps secrets that an agent outside was given out of what is recorded of it."""

from __future__ import annotations

import os
from collections.abc import Sequence

__all__ = ["Secrets"]

_LENGTH = 8
"""Characters; shorter values are words that may stand anywhere."""


class Secrets:
    """Values of environment variables that were passed on by name: masked wherever the agent repeats them."""

    def __init__(self, names: Sequence[str]) -> None:
        values = {name: os.environ.get(name, "") for name in names}
        self._values = {value.encode(): f"[{name}]".encode() for name, value in values.items() if len(value) >= _LENGTH}

    def mask(self, data: bytes) -> bytes:
        """``data`` with ``[NAME]`` in place of each value."""
        for value, name in self._values.items():
            data = data.replace(value, name)
        return data
