"""Prepares a process for forking: its children should write to as few of its memory pages as possible.

A page is shared until somebody writes to it. A child puts a new object into the next gap that an object of its parent
has left, so a few scattered objects cost it a page each. If the gaps are filled before the fork, the child's objects
are placed together on pages of its own.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import re
import sys
import tempfile
from collections.abc import Iterator

__all__ = ["compact", "rehearse"]

_LINE = re.compile(r"^ *\d+ +(\d+) +\d+ +\d+ +(\d+) *$", re.MULTILINE)
"""A line of CPython's allocator statistics: size of a block, and number of gaps of that size."""
_BYTES = sys.getsizeof(b"")
_LARGE, _SORTINGS = 100_000, 20
"""Bytes for which the C library first sorts its free memory, and how often to ask, because it stops half-way."""
_ROUNDS = 2
"""Number of rounds, because the objects that filling releases leave a few gaps again."""

_filling: list[object] = []


def rehearse() -> None:
    """Fork once: work that an app does before forks, such as closing files, is then done before compacting."""
    try:
        pid = os.fork()
    except OSError:  # later forks report the error
        return
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def compact() -> None:
    """Collect garbage, fill the gaps, return free memory to the system, and exclude all objects from later
    collection."""
    gc.collect()
    with contextlib.suppress(OSError):  # on a full disk, gaps remain
        for _ in range(_ROUNDS):
            _fill()
    _trim()
    gc.freeze()  # collecting would copy pages that are now shared
    gc.collect()  # of nothing: the interval between full collections depends on how much the last one left


def _fill() -> None:
    gaps = _gaps()
    for size, number in gaps.items():
        _filling.append(_blocks(size, number))


def _blocks(size: int, number: int) -> list[object]:
    """Returns objects that take a block of ``size`` bytes each."""
    if size > _BYTES:
        return [bytes(size - _BYTES) for _ in range(number)]
    if size == object.__sizeof__(object()):
        return [object() for _ in range(number)]
    return [float(each) for each in range(number)]


def _gaps() -> dict[int, int]:
    """Returns the number of free blocks in used pools by their size in bytes; empty where Python does not report it."""
    print_stats = getattr(sys, "_debugmallocstats", None)
    if print_stats is None:
        return {}
    with tempfile.TemporaryFile() as file, _stderr_to(file.fileno()):
        print_stats()
        file.seek(0)
        text = file.read().decode("ascii", "replace")
    return {int(size): int(number) for size, number in _LINE.findall(text)}


@contextlib.contextmanager
def _stderr_to(file: int) -> Iterator[None]:
    sys.stderr.flush()
    kept = os.dup(2)
    os.dup2(file, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _trim() -> None:
    """Make the C library merge free memory and return it; else a child would do so, and write all over it."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    for _ in range(_SORTINGS):
        bytearray(_LARGE)
