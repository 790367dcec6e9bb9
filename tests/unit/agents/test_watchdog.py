"""Decisions of the watchdog; `tests/browser/test_hung_agents.py` tests it with a real process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_webarena.agents.watchdog import PATIENCE, _Watch
from pytest_webarena.file_digests import seal_fault
from tests.processes import wait_until


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """A process in place of the watched worker."""
    with subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"]) as process:
        yield process
        process.kill()


@pytest.fixture
def watch(process: subprocess.Popen[bytes], tmp_path: Path) -> _Watch:
    (tmp_path / "steps.jsonl").write_text("{}\n{}\n")
    watch = _Watch(process.pid)
    record = {"seconds": {"lease": 1.0}, "attempts": [{"number": 1}], "steps": 0}
    files = {"file": str(tmp_path / "trial.json"), "steps": str(tmp_path / "steps.jsonl")}
    announcement = {**files, "name": "t (a, trial 1)", "trial": 1}
    message = {**announcement, "acting": {**record, "outcome": "failed"}, "idle": {**record, "outcome": "error"}}
    watch.receive(json.dumps(message).encode())
    return watch


def report_time(watch: _Watch, seconds: float | None, trial: int = 1) -> None:
    watch.receive(json.dumps({"trial": trial, "seconds": seconds}).encode())


def stay_silent(watch: _Watch) -> bool:
    """Let the tolerated time of silence pass; return whether it is over."""
    return [watch.tick() for _ in range(PATIENCE)][-1]


def test_silence_within_the_agents_time_is_tolerated(watch: _Watch) -> None:
    report_time(watch, 1000.0)
    assert not stay_silent(watch)
    report_time(watch, 0.0)
    assert watch.tick()


def test_sign_of_life_resets_the_silence_count(watch: _Watch) -> None:
    report_time(watch, 0.0)
    assert not any(watch.tick() for _ in range(PATIENCE - 1))
    watch.silent = 0  # as `_main` does at each sign
    assert not watch.tick()


def test_process_is_not_ended_between_trials(watch: _Watch) -> None:
    watch.receive(b'{"trial": 1, "over": true}')
    assert not stay_silent(watch)


def test_stopped_process_does_not_count_as_silent(watch: _Watch, process: subprocess.Popen[bytes]) -> None:
    os.kill(process.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
    assert not stay_silent(watch)
    os.kill(process.pid, signal.SIGCONT)
    wait_until(lambda: watch.tick() or watch.silent >= PATIENCE)


@pytest.mark.parametrize(("seconds", "outcome"), [(0.0, "failed"), (None, "error")])
def test_record_blames_agent_or_harness_by_remaining_time(
    watch: _Watch,
    process: subprocess.Popen[bytes],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    seconds: float | None,
    outcome: str,
) -> None:
    report_time(watch, seconds)
    assert stay_silent(watch)
    watch.end()
    record = json.loads((tmp_path / "trial.json").read_text())
    assert (record["outcome"], record["steps"]) == (outcome, 2)
    assert set(record["seconds"]) == {"lease", "episode", "total"}
    assert process.wait() == -signal.SIGKILL
    assert capfd.readouterr().err.startswith(f"\nwebarena: the agent held the interpreter of process {process.pid} ")


def test_hung_process_with_several_trials_records_none(
    watch: _Watch, process: subprocess.Popen[bytes], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    other = {**watch.trials[1], "trial": 2, "file": str(tmp_path / "other.json"), "name": "u (a, trial 1)"}
    watch.receive(json.dumps(other).encode())
    report_time(watch, 0.0)
    report_time(watch, 1000.0, trial=2)
    assert not stay_silent(watch)  # the other one has time left
    report_time(watch, 0.0, trial=2)
    assert watch.tick()
    watch.end()
    assert not list(tmp_path.glob("*.json"))
    assert "it is one of t (a, trial 1), u (a, trial 1)" in capfd.readouterr().err
    assert process.wait() == -signal.SIGKILL

    report_time(watch, None, trial=2)
    watch.end()
    assert sorted(path.name for path in tmp_path.glob("*.json")) == ["manifest.json", "trial.json"]
    assert seal_fault((tmp_path / "trial.json").read_bytes()) == ""
