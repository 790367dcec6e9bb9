"""What tests with real processes need."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

__all__ = ["DEADLINE", "alive", "number", "wait_until"]

DEADLINE = 15.0
"""Seconds within which anything must happen."""


def number(text: str, name: str) -> int:
    """What the tiny app says of itself as ``name=number``."""
    found = re.search(rf"{name}=(\d+)", text)
    assert found, text
    return int(found[1])


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(condition: Callable[[], bool]) -> None:
    """Return when ``condition`` holds; fail when it never does."""
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)
