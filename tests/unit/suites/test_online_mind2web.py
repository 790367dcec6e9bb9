"""Online-Mind2Web's file: tasks on live sites whose verdicts are left to people. All tasks are invented."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.checks.judging import judge
from pytest_webarena.errors import TaskFileError
from pytest_webarena.evidence import Evidence
from pytest_webarena.results import TrialKey, TrialRecord, summarise
from pytest_webarena.results.wording import PEOPLE, undecided_remedy, why_undecided
from pytest_webarena.suites.export import export
from pytest_webarena.suites.live_catalogue import live_addresses
from pytest_webarena.suites.loading import load_suite
from pytest_webarena.tasks import load_tasks
from pytest_webarena.tasks.model import Start, Task

ROW: dict[str, Any] = {
    "task_id": "0a1b2c_110325",
    "confirmed_task": "Find the cheapest red lamp.",
    "website": "https://www.lamps.test/uk?lang=en",
    "reference_length": 6,
    "level": "medium",
}


def write(folder: Path, *rows: dict[str, Any]) -> str:
    path = folder / "Online_Mind2Web.json"
    path.write_text(json.dumps(list(rows), indent=1))
    return str(path)


def read(folder: Path, *rows: dict[str, Any]) -> tuple[Task, ...]:
    return load_suite(write(folder, *rows)).tasks


def test_task_is_read_as_one_on_a_live_site(tmp_path: Path) -> None:
    other = {**ROW, "task_id": "9", "website": "http://wiki.test/"}
    first, second = read(tmp_path, ROW, other)
    assert (first.id, first.intent, first.sites) == (
        "Online_Mind2Web.0a1b2c_110325",
        ROW["confirmed_task"],
        ("lamps-test",),
    )
    assert first.start == (Start(site="lamps-test", path="/uk?lang=en"),)
    assert (first.tags, first.reference_length) == (("level:medium",), 6)
    assert live_addresses((first, second)) == {"lamps-test": "https://www.lamps.test", "wiki-test": "http://wiki.test"}


def test_imported_file_has_the_same_tasks(tmp_path: Path) -> None:
    source = write(tmp_path, ROW)
    export(source, tmp_path / "tasks.yaml")
    (task,), (imported,) = load_suite(source).tasks, load_tasks(tmp_path / "tasks.yaml")
    assert task.digest == imported.digest


@pytest.mark.parametrize("answer", ["Lumen 3", "", None])
def test_no_answer_decides_the_verdict(tmp_path: Path, answer: str | None) -> None:
    (task,) = read(tmp_path, ROW)
    verdict = judge(task, Evidence(answer=answer, stop_reason="answered", sites={}))
    assert (verdict.passed, verdict.undecided, verdict.judgeable) == (None, True, True)
    record = TrialRecord(
        key=TrialKey(task.id, "a", 1), outcome="failed", message="x", stop_reason="answered", verdict=verdict.to_json()
    )
    assert record.undecided
    assert why_undecided(record).endswith(PEOPLE)
    (summary,) = summarise([record]).values()
    assert (summary.rate.passed, summary.undecided, summary.for_people) == (0, 1, 1)
    assert undecided_remedy(summary) == PEOPLE


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"website": "lamps.test"}, "expected an address that starts with http:// or https://"),
        ({"level": "expert"}, "expected easy, medium or hard"),
        ({"task_id": "a b"}, "expected an id of letters, digits, '-' and '_'"),
        ({"reference_length": "six"}, "expected a whole number from 0"),
        ({"confirmed_task": None}, "expected text"),
    ],
)
def test_faulty_row_is_refused_with_its_place(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    with pytest.raises(TaskFileError) as error:
        read(tmp_path, {**ROW, **change})
    assert f"{problem} in '{next(iter(change))}' of task at position 0, found " in str(error.value)
    assert "Online_Mind2Web.json:" in str(error.value)


def test_id_of_two_tasks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TaskFileError, match="expected an id used once"):
        read(tmp_path, ROW, {**ROW, "level": "easy"})
