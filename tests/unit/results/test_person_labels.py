"""People's labels of recorded trials: the check ``human`` is judged by them when the run is judged again."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_webarena.actions import Stop
from pytest_webarena.checks.grading import REPAIRED
from pytest_webarena.commands.cli import main
from pytest_webarena.llm_judge.config import JudgeSettings
from pytest_webarena.llm_judge.judge import Judge
from pytest_webarena.results import RunDir, TrialRecord
from pytest_webarena.tasks import parse_tasks
from pytest_webarena.trials.options import TrialOptions
from pytest_webarena.trials.rescoring import Rescorer
from tests.recordings import record_trial

TASK = "tasks: [{id: buy, sites: [], intent: Buy it., checks: [{human: Was it bought?}]}]"


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    """Return a run with a trial that only people can decide, judged once without labels."""
    record_trial(tmp_path / "run", "buy", [("page", Stop("x"), None)], answer="x", started=1.8e9)
    made = RunDir(tmp_path / "run")
    assert judged(made).undecided
    return made


def judged(run: RunDir, task: str = TASK) -> TrialRecord:
    """Judge the run's only trial again."""
    options = TrialOptions(grading=REPAIRED, check_timeout=0)
    rescorer = Rescorer(run, options=options, judge=Judge(JudgeSettings()), agents={"clerk": "clerk"})
    return rescorer.run(parse_tasks(task)[0], "clerk", 1, browser="chromium", node_id="")


def label(run: RunDir, by: str, answer: str) -> None:
    """Fill in the sheet, and add it."""
    sheet = run.path.parent / f"{by}.csv"
    assert main(["judge", "annotate", "sheet", str(run.path), "-o", str(sheet)]) == 0
    (row,) = csv.DictReader(sheet.read_text().splitlines())
    assert row["question"] == "Was it bought?"
    with sheet.open("w") as file:
        writer = csv.DictWriter(file, row)
        writer.writeheader()
        writer.writerow({**row, "label": answer})
    assert main(["judge", "annotate", "add", str(run.path), str(sheet), "--by", by]) == 0


@pytest.mark.parametrize(("answer", "outcome"), [("yes", "passed"), ("no", "failed")])
def test_label_decides(run: RunDir, answer: str, outcome: str) -> None:
    label(run, "Ana", answer)
    record = judged(run)
    assert (record.outcome, record.undecided) == (outcome, False)
    assert record.verdict is not None
    (result,) = record.verdict["results"]
    assert result["actual"].startswith(f"Ana: {answer} (")
    assert result["actual"].endswith("1 of 1 agree")
    assert [each["outcome"] for each in record.history][-1] == "failed"


def test_people_who_disagree_decide_nothing(run: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    label(run, "Ana", "yes")
    label(run, "Ben", "no")
    assert "Ana and Ben: 0 of 1 labels agree, kappa" in capsys.readouterr().out
    record = judged(run)
    assert record.undecided
    assert record.verdict is not None
    assert record.verdict["results"][0]["why"] == "people disagree"
    label(run, "Ben", "yes")  # the later label counts
    assert judged(run).outcome == "passed"


def test_label_of_another_question_decides_nothing(run: RunDir) -> None:
    label(run, "Ana", "yes")
    record = judged(run, TASK.replace("Was it bought?", "Was it cheap?"))
    assert record.undecided
    assert record.verdict is not None
    assert "answer other questions" in record.verdict["results"][0]["why"]


def test_label_of_an_earlier_run_of_the_trial_decides_nothing(run: RunDir) -> None:
    label(run, "Ana", "yes")
    (record,) = run.records()
    run.folder(record.key).update(replace(record, started=record.started + 1))
    assert judged(run).undecided


@pytest.mark.parametrize(
    "change",
    [{"done": 1}, {"by": " "}, {"at": "now"}, {"at": 1e300}, {"question": None}, {"started": None}],
    ids=str,
)
def test_lines_that_are_no_labels_are_ignored(run: RunDir, change: dict[str, object]) -> None:
    label(run, "Ana", "yes")
    (file,) = run.trials.glob("*/labels.jsonl")
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}) + "\n{\n[]\n")
    assert judged(run).undecided


@pytest.mark.parametrize(
    ("text", "by", "message"),
    [
        ("task,label\nbuy,yes\n", "", "--by: expected the name of the person"),
        ("task,label,question\nbuy,yes,Was it cheap?\n", "Ana", "question: expected 'Was it bought?' of buy"),
        ("task,label\nbuy,\n", "Ana", "expected labels (yes or no) of at least one trial"),
    ],
)
def test_bad_sheets_are_refused(
    run: RunDir, capsys: pytest.CaptureFixture[str], text: str, by: str, message: str
) -> None:
    sheet = run.path.parent / "labels.csv"
    sheet.write_text(text)
    assert main(["judge", "annotate", "add", str(run.path), str(sheet), "--by", by]) == 2
    assert message in capsys.readouterr().err
    assert not list(run.trials.glob("*/labels.jsonl"))


def test_decisions_of_people_are_not_compared_with_people(run: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    label(run, "Ana", "yes")
    assert judged(run).outcome == "passed"
    capsys.readouterr()
    assert main(["judge", "annotate", "compare", str(run.path), f"{run.path.parent}/Ana.csv", "--format=json"]) == 0
    assert json.loads(capsys.readouterr().out)["agreement"] == {}
