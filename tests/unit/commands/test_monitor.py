"""``webarena tasks monitor``, without a browser."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.monitoring.history import Entry, History

from ..suites.lamps import COMPACT

TASKS = """
tasks:
  - id: open
    sites: [homepage]
    intent: What is it?
    checks: [{answer: x}]
  - id: elsewhere
    sites: [nowhere]
    intent: What is it?
    checks: [{answer: x}]
    solution: [{stop: x}]
  - id: later
    sites: [homepage]
    intent: What is it?
    skip: not yet
    checks: [{answer: x}]
    solution: [{stop: x}]
  - id: wrong
    sites: [homepage]
    intent: What is it?
    xfail: out of order
    checks: [{answer: x}]
    solution: [{stop: y}]
"""


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.tasks.yaml").write_text(TASKS)
    return tmp_path / "a.tasks.yaml"


def test_tasks_that_cannot_be_tried_are_listed_as_untried(tasks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from pytest_webarena.tasks import load_tasks

    (later,) = [task for task in load_tasks(tasks) if task.id == "later"]
    entry = Entry(
        task="later", digest=later.digest, at=time.time(), status="valid"
    )  # just checked, and asked for again
    History(Path("webarena-monitor")).add(entry)
    assert main(["tasks", "monitor", str(tasks)]) == 3
    stdout = capsys.readouterr().out
    assert "untried        4  could not be checked" in stdout
    assert "it has no solution, and no key nodes with recorded addresses" in stdout
    assert "the catalogue embedded has no site nowhere" in stdout
    assert "the task is marked skip: not yet" in stdout
    assert "the task is marked xfail: out of order" in stdout
    report = json.loads(Path("webarena-monitor/report.json").read_text())
    assert [each["status"] for each in report["tasks"]] == ["untried"] * 4
    assert Path("webarena-monitor/report.html").is_file()
    alerts = json.loads(Path("webarena-monitor/alerts.json").read_text())
    assert [each["task"] for each in alerts["alerts"]] == ["open", "elsewhere", "later", "wrong"]
    assert len(History(Path("webarena-monitor")).entries) == 5


def test_live_tasks_report_their_missing_sites(tasks: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    suite = tmp_path / "lamps.json"
    suite.write_text(json.dumps(COMPACT))
    assert main(["tasks", "monitor", f"mind2web-live:{suite}", "--format=json"]) == 3
    report = json.loads(capsys.readouterr().out)
    assert {each["status"] for each in report["tasks"]} == {"untried"}
    whys = [each["why"] for each in report["tasks"]]
    assert all("webarena tasks import … --catalogue FILE writes one of live sites" in why for why in whys)
    assert any("." in why.partition("has no site ")[2].split(";")[0] for why in whys)


def test_only_due_tasks_are_checked(tasks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from pytest_webarena.tasks import load_tasks

    history = History(Path("webarena-monitor"))
    for task in load_tasks(tasks):
        history.add(Entry(task=task.id, digest=task.digest, at=time.time() - 3 * 86_400, status="valid"))
    assert main(["tasks", "monitor", str(tasks), "--only-due"]) == 4
    assert "none of 4 tasks is due; the next one is in 27 days" in capsys.readouterr().out
    assert not Path("webarena-monitor/report.json").exists()
    flags = Path("flags.jsonl")
    reports = [{"task": "open", "reason": "The answer is wrong.", "at": time.time()}, {"task": "no", "reason": "Odd."}]
    flags.write_text("".join(json.dumps(each) + "\n" for each in reports))
    assert main(["tasks", "monitor", str(tasks), "--only-due", "--flags=flags.jsonl", "--alerts=deep/alerts.json"]) == 3
    captured = capsys.readouterr()
    assert "reported: The answer is wrong." in captured.out
    assert "--flags flags.jsonl: of no task that was named: no" in captured.err
    report = json.loads(Path("webarena-monitor/report.json").read_text())
    assert [each["task"] for each in report["tasks"]] == ["open"]
    assert report["not_due"] == ["elsewhere", "later", "wrong"]
    assert json.loads(Path("deep/alerts.json").read_text())["alerts"][0]["flags"][0]["reason"] == "The answer is wrong."
    assert main(["tasks", "monitor", str(tasks), "--only-due", "--every=2", "--format=json"]) == 3
    assert len(json.loads(capsys.readouterr().out)["tasks"]) == 4


def test_history_is_shown_without_checking(tasks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "monitor", "--history"]) == 0
    assert "no check is kept in webarena-monitor" in capsys.readouterr().out
    History(Path("webarena-monitor")).add(Entry(task="a", digest="d", at=1.0, status="valid"))
    with Path("webarena-monitor/history.jsonl").open("a") as file:
        file.write("{")
    assert main(["tasks", "monitor", "--history"]) == 0
    captured = capsys.readouterr()
    assert "1970-01      1      1" in captured.out
    assert "left out a line that can't be read" in captured.err
    assert main(["tasks", "monitor", "--history", "--format=json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["month"] == "1970-01"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected tasks to check"),
        (["a.tasks.yaml::opne"], "did you mean 'open'"),
        (["nowhere.yaml"], "nowhere.yaml"),
        (["a.tasks.yaml", "--every=0"], "expected a number of days above 0"),
        (["a.tasks.yaml", "--every=nan"], "expected a number of days above 0"),
        (["a.tasks.yaml", "--flags=none.jsonl"], "expected a file that the viewer has written"),
        (["a.tasks.yaml", "--sites=none"], "none"),
        (["a.tasks.yaml", "--site-url=x"], "--site-url: expected SITE=URL"),
    ],
)
def test_invalid_monitor_arguments_are_usage_errors(
    tasks: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["tasks", "monitor", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_history_entries_of_the_future_are_ignored(tasks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from pytest_webarena.tasks import load_tasks

    history = History(Path("webarena-monitor"))
    for task in load_tasks(tasks):
        history.add(Entry(task=task.id, digest=task.digest, at=1e11, status="valid"))
    assert main(["tasks", "monitor", str(tasks), "--only-due"]) == 3
    assert "left out 4 lines that can't be read: damaged, or without a time in the past" in capsys.readouterr().err
    assert main(["tasks", "monitor", "--history"]) == 0
    for task in load_tasks(tasks):
        History(Path("webarena-monitor")).add(Entry(task=task.id, digest=task.digest, at=time.time(), status="valid"))
    assert main(["tasks", "monitor", str(tasks), "--only-due"]) == 4
    assert "left out 4 lines" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["monitor", "heal"])
def test_missing_task_file_is_not_reported_as_unknown_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["tasks", command, "gone.yaml::one"]) == 2
    assert (
        capsys.readouterr().err
        == f"webarena tasks {command}: gone.yaml::one: expected a task file, found no such file\n"
    )
