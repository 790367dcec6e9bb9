"""Merging runs and deriving files from them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.errors import UsageError
from pytest_webarena.results import RunDir, TrialKey, TrialRecord
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


def test_merging_is_a_union(tmp_path: Path) -> None:
    sources = [make_run(tmp_path / "1", record("a"), record("b")), make_run(tmp_path / "2", record("c", "failed"))]
    merged = merge_runs(sources, tmp_path / "out")
    assert (merged.trials, merged.replaced) == (3, 0)
    assert [entry.key.task for entry in RunDir(tmp_path / "out").records()] == ["a", "b", "c"]
    assert [part["run"] for part in RunDir(tmp_path / "out").facts()["merged"]] == ["1", "2"]


@pytest.mark.parametrize("swap", [False, True])
def test_a_verdict_beats_an_error_and_the_later_beats_the_earlier(tmp_path: Path, swap: bool) -> None:
    first = make_run(tmp_path / "1", record("a", "error", started=9.0), record("b", "passed", started=1.0))
    second = make_run(tmp_path / "2", record("a", "failed", started=1.0), record("b", "failed", started=2.0))
    merge_runs([second, first] if swap else [first, second], tmp_path / "out")
    assert [entry.outcome for entry in RunDir(tmp_path / "out").records()] == ["failed", "failed"]


def test_what_judges_said_comes_along(tmp_path: Path) -> None:
    sources = [make_run(tmp_path / name, record(name)) for name in ("1", "2")]
    for source in sources:
        (source / "judged" / source.name).mkdir(parents=True)
        (source / "judged" / source.name / "x.json").write_text("{}")
    merge_runs(sources, tmp_path / "out")
    assert {path.parent.name for path in (tmp_path / "out" / "judged").rglob("*.json")} == {"1", "2"}


def test_memories_come_along_and_the_longer_history_is_taken(tmp_path: Path) -> None:
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


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    first = make_run(tmp_path / "1", record("a"))
    with pytest.raises(UsageError, match="new or empty directory"):
        merge_runs([first], first)
    with pytest.raises(UsageError, match="expected a run directory"):
        merge_runs([tmp_path / "nowhere"], tmp_path / "out")


def test_exports_tell_the_same_as_the_records(tmp_path: Path) -> None:
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


def test_an_empty_run_exports_a_header_only() -> None:
    assert results_csv([]) == ",".join(COLUMNS) + "\n"


def test_the_table_of_results_is_safe_to_show_in_a_terminal() -> None:
    told = results_csv([TrialRecord(key=TrialKey("t", "a", 1), outcome="failed", answer="\x1b[31mred\x07\ntwo")])
    assert "red" in told
    assert "\x1b" not in told
    assert "\x07" not in told
