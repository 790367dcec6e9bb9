"""What trials print and log while others are under way in the same process: each keeps its own."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

__all__ = ["OfTrials", "Output", "divided", "in_trial", "inside"]

_MOST = 1 << 20
"""Characters of a trial's output that are kept, of each kind."""

_here: ContextVar[Output | None] = ContextVar("webarena-trial-output", default=None)
"""Whose trial it is. Agents have a copy of their trial's context, so that theirs is known; threads that an agent starts
are nobody's."""


@dataclass(slots=True)
class Output:
    """What a trial has printed."""

    parts: dict[str, list[str]] = field(default_factory=dict)
    """By pytest's names: ``stdout``, ``stderr``, ``log``."""
    _sizes: dict[str, int] = field(default_factory=dict)

    def add(self, kind: str, text: str) -> None:
        """Keep ``text``, while there is room."""
        size = self._sizes.get(kind, 0)
        if size < _MOST:
            kept = text if size + len(text) <= _MOST else f"{text[: _MOST - size]}\n[…]"
            self.parts.setdefault(kind, []).append(kept)
            self._sizes[kind] = size + len(text)

    def texts(self) -> Mapping[str, str]:
        """What there is of each kind."""
        return {kind: "".join(texts) for kind, texts in list(self.parts.items())}

    def tell(self, item: Any) -> None:
        """Put it where pytest looks for what ``item`` has printed."""
        for kind, text in self.texts().items():
            if told := text.strip("\n") if kind == "log" else text:
                item.add_report_section("call", kind, told)
        self.parts = {}


@contextmanager
def inside(output: Output) -> Iterator[None]:
    """Inside, what this thread prints belongs to ``output``."""
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
    """``stream`` without what trials write to it."""
    plain: Callable[[str], int] = stream.write

    def write(text: str) -> int:
        if (output := _here.get()) is None:
            return plain(text)
        output.add(kind, text)
        return len(text)

    try:
        stream.write = write
    except AttributeError:  # somebody's own stream, which takes none
        yield
        return
    try:
        yield
    finally:
        del stream.write


class OfTrials(logging.Handler):
    """Keeps what trials log, in the form that its formatter gives it."""

    def emit(self, record: logging.LogRecord) -> None:
        if (output := _here.get()) is not None:
            output.add("log", f"{self.format(record)}\n")
