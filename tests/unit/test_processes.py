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
    zombies = processes.of_pids([child.pid])
    processes.kill(zombies)
    assert processes.still_running(zombies) == []
    assert child.returncode is None  # nobody has asked how it ended
    assert not processes.alive(child.pid)
    assert processes.of_pids([child.pid]) == []
    assert zombies[0] not in processes.descendants()
    assert processes.of_command("time.sleep(600)", zombies) == []


def test_ended_process_raises_nothing(child: subprocess.Popen[bytes]) -> None:
    ended = processes.of_pids([child.pid])
    child.kill()
    child.wait()
    assert processes.still_running(ended) == []
    assert processes.descendants(ended[0]) == []
    assert processes.of_command("time", ended) == []
    assert (processes.name_of(ended[0]), processes.listening(ended[0])) == ("", None)
    processes.kill(ended)


def test_running_process_is_returned_and_killed(child: subprocess.Popen[bytes]) -> None:
    running = processes.of_pids([child.pid])
    assert processes.still_running(running, seconds=0.0) == running
    child.wait()
