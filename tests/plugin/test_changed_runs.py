"""Runs whose files were edited after them, or whose process was killed while it wrote them."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_webarena.results import RunDir, TrialKey, trial_folder
from pytest_webarena.results.stored_records import write_record
from tests.made_up import make_run, make_trial

MakeTasks = Callable[..., None]

KILLED = """

import signal
from pathlib import Path
from pytest_webarena.results import trial_folder

write = trial_folder.write_record

def killed(path, record):
    if record.key.task == "b" and not Path("killed").exists():
        Path("killed").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return write(path, record)

trial_folder.write_record = killed
"""


def pass_by_hand(pytester: pytest.Pytester, task: str) -> Path:
    """Edit the record of a failed trial as somebody would who wants it to have passed."""
    (file,) = (pytester.path / "run" / "trials").glob(f"{task}.*/trial.json")
    assert json.loads(file.read_text())["outcome"] == "failed"
    file.write_text(
        file.read_text().replace('"outcome": "failed"', '"outcome": "passed"').replace('"score": 0', '"score": 1')
    )
    return file


@pytest.mark.parametrize("command", ["--rescore=run", "--resume=run", "--replay-run=run --agent=null --run-dir=other"])
def test_trial_passed_by_hand_is_named(canned: pytest.Pytester, make_tasks: MakeTasks, command: str) -> None:
    make_tasks("right", "wrong")
    canned.runpytest("tasks", "--run-dir=run").assert_outcomes(passed=1, failed=1)
    file = pass_by_hand(canned, "wrong")
    before = file.read_bytes()
    result = canned.runpytest(*command.split(), *(["tasks"] if "replay" in command else []))
    text = result.stdout.str() + result.stderr.str()
    assert result.ret != 0
    assert "wrong.oracle.1" in text
    assert "changed after it was written" in text.replace("\n", " ")
    assert file.read_bytes() == before  # nothing seals it again


@pytest.mark.matrix(1)
@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_trial_killed_before_its_record_runs_again(
    canned: pytest.Pytester, make_tasks: MakeTasks, workers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The conftest of runs in this process replaces it here, too; later trials named "b" would end this worker.
    monkeypatch.setattr(trial_folder, "write_record", write_record)
    make_tasks("a", "b", "c")
    conftest = canned.path / "conftest.py"
    conftest.write_text(conftest.read_text() + KILLED)
    run_tasks = canned.runpytest if workers else canned.runpytest_subprocess  # without workers this process would end
    run_tasks("tasks", "--run-dir=run", *workers)
    assert (canned.path / "killed").exists()
    run = RunDir(canned.path / "run")
    assert "b" not in {record.key.task for record in run.records() if record.outcome != "error"}
    assert not run.read().unreadable
    canned.runpytest("--resume=run")
    assert {record.key.task: record.outcome for record in run.records()} == dict.fromkeys("abc", "passed")
    assert [change for record in run.records() for change in run.changes(record)] == []


@pytest.mark.matrix(2)
@pytest.mark.parametrize("where", ["finish", "write_attempt_manifest", "write_record"])
def test_attempt_killed_between_files_is_unfinished(
    tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(tmp_path / "run")
    if (child := os.fork()) == 0:
        kill = lambda *args, **more: os.kill(os.getpid(), signal.SIGKILL)  # noqa: E731
        from pytest_webarena.results import attempts

        setattr(attempts.AttemptWriter if where == "finish" else trial_folder, where, kill)
        make_trial(run, "t")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    stored = run.read()
    assert (stored.records, stored.unreadable) == ((), ())
    assert stored.unfinished == (TrialKey("t", "a", 1).folder,)
    make_trial(run, "t")
    (record,) = run.records()
    assert record.attempt == 2
    assert run.changes(record) == []
