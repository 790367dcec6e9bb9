"""The suite's own helper for processes: zombies have ended, and one that has gone raises nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests import processes

SLEEP = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(SLEEP) as child:
        yield child
        child.kill()


def test_a_process_that_runs_is_found(child: subprocess.Popen[bytes]) -> None:
    (process,) = processes.of_pids([child.pid])
    assert process in processes.descendants()
    assert process not in processes.descendants(but=[process])
    assert processes.alive(process)
    assert processes.alive(child.pid)
    assert processes.listening(process) == []
    assert processes.name_of(process)
    processes.wait_until(lambda: processes.of_command("time.sleep(600)", [process]) == [process])  # after its exec


def test_a_zombie_has_ended(child: subprocess.Popen[bytes]) -> None:
    mine = processes.of_pids([child.pid])
    processes.kill(mine)
    assert processes.still_running(mine) == []
    assert child.returncode is None  # nobody has asked how it ended
    assert not processes.alive(child.pid)
    assert processes.of_pids([child.pid]) == []
    assert mine[0] not in processes.descendants()
    assert processes.of_command("time.sleep(600)", mine) == []


def test_one_that_has_gone_raises_nothing(child: subprocess.Popen[bytes]) -> None:
    mine = processes.of_pids([child.pid])
    child.kill()
    child.wait()
    assert processes.still_running(mine) == []
    assert processes.descendants(mine[0]) == []
    assert processes.of_command("time", mine) == []
    assert (processes.name_of(mine[0]), processes.listening(mine[0])) == ("", None)
    processes.kill(mine)


def test_what_does_not_end_is_told_and_killed(child: subprocess.Popen[bytes]) -> None:
    mine = processes.of_pids([child.pid])
    assert processes.still_running(mine, seconds=0.0) == mine
    child.wait()
