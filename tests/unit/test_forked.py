"""Forked processes of pytest behave as started ones do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.forked import ForkedProcess, start
from tests.inner import NEEDLESS

STATE = """
import json, os, signal, sys, threading
from pathlib import Path

import pytest

def test_it(request):
    inputs = [str(Path.cwd()), sys.argv[1:], sys.path, os.environ["MINE"], sys.stdin.read(), sys.flags.safe_path]
    handlers = [str(signal.getsignal(each)) for each in (signal.SIGINT, signal.SIGCHLD, signal.SIGPIPE)]
    files = [os.readlink(f"/proc/self/fd/{each}").rpartition("/")[2] for each in range(3)]
    Path("state.json").write_text(json.dumps([inputs, handlers, files, threading.active_count(), __name__]))
    print("seen", file=sys.stderr)
"""
LOADED = "import sys; print('playwright' in sys.modules, sys.argv, __name__, flush=True); sys.exit(7)"


def command(*arguments: str) -> list[str]:
    return [sys.executable, *arguments]


def environment(**more: str) -> dict[str, str]:
    return dict(os.environ) | {"PYTEST_ADDOPTS": NEEDLESS} | more


def code_of(arguments: Sequence[str], **more: str) -> tuple[bool, int, bytes]:
    """Returns whether the command was forked, its return code and its output."""
    process = start(arguments, env=environment(**more), stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout:
        output = process.stdout.read()
    return isinstance(process, ForkedProcess), process.wait(30), output


def test_fork_has_the_state_of_a_started_process(tmp_path: Path) -> None:
    (tmp_path / "test_state.py").write_text(STATE)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    found = []
    run = command("-m", "pytest", "-s", "-q", "-p", "no:cacheprovider", "test_state.py")
    for begin in (start, subprocess.Popen):
        with (tmp_path / "in").open("w+b") as given, (tmp_path / "out").open("wb") as out:
            given.write(b"typed")
            given.seek(0)
            environ = environment(MINE="here", PYTHONPATH=f"{tmp_path}{os.pathsep}/elsewhere")
            process = begin(run, cwd=tmp_path, env=environ, stdin=given, stdout=out, stderr=out)
            assert process.wait(60) == 0, (tmp_path / "out").read_text()
        output = (tmp_path / "out").read_text()
        found.append([(tmp_path / "state.json").read_text(), "seen" in output, "1 passed" in output])
    assert found[0] == found[1]
    assert found[0][1:] == [True, True]


def test_workers_of_xdist_are_forked() -> None:
    forked, code, output = code_of(command("-u", "-c", LOADED))
    assert (forked, code, output) == (True, 7, b"True ['-c'] __main__\n")


def test_process_that_would_import_otherwise_is_started() -> None:
    code = command("-u", "-c", LOADED)
    for more in ({"PYTEST_ADDOPTS": ""}, {"PYTHONDONTWRITEBYTECODE": "1"}):
        assert code_of(code, **more) == (False, 7, b"False ['-c'] __main__\n"), more
    assert code_of(command("-c", "print(1)"))[0] is False


def test_fork_that_is_killed_has_the_signal_as_return_code() -> None:
    process = start(command("-u", "-c", "input()"), env=environment(), stdin=subprocess.PIPE)
    assert isinstance(process, ForkedProcess)
    assert process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.01)
    process.kill()
    assert process.wait(30) == -signal.SIGKILL
    assert process.stdin is not None
    process.stdin.close()
