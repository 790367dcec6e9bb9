"""People's points beside the judge's, of the answers of a run."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.checks.verdict import Part
from pytest_webarena.commands.cli import main
from pytest_webarena.llm_judge import JudgeSettings, standing
from pytest_webarena.results import RunDir
from pytest_webarena.results.records import JudgeRecord
from tests.made_up import check, make_run, make_trial

PROMPT = JudgeSettings().identity("rubric").prompt
JUDGE = JudgeRecord(model="m", prompt=f"teacher@1 + {PROMPT}", temperature=0.0, questions=1)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEBARENA_CACHE_DIR", str(tmp_path / "cache"))


def part(points: float, of: float) -> Part:
    return Part(what=f"Does it, for {of:g}.", points=points, of=of, given=points, quote="so")


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    """Three answers to ``p`` and one to ``q``; one trial that needed no judge."""
    made = make_run(tmp_path / "run")
    for trial, (one, two) in enumerate([(4, 6), (4, 3), (0, 0)], start=1):
        add(made, "p", trial, part(one, 4), part(two, 6))
    add(made, "q", 1, part(5, 10), answer="=cmd()")
    make_trial(made, "r", checks=[check("rubric", 1.0)])
    return made


def add(run: RunDir, task: str, trial: int, *parts: Part, **more: Any) -> None:
    score = sum(each.points for each in parts) / 10
    make_trial(
        run,
        task,
        "passed" if score == 1 else "failed",
        trial=trial,
        checks=[check("rubric", score, parts=parts)],
        judge=JUDGE,
        **more,
    )


def points(path: Path, *rows: str, head: str = "task,trial,item,points") -> Path:
    path.write_text("\n".join([head, *rows]) + "\n")
    return path


ROWS = ("p,1,1,4", "p,1,2,6", "p,2,1,4", "p,2,2,1", "p,3,1,0", "p,3,2,0", "q,1,1,7")


def test_all_figures_of_the_study(run: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = points(tmp_path / "people.csv", *ROWS)
    assert main(["rubric", "compare", str(run.path), str(file), "--format=json", "--judge-bar=0.5"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["graded_answers"], data["items"], data["exact"], data["over"], data["under"]) == (4, 7, 5, 1, 1)
    assert data["bias"] == pytest.approx((0 + 0.2 + 0 - 0.2) / 4)
    assert data["distance"] == pytest.approx(0.1)
    # totals: people 1, .5, 0, .7; judge 1, .7, 0, .5
    assert data["pearson"] == pytest.approx(49 / 53)
    assert data["spearman"] == pytest.approx(0.8)
    assert data["by_item"]["p, item 2"]["over"] == 1
    assert data["judge"] == {"model": "m", "prompt": PROMPT, "temperature": 0.0}
    assert data["left_out"] == []


def test_the_report_fits_and_names_what_is_furthest_off(
    run: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = points(tmp_path / "people.csv", *ROWS[:-1])
    assert main(["rubric", "compare", str(run.path), str(file), "--judge-bar=0.99"]) == 1
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    assert "bar 0.99: NOT reached" in text
    assert "answer p, a, trial 2" in text
    assert "3 of 6, people 1" in " ".join(text.split())
    assert "left out: q, a, trial 1" in text
    assert "n = 3" in text


def test_several_people_are_averaged_and_empty_points_wait(run: RunDir, tmp_path: Path) -> None:
    head = "Task,Trial,Item,Points,Grader"
    file = points(tmp_path / "p.csv", "p,1,1,4,x", "p,1,1,2,y", "p,1,2,6,x", "p,2,1,4,x", "p,2,2,,x", head=head)
    from pytest_webarena.llm_judge.people import study

    found = study(run, file)
    assert [(mark.human, mark.judge) for mark in found.measurement.marks.marks] == [(3, 4), (6, 6)]
    assert any("p, a, trial 2" in each and "some items" in each for each in found.left_out)


def test_remembered_it_decides_whether_the_judge_is_asked(
    run: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = JudgeSettings(model="m")
    bad = points(tmp_path / "bad.csv", "p,1,1,0", "p,1,2,0", "p,3,1,4", "p,3,2,6")
    assert main(["rubric", "compare", str(run.path), str(bad)]) == 1
    assert standing(settings, "rubric").known is None
    assert main(["rubric", "compare", str(run.path), str(bad), "--remember"]) == 1
    assert "below the bar of 0.8" in standing(settings, "rubric").off
    good = points(tmp_path / "good.csv", *ROWS[:2], *ROWS[4:6])
    assert main(["rubric", "compare", str(run.path), str(good), "--remember"]) == 0
    assert standing(settings, "rubric").off == ""
    assert "kappa 1.00" in standing(settings, "rubric").told


def test_the_sheet_can_be_filled_in_and_starts_no_formula(
    run: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "sheet.csv"
    assert main(["rubric", "sheet", str(run.path), "-o", str(file)]) == 0
    assert "webarena rubric compare" in capsys.readouterr().out
    with file.open() as opened:
        rows = list(csv.DictReader(opened))
    assert [(row["task"], row["trial"], row["item"], row["of"]) for row in rows][:2] == [
        ("p", "1", "1", "4"),
        ("p", "1", "2", "6"),
    ]
    assert rows[-1]["answer"] == "'=cmd()"
    for row in rows:
        row["points"] = row["of"]
    with file.open("w") as opened:
        writer = csv.DictWriter(opened, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    assert main(["rubric", "compare", str(run.path), str(file)]) == 1
    assert "too few" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("head", "row", "told"),
    [
        ("task,trial,points", "p,1,4", "item missing in 'task', 'trial', 'points'"),
        ("task,trial,item,points", "p,1,one,4", "line 2: expected a number of an item and its points, found 'one'"),
        ("task,trial,item,points", "p,1,3,4", "line 2: expected an item from 1 to 2, found 3"),
        ("task,trial,item,points", "p,1,1,5", "line 2: expected 0 to 4 points, found 5"),
        ("task,trial,item,points", "p,1,1,-1", "line 2: expected 0 to 4 points, found -1"),
        ("task,trial,item,points", "p,1,1,nan", "line 2: expected 0 to 4 points, found nan"),
        ("task,trial,item,points", "p,9,1,4", "no trial '9' of it is"),
        ("task,trial,item,points", "pp,1,1,4", "'pp'"),
        ("task,trial,item,points", "p,1,1,4", "all items of at least one answer"),
        ("task,trial,item,points", "", "all items of at least one answer"),
    ],
)
def test_what_is_wrong_with_the_points_is_told(
    run: RunDir, tmp_path: Path, head: str, row: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rubric", "compare", str(run.path), str(points(tmp_path / "x.csv", row, head=head))]) == 2
    assert told in capsys.readouterr().err


def test_two_agents_have_to_be_told_apart(run: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add_other = [check("rubric", 1.0, parts=(part(4, 4), part(6, 6)))]
    make_trial(run, "p", "passed", agent="b", checks=add_other, judge=JUDGE)
    assert main(["rubric", "compare", str(run.path), str(points(tmp_path / "x.csv", "p,1,1,4"))]) == 2
    assert "a column 'agent'" in capsys.readouterr().err


def test_a_run_without_rubrics_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_run(tmp_path / "run")
    make_trial(run, "t")
    assert main(["rubric", "sheet", str(run.path)]) == 2
    assert main(["rubric", "compare", str(run.path), str(points(tmp_path / "x.csv"))]) == 2
    assert "expected trials with rubrics that a judge graded" in capsys.readouterr().err
