"""What the tiny app says of its processes."""

from __future__ import annotations

import re

__all__ = ["number"]


def number(text: str, name: str) -> int:
    """What the tiny app says of itself as ``name=number``."""
    found = re.search(rf"{name}=(\d+)", text)
    assert found, text
    return int(found[1])
