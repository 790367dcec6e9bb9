"""Separates what concurrent trials of one process print and log."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Output", "TrialLogHandler", "divided", "in_trial", "inside"]

_MOST = 1 << 20
"""Maximum number of characters kept of each kind of a trial's output."""

_here: ContextVar[Output | None] = ContextVar("webarena-trial-output", default=None)
"""Output of the trial that the current context belongs to. Agents run in a copy of their trial's context; threads that
an agent starts belong to no trial."""


@dataclass(slots=True)
class Output:
    """What a trial has printed and logged."""

    parts: dict[str, list[str]] = field(default_factory=dict)
    """Texts by pytest's section names: ``stdout``, ``stderr``, ``log``."""
    _sizes: dict[str, int] = field(default_factory=dict)

    def add(self, kind: str, text: str) -> None:
        """Append ``text``, up to the limit."""
        size = self._sizes.get(kind, 0)
        if size < _MOST:
            kept = text if size + len(text) <= _MOST else f"{text[: _MOST - size]}\n[…]"
            self.parts.setdefault(kind, []).append(kept)
            self._sizes[kind] = size + len(text)

    def texts(self) -> Mapping[str, str]:
        """The output of each kind as one text."""
        return {kind: "".join(texts) for kind, texts in list(self.parts.items())}

    def flush_to_report(self, item: Any) -> None:
        """Add the output to the report sections of the pytest ``item``, and clear it."""
        for kind, text in self.texts().items():
            if shown := text.strip("\n") if kind == "log" else text:
                item.add_report_section("call", kind, shown)
        self.parts = {}


@contextmanager
def inside(output: Output) -> Iterator[None]:
    """Within the block, what this thread prints belongs to ``output``."""
    token = _here.set(output)
    try:
        yield
    finally:
        _here.reset(token)


def in_trial() -> bool:
    """Whether what this thread prints belongs to a trial."""
    return _here.get() is not None


@contextmanager
def divided(stream: Any, kind: str) -> Iterator[None]:
    """Within the block, redirect what trials write to ``stream`` to their own output."""
    plain: Callable[[str], int] = stream.write

    def write(text: str) -> int:
        if (output := _here.get()) is None:
            return plain(text)
        output.add(kind, text)
        return len(text)

    try:
        stream.write = write
    except AttributeError:  # a stream of another library whose attributes cannot be set
        yield
        return
    try:
        yield
    finally:
        del stream.write


class TrialLogHandler(logging.Handler):
    """Logging handler that adds formatted records to their trial's output."""

    def emit(self, record: logging.LogRecord) -> None:
        if (output := _here.get()) is not None:
            output.add("log", f"{self.format(record)}\n")
