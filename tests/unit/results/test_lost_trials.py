"""Records of attempts whose process died while the agent ran."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_webarena.results import RunDir, TrialKey, TrialRecord
from pytest_webarena.results.lost_trials import FILE, lost_record, note_agent
from pytest_webarena.results.trial_folder import TrialFolder

KEY = TrialKey("t", "a", 1)
LOST = TrialRecord(key=KEY, outcome="failed", stop_reason="unattributed", score=0.0, message="died", started=5.0)


def died(folder: TrialFolder) -> None:
    """Start an attempt and its agent in a process that dies."""
    if (child := os.fork()) == 0:
        note_agent(folder.begin(worker="gw0", node_id="x").path, LOST)
        os._exit(9)
    os.waitpid(child, 0)


def passed(folder: TrialFolder, attempt: int) -> TrialRecord:
    return folder.finish(replace(LOST, outcome="passed", score=1.0, attempt=attempt, started=7.0), since=1.0)


def test_attempt_of_a_dead_process_counts_when_the_trial_runs_again(tmp_path: Path) -> None:
    folder = RunDir(tmp_path).folder(KEY)
    died(folder)
    assert lost_record(folder.path, 1) == LOST
    writer = folder.begin(worker="gw1", node_id="x")
    record = passed(folder, writer.number)
    assert (record.outcome, record.stop_reason, record.attempt) == ("failed", "unattributed", 1)
    assert [each.outcome for each in record.reruns] == ["passed"]
    assert list(tmp_path.rglob(FILE)) == []
    assert lost_record(folder.path, 1) is None


def test_retry_of_the_same_process_and_an_edited_file_are_not_lost(tmp_path: Path) -> None:
    folder = RunDir(tmp_path).folder(KEY)
    attempt = folder.begin(worker="gw0", node_id="x").path
    note_agent(attempt, LOST)
    writer = folder.begin(worker="gw0", node_id="x")
    assert passed(folder, writer.number).outcome == "passed"
    note_agent(attempt, LOST)
    (folder.path / "trial.json").unlink()
    assert lost_record(folder.path, 1) == LOST
    (attempt / FILE).write_text((attempt / FILE).read_text().replace('"failed"', '"passed"'))
    assert lost_record(folder.path, 1) is None


@pytest.mark.parametrize("place", ["attempt-1", "attempt-1/trial.json", "trial.json"])
@pytest.mark.parametrize("by", ["file", "link", "folder"])
def test_record_is_written_whatever_the_agent_put_in_its_place(tmp_path: Path, place: str, by: str) -> None:
    run = RunDir(tmp_path)
    run.describe({})
    folder = run.folder(TrialKey("t", "a", 1))
    folder.begin(worker="main", node_id="")
    target = folder.path / place
    if target.is_dir():
        shutil.rmtree(target)
    if by == "file":
        target.write_text("mine")
    elif by == "link":
        target.symlink_to(tmp_path / "elsewhere")
    else:
        (target / "mine").mkdir(parents=True)
    folder.finish(TrialRecord(key=folder.key, outcome="failed"))
    assert [(record.key, record.outcome) for record in run.read().records] == [(folder.key, "failed")]
    assert not (tmp_path / "elsewhere").exists()
