"""Runs pytest as users start it, for results that several tests share; `pytester` makes one run per test."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import pytest

from .forked import start

__all__ = ["EVERY_PLUGIN", "NEEDLESS", "SUM_TASK", "run_pytest"]

EVERY_PLUGIN = "-p no:hypothesispytest -p no:faker -p no:anyio"
"""Options that switch off plugins which only the suite needs: they take a third of pytest's start time."""
NEEDLESS = (
    EVERY_PLUGIN
    + "".join(
        f" -p no:{name}" for name in ("html", "html_fixtures", "metadata", "platformdirs", "rerunfailures", "timeout")
    )
    + " --assert=plain"
)
"""Options that also switch off plugins which users may have, and rewritten assertions, for which pytest lists the files
of all packages with plugins. The fixture `every_plugin` is for tests with all of them."""

SUM_TASK = """
defaults: {sites: [homepage]}
tasks:
  - id: sum
    user: ''
    intent: What is 12 times 34?
    checks: [{answer: {number: 408}}]
    solution:
      - click: role=navigation[name="Main"] >> role=link[name="Calculator"]
      - fill: {css=#expression: 12*34}
      - press: Enter
      - stop: "408"
"""
"""A task file with one task, for every browser; more tasks can be appended. Nobody signs in for it: that takes as long
as the task."""


def run_pytest(
    directory: Path, *arguments: str | os.PathLike[str], environ: Mapping[str, str] | None = None, timeout: float = 250
) -> pytest.RunResult:
    """Run pytest in ``directory``, in a process (``forked.py``) that inherits nothing of this pytest.

    ``timeout`` is in seconds. Its output is shown with the failure of a test that uses it.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"PY_COLORS": "0", "PYTHONPATH": os.pathsep.join([str(directory), *_python_path()])}
    environment["PYTEST_ADDOPTS"] = NEEDLESS
    environment |= environ or {}
    command = [sys.executable, "-m", "pytest", f"--basetemp={directory / 'basetemp'}", *arguments]
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = start(
            command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=out.buffer, stderr=err.buffer
        )
        try:
            code = process.wait(timeout)
        finally:
            process.kill()
            output, errors = _text(out), _text(err)
            print(output)
            print(errors, file=sys.stderr)
    seconds = time.monotonic() - began
    return pytest.RunResult(code, output.splitlines(), errors.splitlines(), seconds)


def _text(file: IO[str]) -> str:
    file.seek(0)
    return file.read()


def _python_path() -> list[str]:
    return [value] if (value := os.environ.get("PYTHONPATH")) else []
