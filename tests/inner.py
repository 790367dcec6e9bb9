"""Runs pytest as users start it, for results that several tests share; `pytester` makes one run per test."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import PIPE

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
    process = start(command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=PIPE, stderr=PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr, ThreadPoolExecutor(2) as readers:
        # To the end of both: processes that outlive this one, such as its watchdog, write there, too.
        output, errors = [readers.submit(stream.read) for stream in (process.stdout, process.stderr)]
        try:
            code = process.wait(timeout)
        except BaseException:
            process.kill()
            raise
        finally:
            texts = [each.result().decode(errors="replace") for each in (output, errors)]
            print(texts[0])
            print(texts[1], file=sys.stderr)
    seconds = time.monotonic() - began
    return pytest.RunResult(code, texts[0].splitlines(), texts[1].splitlines(), seconds)


def _python_path() -> list[str]:
    return [value] if (value := os.environ.get("PYTHONPATH")) else []
