"""All processes that an agent starts, daemons included, end with the trial or the harness."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_webarena.agents.line_pipe import LinePipe, ProcessEnded
from pytest_webarena.agents.process import ProcessKeys
from pytest_webarena.agents.supervisor import descendants
from tests.processes import Process, alive, of_pids, still_running

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux hands the orphans of daemons to a subreaper"
)

SLEEP = "import time; time.sleep(600)"
DAEMONS = f"""
import json, os, signal, subprocess, sys, time
REST = {SLEEP!r}

def plain():
    return subprocess.Popen([sys.executable, "-c", REST]).pid

def deaf():
    code = "import signal; [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]; print(flush=True); " + REST
    child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True, stdout=subprocess.PIPE)
    child.stdout.readline()
    return child.pid

def nohup():
    command = ["nohup", sys.executable, "-c", REST]
    return subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid

def twice():
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.chdir("/")
            os.write(writing, str(os.getpid()).encode())
            os.closerange(0, 100)
            os.execve(sys.executable, [sys.executable, "-c", REST], {{}})
        os._exit(0)
    os.wait()
    return int(os.read(reading, 100))

started = [plain(), deaf(), nohup(), twice(), twice()]
print(json.dumps([os.getpid(), *started]), flush=True)
"""
STAYING = DAEMONS + "time.sleep(600)\n"


def keys(code: str) -> ProcessKeys:
    return ProcessKeys(command=(sys.executable, "-c", code))


def processes(line: bytes | str) -> list[Process]:
    found = of_pids(json.loads(line))
    assert len(found) == 6
    return found


@pytest.fixture
def staying(tmp_path: Path) -> Iterator[tuple[LinePipe, list[Process]]]:
    """An agent that has started several kinds of daemons, and their processes."""
    pipe = LinePipe(keys(STAYING), tmp_path, None, tmp_path)
    yield pipe, processes(pipe.receive())
    pipe.close()


def test_daemons_end_with_the_trial(staying: tuple[LinePipe, list[Process]]) -> None:
    pipe, started = staying
    assert set(descendants(pipe._process.pid)) >= {each.pid for each in started}
    pipe.close()
    assert still_running(started) == []


def test_daemons_end_with_the_program_that_started_them(tmp_path: Path) -> None:
    with contextlib.closing(LinePipe(keys(f"{DAEMONS}sys.exit(7)"), tmp_path, None, tmp_path)) as pipe:
        _, *daemons = json.loads(pipe.receive())
        with pytest.raises(ProcessEnded, match="ended with exit code 7"):
            pipe.receive()
        assert [pid for pid in daemons if alive(pid)] == []


HARNESS = """
import os, sys
from pathlib import Path
from pytest_webarena.agents.line_pipe import LinePipe
from pytest_webarena.agents.process import ProcessKeys

pipe = LinePipe(ProcessKeys(command=(sys.executable, "-c", sys.argv[1])), Path("."), None)
line = pipe.receive().decode().strip()
child = os.fork() if len(sys.argv) > 2 else 0  # one that lives on must keep nothing alive
if len(sys.argv) > 2 and not child:
    import time; time.sleep(600)
print(child, line, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("forks", [False, True], ids=["alone", "with a forked child"])
def test_daemons_end_with_a_harness_that_is_killed(tmp_path: Path, forks: bool) -> None:
    harness = subprocess.Popen(
        [sys.executable, "-c", HARNESS, STAYING, *(["fork"] if forks else [])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
        env={**os.environ, "TMPDIR": str(tmp_path)},  # it is killed before it can clean up
    )
    with harness:
        assert harness.stdout is not None
        child, line = harness.stdout.readline().split(" ", 1)
        started = processes(line)
        os.kill(harness.pid, signal.SIGKILL)
        try:
            assert still_running(started) == []
        finally:
            if forks:
                os.kill(int(child), signal.SIGKILL)


def test_daemons_end_even_if_the_agent_stops_its_supervisor(
    staying: tuple[LinePipe, list[Process]], monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe, started = staying
    monkeypatch.setattr("pytest_webarena.agents.line_pipe._PATIENCE", 0.2)
    os.kill(pipe._process.pid, signal.SIGSTOP)
    pipe.close()
    assert still_running(started) == []


def test_agent_ends_when_its_supervisor_is_killed(tmp_path: Path) -> None:
    code = "import json, os, time; print(os.getpid(), flush=True); os.kill(os.getppid(), 9); time.sleep(600)"
    with contextlib.closing(LinePipe(keys(code), tmp_path, None, tmp_path)) as pipe:
        agent = int(pipe.receive())
        with pytest.raises(ProcessEnded, match="signal SIGKILL"):
            pipe.receive()
        assert still_running(of_pids([agent])) == []


def test_agent_signalling_its_group_does_not_reach_the_supervisor(tmp_path: Path) -> None:
    code = "import os, signal; signal.signal(15, signal.SIG_IGN); os.killpg(0, 15); print(os.getsid(0) == os.getpid())"
    with contextlib.closing(LinePipe(keys(code), tmp_path, None, tmp_path)) as pipe:
        assert pipe.receive() == b"True\n"
        with pytest.raises(ProcessEnded, match="ended with exit code 0"):
            pipe.receive()
