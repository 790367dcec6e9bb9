"""Resuming a run, splitting it into shards, thresholds and exit codes."""

from __future__ import annotations

import errno
import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.plugin import controller
from pytest_webarena.results import RunDir
from pytest_webarena.results.run_identity import claim

MakeTasks = Callable[..., None]


def attempts(pytester: pytest.Pytester, run: str = "run") -> dict[str, int]:
    """Map each task to the number of its attempts."""
    folders = (pytester.path / run / "trials").iterdir()
    return {
        json.loads((folder / "trial.json").read_text())["key"]["task"]: len(list(folder.glob("attempt-*")))
        for folder in folders
    }


def test_resume_runs_only_trials_without_verdict(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("a", "wrong", "odd")
    canned.runpytest("--run-dir=run").assert_outcomes(passed=1, failed=1, errors=1)
    result = canned.runpytest("--resume=run")
    result.assert_outcomes(errors=1, deselected=2)
    assert attempts(canned) == {"a": 1, "wrong": 1, "odd": 2}
    result.stdout.fnmatch_lines(["oracle: 1/2 passed*"])  # the whole run's figures, not this invocation's


def test_resume_after_crashed_worker_keeps_finished_trials(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("a", "dying", "b", "c")
    canned.runpytest("-n1", "--run-dir=run")
    before = attempts(canned)
    make_tasks("a", "dying", "b", "c", "d")
    conftest = canned.path / "conftest.py"
    conftest.write_text(conftest.read_text().replace("os._exit(9)", "pass"))
    canned.runpytest("--resume=run").assert_outcomes(passed=2, deselected=3)
    after = attempts(canned)
    assert {task: after[task] for task in ("a", "b", "c")} == {task: before[task] for task in ("a", "b", "c")}
    assert after["d"] == 1
    assert after["dying"] == before["dying"] + 1


def test_resume_runs_changed_task_again(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("a", "b")
    canned.runpytest("--run-dir=run")
    file = canned.path / "tasks" / "demo.yaml"
    file.write_text(file.read_text().replace("intent: Say a", "intent: Say it"))
    canned.runpytest("--resume=run").assert_outcomes(passed=1, deselected=1)
    assert attempts(canned) == {"a": 2, "b": 1}


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--answer-format=verified", "--resume: expected the run's own --answer-format, auto, found verified"),
        ("--grading=original", "--resume: expected the run's own --grading, repaired, found original"),
    ],
)
def test_resume_rejects_changed_options(
    canned: pytest.Pytester, make_tasks: MakeTasks, option: str, message: str
) -> None:
    make_tasks("right")
    canned.runpytest("--run-dir=run").assert_outcomes(passed=1)
    result = canned.runpytest("--resume=run", option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{message}*"])


def test_resume_of_finished_run_exits_with_0(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("a")
    canned.runpytest("--run-dir=run")
    assert canned.runpytest("--resume=run").ret == 0


def test_resume_of_unknown_directory_is_a_usage_error(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("a")
    result = canned.runpytest("--resume=rnu")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*rnu: expected a run directory*"])
    assert not (canned.path / "rnu").exists()


def test_shards_are_disjoint_and_merge_into_the_whole_run(
    canned: pytest.Pytester, make_tasks: MakeTasks, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"t{number}" for number in range(12)]
    make_tasks(*names, "wrong")
    parts = []
    for index in (1, 2):
        canned.runpytest(f"--shard={index}/2", f"--run-dir=part{index}")
        parts.append(set(attempts(canned, f"part{index}")))
    assert parts[0] | parts[1] == {*names, "wrong"}
    assert not parts[0] & parts[1]
    root: Path = canned.path
    assert main(["runs", "merge", str(root / "part1"), str(root / "part2"), "-o", str(root / "all")]) == 0
    assert "13 trials" in capsys.readouterr().out
    summary = json.loads((root / "all" / "summary.json").read_text())
    assert (summary["agents"]["oracle"]["rate"]["passed"], summary["trials"]) == (12, 13)
    assert main(["runs", "merge", str(root / "part1"), "-o", str(root / "all")]) == 2
    assert "new or empty directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("tasks", "options", "code"),
    [
        (("a", "wrong"), (), 1),
        (("a", "wrong"), ("--min-pass-rate=0.5",), 0),
        (("a", "wrong"), ("--min-pass-rate=0.6",), 10),
        (("a", "odd"), ("--min-pass-rate=0.5", "--max-errors=0.2"), 11),
        (("a", "odd"), ("--min-pass-rate=0.5", "--max-errors=1"), 0),
    ],
)
def test_thresholds_decide_the_exit_code(
    canned: pytest.Pytester, make_tasks: MakeTasks, tasks: tuple[str, ...], options: tuple[str, ...], code: int
) -> None:
    make_tasks(*tasks)
    result = canned.runpytest(*options)
    assert result.ret == code
    if options:
        result.stdout.fnmatch_lines(["gate: *"])


def test_threshold_does_not_excuse_failing_python_test(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("a")
    canned.makepyfile(test_theirs="def test_theirs():\n    assert False\n")
    assert canned.runpytest("--min-pass-rate=0.1").ret == 1


@pytest.mark.exhaustive
def test_thresholds_apply_with_workers(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("a", "b", "wrong")
    assert canned.runpytest("-n1", "--min-pass-rate=0.6").ret == 0
    below = canned.runpytest("-n1", "--min-pass-rate=0.7")
    assert below.ret == 10
    assert "exit code 10: a success rate is below --min-pass-rate" in below.outlines


def test_a_run_is_read_and_exported_once(
    canned: pytest.Pytester, make_tasks: MakeTasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: Counter[str] = Counter()

    def counted(owner: Any, name: str) -> None:
        real = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *args, **kwargs: (done.update([name]), real(*args, **kwargs))[1])

    make_tasks("a", "wrong")
    counted(controller, "export")
    counted(RunDir, "read")
    canned.runpytest("--run-dir=run", "--min-pass-rate=0.5", "--alluredir=allure").assert_outcomes(passed=1, failed=1)
    assert done == {"export": 1, "read": 1}


def test_exports_are_written_at_the_end(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("a", "wrong")
    canned.runpytest("--run-dir=run")
    assert json.loads((canned.path / "run" / "summary.json").read_text())["trials"] == 2
    assert (canned.path / "run" / "results.csv").read_text().count("\n") == 3


def test_full_disk_is_reported_and_fails_the_gate(
    canned: pytest.Pytester, make_tasks: MakeTasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_tasks("right", "right2")
    write = Path.write_text
    full = True

    def refuse(self: Path, *args: Any, **kwargs: Any) -> int:
        if full and (("right2" in str(self) and "trial.json" in self.name) or "summary.json" in self.name):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self))
        return write(self, *args, **kwargs)

    monkeypatch.setattr(Path, "write_text", refuse)
    result = canned.runpytest("--run-dir=run", "--min-pass-rate=0")
    result.assert_outcomes(passed=1, errors=1)
    assert result.ret == 11
    result.stdout.fnmatch_lines(["gate: records could not be written, so no rate can be trusted"])
    result.stdout.fnmatch_lines(["webarena: expected to write *, found: No space left on device. *--resume"])
    for output in (result.stdout, result.stderr):
        output.no_fnmatch_line("*Traceback*")
        output.no_fnmatch_line("*INTERNALERROR*")
    full = False
    canned.runpytest("--resume=run").assert_outcomes(passed=1)


def test_run_dir_rejects_directory_of_a_running_run(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("right")
    folder = canned.path / "run"
    folder.mkdir()
    held = claim(folder)  # as another run does when it starts
    assert held is not None
    try:
        result = canned.runpytest("--run-dir=run")
        assert result.ret == 4
        result.stderr.fnmatch_lines(["*--run-dir: expected a directory that no run is using, found another run*"])
        assert not list(folder.iterdir())
    finally:
        os.close(held)
    canned.runpytest("--run-dir=run").assert_outcomes(passed=1)  # a stale lock file blocks no run
    held = claim(folder)
    assert held is not None
    try:
        result = canned.runpytest("--resume=run")
        assert result.ret == 4
        result.stderr.fnmatch_lines(["*--resume: expected a directory that no run is using, found another run*"])
    finally:
        os.close(held)
    assert canned.runpytest("--resume=run").ret == 0  # workers are of one run: test_xdist.py


def test_unknown_tracing_mode_is_a_usage_error(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    canned.makeini("[pytest]\nwebarena_tracing = sometimes")
    make_tasks("right")
    result = canned.runpytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*webarena_tracing: expected off, on, retain-on-failure, on-retry*"])
