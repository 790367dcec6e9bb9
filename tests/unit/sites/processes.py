"""Process numbers that the tiny app reports."""

from __future__ import annotations

import re

__all__ = ["number"]


def number(text: str, name: str) -> int:
    """Return the number that the tiny app reports as ``name=number``."""
    found = re.search(rf"{name}=(\d+)", text)
    assert found, text
    return int(found[1])
