"""What trials print and log while they are in flight: each keeps its own, and its item tells of it."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

__all__ = ["Output", "inside", "kept_apart"]

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

    def tell(self, item: pytest.Item) -> None:
        """Put it where pytest looks for what ``item`` has printed."""
        for kind, texts in self.parts.items():
            if text := "".join(texts).strip("\n") if kind == "log" else "".join(texts):
                item.add_report_section("call", kind, text)
        self.parts = {}


@contextmanager
def inside(output: Output) -> Iterator[None]:
    """Inside, what this thread prints belongs to ``output``."""
    token = _here.set(output)
    try:
        yield
    finally:
        _here.reset(token)


@contextmanager
def kept_apart(config: pytest.Config) -> Iterator[None]:
    """Inside, trials in flight print each to its own `Output`. With ``-s`` they print to the terminal, as ever."""
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    captures = config.getoption("capture", "no") != "no" and capture is not None
    with ExitStack() as exits:
        if captures:
            streams = {(kind, id(getattr(sys, kind))): getattr(sys, kind) for kind in ("stdout", "stderr")}
            capture.resume_global_capture()  # what they are while a test runs
            streams |= {(kind, id(getattr(sys, kind))): getattr(sys, kind) for kind in ("stdout", "stderr")}
            capture.suspend_global_capture()
            for (kind, _), stream in streams.items():
                exits.enter_context(_divided(stream, kind))
        exits.enter_context(_logged_apart(config))
        yield


@contextmanager
def _divided(stream: Any, kind: str) -> Iterator[None]:
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


class _OfTrials(logging.Handler):
    """Keeps what trials log, in the form that pytest gives it."""

    def emit(self, record: logging.LogRecord) -> None:
        if (output := _here.get()) is not None:
            output.add("log", f"{self.format(record)}\n")


@contextmanager
def _logged_apart(config: pytest.Config) -> Iterator[None]:
    plugin: Any = config.pluginmanager.get_plugin("logging-plugin")
    if plugin is None:
        yield
        return
    own, root = _OfTrials(), logging.getLogger()
    own.setFormatter(plugin.formatter)
    handlers: list[logging.Handler] = [plugin.caplog_handler, plugin.report_handler]
    level, wanted = root.level, getattr(plugin, "log_level", None)

    def not_a_trials(record: logging.LogRecord) -> bool:
        return _here.get() is None

    if wanted is not None:
        own.setLevel(wanted)
        root.setLevel(min(level, wanted))
    root.addHandler(own)
    for handler in handlers:
        handler.addFilter(not_a_trials)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(not_a_trials)
        root.removeHandler(own)
        root.setLevel(level)
