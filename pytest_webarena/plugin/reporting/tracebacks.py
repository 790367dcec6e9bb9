"""Removes this package's frames from the traceback of a user's error, and says where to debug a task."""

from __future__ import annotations

import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_webarena.errors import HarnessError, WebArenaError
from pytest_webarena.text import printable

if TYPE_CHECKING:
    from types import TracebackType

    import pytest
    from _pytest.terminal import TerminalReporter

    from pytest_webarena.plugin.items import TaskItem

__all__ = ["shorten_traceback", "write_debugging_hint"]

_OURS = Path(__file__).parents[2]
_STDLIB = Path(sysconfig.get_path("stdlib"))
_PACKAGES = {"site-packages", "dist-packages"}


def shorten_traceback(item: pytest.Item, excinfo: pytest.ExceptionInfo[BaseException] | None) -> None:
    """Shorten the traceback of an error in a Python test.

    It keeps the test, its fixtures, and the first function of this package. With ``--full-trace`` or ``--pdb``, and for
    errors of this package itself, the traceback is complete. Called before pytest makes its report.
    """
    options = item.config.option
    if excinfo is None or options.fulltrace or options.usepdb or not isinstance(excinfo.value, WebArenaError):
        return
    entry: TracebackType | None = excinfo.tb
    last: TracebackType | None = None
    while entry is not None:
        if not _is_behind_us(entry):
            last = entry
        entry = entry.tb_next
    if not isinstance(excinfo.value, HarnessError) and last is not None and last.tb_next is not None:
        last.tb_next.tb_next = None


def _is_behind_us(entry: TracebackType) -> bool:
    """Whether it is a frame of this package, or of Python's library, which it may have called."""
    path = Path(entry.tb_frame.f_code.co_filename)
    return path.is_relative_to(_OURS) or (path.is_relative_to(_STDLIB) and _PACKAGES.isdisjoint(path.parts))


def write_debugging_hint(item: TaskItem) -> None:
    """Print which command does the task of ``item`` step by step, because ``--pdb`` stops after the trial's end."""
    reporter: TerminalReporter | None = item.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        name = f"{item.nodeid.partition('::')[0]}::{item.task.id}"
        reporter.ensure_newline()
        reporter.write_line(printable(f"the trial is over; do its steps with: webarena tasks try {name} --headed"))
