"""Getting a process ready to be forked: what its children write to ought to be as little of its memory as can be.

A page of memory is shared until somebody writes to it. A child that makes an object puts it into the next gap that an
object of its parent has left, so that a few objects here and there cost it a page each. Gaps that are filled before the
fork send it to pages of its own, where its objects lie side by side.
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
"""Of what CPython tells of its allocator: size of a block, and how many of that size are gaps."""
_BYTES = sys.getsizeof(b"")
_LARGE, _SORTINGS = 100_000, 20
"""Bytes for which the C library sorts what it has free before it gives some, and how often: it gives up half-way."""
_ROUNDS = 2
"""What the filling itself lets go of leaves a few gaps once more."""

_filling: list[object] = []


def rehearse() -> None:
    """Fork once: what an app does before forks, such as closing files, is then done before its memory is compacted."""
    try:
        pid = os.fork()
    except OSError:  # then the forks that count will say so
        return
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def compact() -> None:
    """Collect garbage, fill the gaps it leaves, hand back what is free, and let the collector touch nothing of it."""
    gc.collect()
    with contextlib.suppress(OSError):  # a full disk: then there are gaps
        for _ in range(_ROUNDS):
            _fill()
    _trim()
    gc.freeze()  # shared by all from now on; collecting would copy it
    gc.collect()  # of nothing: how seldom all is collected goes by how much was left the last time


def _fill() -> None:
    gaps = _gaps()
    for size, number in gaps.items():
        _filling.append(_blocks(size, number))


def _blocks(size: int, number: int) -> list[object]:
    """Objects that take a block of ``size`` bytes each."""
    if size > _BYTES:
        return [bytes(size - _BYTES) for _ in range(number)]
    if size == object.__sizeof__(object()):
        return [object() for _ in range(number)]
    return [float(each) for each in range(number)]


def _gaps() -> dict[int, int]:
    """Free blocks in pools that are in use, by their size in bytes; empty where Python does not tell."""
    tell = getattr(sys, "_debugmallocstats", None)
    if tell is None:
        return {}
    with tempfile.TemporaryFile() as file, _stderr_to(file.fileno()):
        tell()
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
    """Have the C library put together and hand back what is free: a child would do so, and write all over it."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    for _ in range(_SORTINGS):
        bytearray(_LARGE)
