"""Merging of runs, and export of files from them."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.errors import UsageError
from pytest_webarena.results import RunDir, TrialKey, TrialRecord, merge
from pytest_webarena.results.export import COLUMNS, export, results_csv
from pytest_webarena.results.memory import Memory, MemoryVersion, memories_of, memory_folder
from pytest_webarena.results.merge import merge_runs


def make_run(path: Path, *records: TrialRecord) -> Path:
    run = RunDir(path)
    run.describe({"argv": [path.name]})
    for record in records:
        folder = run.folder(record.key)
        folder.begin(worker="main", node_id="n")
        folder.finish(record)
    return path


def record(task: str, outcome: Any = "passed", **more: Any) -> TrialRecord:
    return TrialRecord(key=TrialKey(task, "a", 1), outcome=outcome, **{"task_digest": "d", "agent_digest": "x", **more})


def test_merge_contains_all_trials_of_its_sources(tmp_path: Path) -> None:
    sources = [make_run(tmp_path / "1", record("a"), record("b")), make_run(tmp_path / "2", record("c", "failed"))]
    merged = merge_runs(sources, tmp_path / "out")
    assert (merged.trials, merged.rejudged, merged.run_again) == (3, 0, 0)
    assert [entry.key.task for entry in RunDir(tmp_path / "out").records()] == ["a", "b", "c"]
    assert [part["run"] for part in RunDir(tmp_path / "out").facts()["merged"]] == ["1", "2"]


@pytest.mark.parametrize("swap", [False, True])
def test_merge_prefers_verdicts_to_errors_and_later_to_earlier(tmp_path: Path, swap: bool) -> None:
    first = make_run(tmp_path / "1", record("a", "error", started=9.0), record("b", "passed", started=1.0))
    second = make_run(tmp_path / "2", record("a", "failed", started=1.0), record("b", "failed", started=2.0))
    merge_runs([second, first] if swap else [first, second], tmp_path / "out")
    assert [entry.outcome for entry in RunDir(tmp_path / "out").records()] == ["failed", "failed"]


def test_merge_keeps_judge_replies(tmp_path: Path) -> None:
    sources = [make_run(tmp_path / name, record(name)) for name in ("1", "2")]
    for source in sources:
        (source / "judge_replies" / source.name).mkdir(parents=True)
        (source / "judge_replies" / source.name / "x.json").write_text("{}")
    merge_runs(sources, tmp_path / "out")
    assert {path.parent.name for path in (tmp_path / "out" / "judge_replies").rglob("*.json")} == {"1", "2"}


def test_merge_keeps_memories_with_the_longer_history(tmp_path: Path) -> None:
    sources = [make_run(tmp_path / name, record(name)) for name in ("1", "2")]
    for source, histories in zip(sources, ({"both": 1, "one": 2}, {"both": 3}), strict=True):
        for of, trials in histories.items():
            memory, version = Memory(memory_folder(source, agent="a", digest="d", of=of)), MemoryVersion()
            for number in range(trials):
                with memory.taken():
                    version = memory.add(f"{source.name}: {number}", trial=f"t{number}", after=version)
    assert merge_runs(sources, tmp_path / "out").memories_replaced == 1
    latest = [Memory(tmp_path / "out" / folder).latest(trial="") for folder in memories_of(tmp_path / "out")]
    assert [(version.text, version.trials) for version in latest] == [("2: 2", 3), ("1: 1", 2)]


def test_merge_refuses_existing_target_and_missing_source(tmp_path: Path) -> None:
    first = make_run(tmp_path / "1", record("a"))
    with pytest.raises(UsageError, match="new or empty directory"):
        merge_runs([first], first)
    with pytest.raises(UsageError, match="expected a run directory"):
        merge_runs([tmp_path / "nowhere"], tmp_path / "out")


def test_exported_files_equal_the_records(tmp_path: Path) -> None:
    run = RunDir(
        make_run(tmp_path / "1", record("a", answer='say "hi",\nplease', sites=("shop", "map")), record("b", "failed"))
    )
    export(run)
    summary = json.loads((run.path / "summary.json").read_text())
    assert summary["schema_version"] == 1
    assert summary["agents"]["a"]["rate"] | {"interval95": None} == {
        "passed": 1, "failed": 1, "errors": 0, "judged": 2, "value": 0.5, "interval95": None,
    }  # fmt: skip
    rows = list(csv.DictReader(io.StringIO((run.path / "results.csv").read_text())))
    assert tuple(rows[0]) == COLUMNS
    assert (rows[0]["answer"], rows[0]["sites"], rows[1]["outcome"]) == ('say "hi",\nplease', "shop map", "failed")


def test_empty_run_exports_only_a_header() -> None:
    assert results_csv([]) == ",".join(COLUMNS) + "\n"


def test_results_csv_has_no_terminal_control_characters() -> None:
    text = results_csv([TrialRecord(key=TrialKey("t", "a", 1), outcome="failed", answer="\x1b[31mred\x07\ntwo")])
    assert "red" in text
    assert "\x1b" not in text
    assert "\x07" not in text


def linked(run: Path, place: str, secret: Path) -> None:
    """Replace ``place`` in the run with a link to a folder or a file in it; TRIAL is the folder of its one trial."""
    link = run / place.replace("TRIAL", next((run / "trials").iterdir()).name)
    link.parent.mkdir(parents=True, exist_ok=True)
    if link.is_dir():
        link.rename(link.with_name("aside"))
    link.unlink(missing_ok=True)
    link.symlink_to(secret / "key" if link.suffix else secret)


@pytest.mark.parametrize(
    "place",
    [
        "trials", "trials/etc", "trials/TRIAL/attempt-1/screenshots", "trials/TRIAL/attempt-1/own/deep/x.png",
        "trials/TRIAL/trial.json", "judge_replies", "judge_replies/m/x.json", "memory", "memory/a",
        "memory/a/b/00001.json", "run.json", "plan.json",
    ],
)  # fmt: skip
def test_merge_refuses_links_and_leaves_no_target(tmp_path: Path, place: str) -> None:
    first, second = make_run(tmp_path / "1", record("a")), make_run(tmp_path / "2", record("b"))
    (tmp_path / "secret" / "b").mkdir(parents=True)
    (tmp_path / "secret" / "key").write_text('{"schema_version": 1, "trials": []}')
    linked(second, place, tmp_path / "secret")
    known = set(tmp_path.rglob("*"))
    with pytest.raises(UsageError, match="found a link"):
        merge_runs([first, second], tmp_path / "out")
    assert set(tmp_path.rglob("*")) == known


def test_merge_refuses_special_files(tmp_path: Path) -> None:
    first = make_run(tmp_path / "1", record("a"))
    os.mkfifo(next((first / "trials").iterdir()) / "attempt-1" / "own")
    with pytest.raises(UsageError, match="found a special file"):
        merge_runs([first], tmp_path / "out")


def test_failed_merge_leaves_no_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = make_run(tmp_path / "1", record("a"))
    target_existed: list[bool] = []

    def full(run: RunDir) -> None:
        target_existed.append((tmp_path / "out").exists())
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(merge, "export", full)
    with pytest.raises(UsageError, match="No space left"):
        merge_runs([first], tmp_path / "out")
    assert target_existed == [False]  # also if it is killed
    assert [path.name for path in tmp_path.iterdir()] == ["1"]


def test_merge_does_not_overwrite_a_target_created_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = make_run(tmp_path / "1", record("a"))
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    (tmp_path / "empty").mkdir()
    for name in ("file", "link"):
        with pytest.raises(UsageError, match=f"expected a new or empty directory, found a {name}"):
            merge_runs([first], tmp_path / name)
    assert merge_runs([first], tmp_path / "empty").trials == 1
    monkeypatch.setattr(merge, "export", lambda run: (tmp_path / "out" / "mine").mkdir(parents=True))
    with pytest.raises(UsageError, match="Directory not empty"):
        merge_runs([first], tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine"]
