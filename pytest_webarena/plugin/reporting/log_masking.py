"""Masks secrets in what pytest's logging plugin writes: ``--log-file``, live logs and captured logs."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from pytest_webarena.secrets import scrub_cut

__all__ = ["mask_logs"]

_HANDLERS = ("log_file_handler", "log_cli_handler", "caplog_handler", "report_handler")
"""Attributes of pytest's plugin. It has no public list of its handlers."""


class _Masking(logging.Formatter):
    """Formats a record as another formatter does, and masks the finished lines."""

    def __init__(self, inner: logging.Formatter) -> None:
        super().__init__()
        self.inner = inner

    def format(self, record: logging.LogRecord) -> str:
        return scrub_cut(self.inner.format(record))


def mask_logs(config: pytest.Config) -> None:
    """Mask what each handler of pytest's logging plugin writes. Does nothing without that plugin."""
    plugin: Any = config.pluginmanager.get_plugin("logging-plugin")
    for name in _HANDLERS:
        handler = getattr(plugin, name, None)
        inner = getattr(handler, "formatter", None)
        if handler is not None and inner is not None and not isinstance(inner, _Masking):
            handler.setFormatter(_Masking(inner))
