"""Output and logs of concurrent trials, captured separately so that each item reports its own."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from pytest_webarena.trials.captured_output import Output, TrialLogHandler, divided, in_trial, inside

if TYPE_CHECKING:
    import pytest

__all__ = ["Output", "inside", "separate_outputs"]


@contextmanager
def separate_outputs(config: pytest.Config) -> Iterator[None]:
    """Capture each running trial's output in its own `Output` within the block.

    With ``-s`` output goes to the terminal.
    """
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    captures = config.getoption("capture", "no") != "no" and capture is not None
    with ExitStack() as exits:
        if captures:
            streams = {(kind, id(getattr(sys, kind))): getattr(sys, kind) for kind in ("stdout", "stderr")}
            capture.resume_global_capture()  # the streams that are in use while a test runs
            streams |= {(kind, id(getattr(sys, kind))): getattr(sys, kind) for kind in ("stdout", "stderr")}
            capture.suspend_global_capture()
            for (kind, _), stream in streams.items():
                exits.enter_context(divided(stream, kind))
        exits.enter_context(_logged_apart(config))
        yield


@contextmanager
def _logged_apart(config: pytest.Config) -> Iterator[None]:
    plugin: Any = config.pluginmanager.get_plugin("logging-plugin")
    if plugin is None:
        yield
        return
    own, root = TrialLogHandler(), logging.getLogger()
    own.setFormatter(plugin.formatter)
    handlers: list[logging.Handler] = [plugin.caplog_handler, plugin.report_handler]
    level, wanted = root.level, getattr(plugin, "log_level", None)

    def not_a_trials(record: logging.LogRecord) -> bool:
        return not in_trial()

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
