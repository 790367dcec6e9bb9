"""``webarena judge annotate``: human labels compared with key nodes, outcome checks and verdicts."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.results.records import JudgeRecord, TrialKey, TrialRecord
from pytest_webarena.results.rundir import RunDir


def record(
    task: str, nodes: float | None, outcome: float | None, *, agent: str = "a", judged: bool = False
) -> TrialRecord:
    results: list[dict[str, Any]] = [
        {"kind": "key_nodes", "score": nodes},
        {"kind": "answer", "score": outcome},
    ]
    both = [nodes, outcome]
    passed = False if 0 in both else None if None in both else all(score == 1 for score in both)
    return TrialRecord(
        key=TrialKey(task, agent, 1),
        outcome="error" if passed is None else "passed" if passed else "failed",
        cause="judge" if passed is None else None,
        verdict={"results": results, "passed": passed},
        judge=JudgeRecord(model="m", prompt="p", temperature=0, questions=1) if judged else None,
        intent=f"={task}",
    )


RECORDS = [
    record("both", 1, 1, judged=True),
    record("nodes", 1, 0),
    record("answer", 0.5, 1, judged=True),
    record("none", 0, 0),
    record("open", None, 1),
]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    run = RunDir(tmp_path / "run")
    run.describe({})
    for each in RECORDS:
        folder = run.folder(each.key)
        writer = folder.begin(worker="main", node_id="")
        folder.finish(replace(each, attempt=writer.number))
    return run.path


def labels(tmp_path: Path, text: str) -> str:
    file = tmp_path / "labels.csv"
    file.write_text(text)
    return str(file)


def test_agreement_matches_hand_computed_values(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people = labels(tmp_path, "task,label\nboth,yes\nnodes,no\nanswer,yes\nnone,no\nopen,\n")
    assert main(["judge", "annotate", "compare", str(run), people, "--format=json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["trials"], data["done"]) == (4, 2)
    nodes = data["agreement"]["key nodes"]
    assert (nodes["trials"], nodes["accuracy"], nodes["precision"], nodes["recall"]) == (4, 0.5, 0.5, 0.5)
    assert nodes["kappa"] == 0
    outcome = data["agreement"]["outcome checks"]
    assert (outcome["kappa"], outcome["precision"], outcome["recall"]) == (1, 1, 1)
    verdict = data["agreement"]["verdict"]
    assert (verdict["precision"], verdict["recall"], verdict["kappa"]) == (1, 0.5, 0.5)
    assert data["agreement"]["verdict with a judge"]["trials"] == 2
    assert [each["trial"] for each in data["disagreements"]] == ["nodes, a, trial 1", "answer, a, trial 1"]


def test_undecided_results_are_excluded_from_agreement(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["judge", "annotate", "compare", str(run), labels(tmp_path, "task,label\nopen,1\nboth,1\n")]) == 0
    lines = {line[:24].strip(): line[24:].split() for line in capsys.readouterr().out.splitlines()}
    assert lines["key nodes"][-1] == "1"
    assert lines["outcome checks"][2:] == ["100%", "100%", "100%", "0"]
    assert max(map(len, lines)) <= 80


def test_label_sheet_can_be_filled_in_and_compared(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", "annotate", "sheet", str(run)]) == 0
    file = run / "labels.csv"
    rows = list(csv.DictReader(io.StringIO(file.read_text())))
    assert {row["task"] for row in rows} == {each.key.task for each in RECORDS}
    assert all(row["intent"].startswith("'=") for row in rows)  # nothing that a spreadsheet runs
    assert main(["judge", "annotate", "compare", str(run), str(file)]) == 2
    assert "expected labels (yes or no)" in capsys.readouterr().err
    file.write_text(file.read_text().replace("both,a,1,chromium,", "both,a,1,chromium,Yes"))
    assert main(["judge", "annotate", "compare", str(run), str(file)]) == 0


@pytest.mark.parametrize(
    "command", [["judge", "annotate", "sheet"], ["judge", "annotate", "compare"], ["judge", "rubric", "sheet"]]
)
def test_unreadable_record_is_an_error(
    run: Path, tmp_path: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    broken = RunDir(run).folder(RECORDS[1].key).path / "trial.json"
    broken.write_text("{")
    more = [labels(tmp_path, "task,label\nboth,yes\n")] if command[-1] == "compare" else []
    assert main([*command, str(run), *more]) == 2
    stderr = capsys.readouterr().err
    assert "expected records that can be read, found" in stderr
    assert broken.parent.name in stderr
    assert not list(run.glob("*.csv"))


def test_sheet_that_cannot_be_written_is_an_error(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["judge", "annotate", "sheet", str(run), "-o", str(tmp_path)]) == 2
    assert f"{tmp_path}: expected a place for a file, found: Is a directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "found no label and no task"),
        ("task\nboth", "found no label"),
        ("task,label\nboth,maybe", "line 2: label: expected yes or no, found 'maybe'"),
        ("task,label\nbth,yes", "both"),
        ("task,trial,label\nboth,7,yes", "no such trial of it"),
        ("task,label\nboth,yes\nboth,no", "expected one label for each trial"),
        ("task,label\n,yes", "expected one trial, found 5"),
        ("task,label\nboth,\x00", "expected"),
    ],
)
def test_invalid_label_files_are_errors(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    assert main(["judge", "annotate", "compare", str(run), labels(tmp_path, text)]) == 2
    assert message in capsys.readouterr().err


def test_all_invalid_rows_are_reported_at_once(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "task,label\nboth,maybe\nnodes,yes\nbth,no\nnone,no\nnone,yes\n" + "open,perhaps\n" * 60
    assert main(["judge", "annotate", "compare", str(run), labels(tmp_path, text)]) == 2
    stderr = capsys.readouterr().err.splitlines()
    for line, words in zip(
        stderr, ("line 2: label", "line 4: expected a trial", "line 6: expected one label", "line 7"), strict=False
    ):
        assert words in line
    assert (len(stderr), stderr[-1]) == (51, "… and 13 more")


def test_missing_label_file_is_an_error(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", "annotate", "compare", str(run), str(tmp_path / "no.csv")]) == 2
    assert "expected a CSV file" in capsys.readouterr().err


def test_row_of_another_record_is_refused(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = {each.key.task: f"trials/{each.key.folder}" for each in RECORDS}
    good = labels(tmp_path, f"task,label,record\nboth,yes,{folders['both']}\n")
    assert main(["judge", "annotate", "compare", str(run), good]) == 0
    swapped = labels(tmp_path, f"task,label,record\nboth,yes,{folders['none']}\n")
    assert main(["judge", "annotate", "compare", str(run), swapped]) != 0
    assert f"record: expected '{folders['both']}' of both, a, trial 1" in capsys.readouterr().err
