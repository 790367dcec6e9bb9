"""Export of runs: HAR files, and folders for the command line of webarena-verified."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.checks import judge_all
from pytest_webarena.checks.grading import VERIFIED
from pytest_webarena.checks.verified import VerifiedSpec
from pytest_webarena.commands.cli import main
from pytest_webarena.evidence import Evidence, RequestRecord
from pytest_webarena.results import RunDir, TrialKey, TrialRecord
from pytest_webarena.tasks.model import Check, Task
from scripts.agree_verified import Theirs
from scripts.verified_answers import expected_response

SITES = {"shopping_admin": "http://shopping-admin.test/admin", "shopping": "http://shopping.test"}
VISIT = RequestRecord(
    time=1.0, method="GET", url="http://shopping.test/", status=200, request_headers=(("Accept", "text/html"),)
)


def trial(run: RunDir, number: int, answer: str | None, *, agent: str = "cot", tasks: Any, **facts: Any) -> TrialRecord:
    """Record a finished trial of a task of webarena-verified."""
    upstream = tasks[number]
    spec = VerifiedSpec(sites=tuple(upstream["sites"]), eval=tuple(upstream["eval"]), task_id=number)
    task = Task(
        id=f"webarena-verified.{number}", intent="i", sites=spec.sites,
        checks=(Check(path="checks[0]", kind="verified", spec=spec),),
    )  # fmt: skip
    evidence = Evidence(
        answer=answer, stop_reason="answered", requests=(VISIT,), sites=SITES, answer_format="verified", **facts
    )
    verdicts = {name: each.to_json() for name, each in judge_all(task, evidence, headline=VERIFIED).items()}
    key = TrialKey(task.id, agent, 1)
    folder = run.folder(key)
    folder.begin(worker="main", node_id="n").finish(evidence)
    passed = verdicts["verified"]["passed"]
    record = TrialRecord(
        key=key, outcome="passed" if passed else "failed", grading="verified", verdicts=verdicts,
        source={"suite": "webarena-verified", "task_id": number}, answer=answer,
    )  # fmt: skip
    folder.finish(record)
    return record


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return Theirs(tmp_path_factory.mktemp("package")).tasks


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    run = RunDir(tmp_path / "run")
    run.describe({})
    return run


def right(tasks: Any, number: int) -> str:
    return json.dumps(expected_response(tasks[number]["eval"][0]))


def test_upstream_command_line_gives_the_recorded_verdicts(run: RunDir, tasks: Any, tmp_path: Path) -> None:
    records = {
        0: trial(run, 0, f"```json\n{right(tasks, 0)}\n```", tasks=tasks),
        21: trial(run, 21, right(tasks, 21), tasks=tasks),
        22: trial(run, 22, "N/A", tasks=tasks),
        23: trial(run, 23, None, tasks=tasks),
        24: trial(run, 24, " ", tasks=tasks),
    }
    assert [record.outcome for record in records.values()] == ["passed", "passed", "failed", "failed", "failed"]
    out = tmp_path / "out"
    assert main(["runs", "export-verified", str(run.path), "-o", str(out)]) == 0
    command = [sys.executable, "-m", "webarena_verified", "eval-tasks", "--output-dir", str(out), "--config"]
    done = subprocess.run([*command, str(out / "config.json")], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    upstream_scores = {
        number: json.loads((out / str(number) / "eval_result.json").read_text())["score"] for number in records
    }
    assert upstream_scores == {number: record.verdicts["verified"]["score"] for number, record in records.items()}


def test_verified_export_has_a_folder_per_agent(
    run: RunDir, tasks: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for agent in ("cot", "direct"):
        trial(run, 21, "x", agent=agent, tasks=tasks)
    own = TrialRecord(key=TrialKey("own", "cot", 1), outcome="passed")
    run.folder(own.key).begin(worker="w", node_id="n")
    run.folder(own.key).finish(own)
    assert main(["runs", "export-verified", str(run.path), "-o", str(tmp_path / "out")]) == 0
    stdout = capsys.readouterr().out
    for agent in ("cot-1", "direct-1"):
        assert (tmp_path / "out" / agent / "21" / "network.har").is_file()
        assert f"eval-tasks --output-dir {tmp_path / 'out' / agent} --config" in stdout
    assert "left out: 1 (no task of WebArena-Verified, or not judged)" in stdout
    assert main(["runs", "export-verified", str(run.path), "-o", str(tmp_path / "out")]) == 2
    assert "found an earlier export" in capsys.readouterr().err


def test_runs_har_writes_a_file_per_trial(
    run: RunDir, tasks: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = trial(run, 21, "x", tasks=tasks)
    assert main(["runs", "har", str(run.path)]) == 0
    assert "1 file in" in capsys.readouterr().out
    har = json.loads((run.path / "har" / f"{record.key.folder}.har").read_text())
    assert [entry["request"]["url"] for entry in har["log"]["entries"]] == ["http://shopping.test/"]


@pytest.mark.parametrize("command", [["runs", "har"], ["runs", "export-verified", "-o", "out"]])
def test_export_of_run_without_exportable_trials_is_refused(
    command: list[str], run: RunDir, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, str(run.path)]) == 2
    assert "found none" in capsys.readouterr().err
