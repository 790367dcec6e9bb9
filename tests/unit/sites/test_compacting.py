"""Preparation of a process before forks: memory compaction, exit handlers, and work in child processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_webarena.errors import UsageError
from pytest_webarena.sites.backends.children import ChildError, in_child

GAPS = """
import gc, sys
from pytest_webarena.sites.backends.compacting import _gaps, compact
kept = [[bytes(size) for _ in range(3000)] for size in range(20, 400, 40)]
for each in kept:
    del each[::2]
before = sum(_gaps().values())
compact()
print(before, sum(_gaps().values()), gc.get_freeze_count() > 0)
"""
REHEARSED = """
import os
from pytest_webarena.sites.backends.compacting import rehearse
done = []
os.register_at_fork(before=lambda: done.append("closed"))
rehearse()
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print(*done)
"""


def printed_by(program: str) -> list[str]:
    """Run the program in its own process, because it compacts memory; return its printed lines."""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_compacting_closes_gaps_in_shared_memory() -> None:
    before, after, frozen = printed_by(GAPS)

    assert int(before) > 10_000
    assert int(after) < int(before) / 5
    assert frozen == "True"


def test_rehearse_runs_before_fork_handlers() -> None:
    assert printed_by(REHEARSED) == ["closed"]


def test_in_child_keeps_no_changes_in_memory(tmp_path: Path) -> None:
    kept: list[str] = []

    def work() -> None:
        kept.append("heaps of text")
        (tmp_path / "done").write_text("by the child")

    in_child(work)

    assert kept == []
    assert (tmp_path / "done").read_text() == "by the child"


def test_exception_in_child_is_raised_as_child_error(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ChildError) as odd:
        in_child(lambda: dict[str, int]()["nothing"])
    assert (str(odd.value), odd.value.clear) == ("KeyError: 'nothing'", False)
    assert "Traceback" in capfd.readouterr().err

    def asks() -> None:
        raise UsageError("get one: pip install it — …")

    with pytest.raises(ChildError) as clear:
        in_child(asks)
    assert (str(clear.value), clear.value.clear) == ("get one: pip install it — …", True)
    assert capfd.readouterr().err == ""


def test_exit_code_of_a_silent_child_is_reported(tmp_path: Path) -> None:
    def work() -> None:
        (tmp_path / "pid").write_text(str(os.getpid()))
        os._exit(7)

    with pytest.raises(ChildError, match=r"^the process that did it ended with 7$"):
        in_child(work)
    with pytest.raises(ChildProcessError):
        os.waitpid(int((tmp_path / "pid").read_text()), os.WNOHANG)


def test_in_child_does_not_wait_for_grandchildren() -> None:
    reading, writing = os.pipe()
    heard, answer = os.pipe()

    def work() -> None:
        if os.fork() == 0:
            os.write(answer, os.read(reading, 1))  # when the test has seen that in_child returned
            os._exit(0)

    in_child(work)
    os.write(writing, b".")
    assert os.read(heard, 1) == b"."  # the grandchild was still running
    for descriptor in (reading, writing, heard, answer):
        os.close(descriptor)


def test_long_child_error_is_truncated_at_a_character() -> None:
    def work() -> None:
        raise UsageError("x" + "é" * 5000)

    with pytest.raises(ChildError, match=r"^xé+.?$"):
        in_child(work)
