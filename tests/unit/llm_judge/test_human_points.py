"""Human points compared with the judge's points, for answers of a run."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.checks.verdict import Part
from pytest_webarena.commands.cli import main
from pytest_webarena.llm_judge.config import JudgeSettings
from pytest_webarena.llm_judge.human_points import sheet, study
from pytest_webarena.llm_judge.judge_eligibility import judge_eligibility_of
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


def points(run: RunDir, path: Path, *rows: str, head: str = "task,trial,item,points") -> Path:
    """Write a file with these rows and the digests of the run's sheet."""
    digests = {tuple(row[name] for name in PLACE): row["digest"] for row in csv.DictReader(io.StringIO(sheet(run)))}
    names = head.lower().split(",")
    places = [dict(zip(names, row.split(","), strict=False)) for row in rows]
    row_digests = [digests.get(tuple(each.get(name, "") for name in PLACE), "d0") if each else "" for each in places]
    lines = [f"{digest},{row}" if row else row for digest, row in zip(row_digests, rows, strict=True)]
    path.write_text("\n".join([f"digest,{head}", *lines]) + "\n")
    return path


PLACE = ("task", "trial", "item")
ROWS = ("p,1,1,4", "p,1,2,6", "p,2,1,4", "p,2,2,1", "p,3,1,0", "p,3,2,0", "q,1,1,7")


def test_comparison_reports_all_figures(run: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = points(run, tmp_path / "people.csv", *ROWS)
    assert main(["judge", "rubric", "compare", str(run.path), str(file), "--format=json", "--judge-min-kappa=0.5"]) == 0
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


def test_report_fits_80_columns_and_lists_the_largest_differences(
    run: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = points(run, tmp_path / "people.csv", *ROWS[:-1])
    assert main(["judge", "rubric", "compare", str(run.path), str(file), "--judge-min-kappa=0.99"]) == 1
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    assert "bar 0.99: NOT reached" in text
    assert "answer p, a, trial 2" in text
    assert "3 of 6, people 1" in " ".join(text.split())
    assert "left out: q, a, trial 1" in text
    assert "n = 3" in text


def test_points_of_several_graders_are_averaged_and_empty_ones_skipped(run: RunDir, tmp_path: Path) -> None:
    head = "Task,Trial,Item,Points,Grader"
    file = points(run, tmp_path / "p.csv", "p,1,1,4,x", "p,1,1,2,y", "p,1,2,6,x", "p,2,1,4,x", "p,2,2,,x", head=head)
    found = study(run, file)
    assert [(mark.human, mark.judge) for mark in found.measurement.marks.marks] == [(3, 4), (6, 6)]
    assert any("p, a, trial 2" in each and "some items" in each for each in found.left_out)


def test_stored_comparison_decides_whether_the_judge_is_used(
    run: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = JudgeSettings(model="m")
    bad = points(run, tmp_path / "bad.csv", "p,1,1,0", "p,1,2,0", "p,3,1,4", "p,3,2,6")
    assert main(["judge", "rubric", "compare", str(run.path), str(bad)]) == 1
    assert judge_eligibility_of(settings, "rubric").known is None
    assert main(["judge", "rubric", "compare", str(run.path), str(bad), "--remember"]) == 1
    assert "below the bar of 0.8" in judge_eligibility_of(settings, "rubric").off
    good = points(run, tmp_path / "good.csv", *ROWS[:2], *ROWS[4:6])
    assert main(["judge", "rubric", "compare", str(run.path), str(good), "--remember"]) == 0
    assert judge_eligibility_of(settings, "rubric").off == ""
    assert "kappa 1.00" in judge_eligibility_of(settings, "rubric").summary


def test_sheet_can_be_filled_in_and_contains_no_formulas(
    run: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "sheet.csv"
    assert main(["judge", "rubric", "sheet", str(run.path), "-o", str(file)]) == 0
    assert "webarena judge rubric compare" in capsys.readouterr().out
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
    assert main(["judge", "rubric", "compare", str(run.path), str(file)]) == 1
    assert "too few" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("head", "row", "message"),
    [
        ("task,trial,points", "p,1,4", "item missing in 'digest', 'task', 'trial', 'points'"),
        ("task;trial;item;points", "p;1;1;4", "with commas between; task, trial, item, points missing"),
        ("task,trial,item,points,points", "p,1,1,4,3", "expected each column once, found several of points"),
        ("task,trial,item,points", "p,1,one,4", "row 2: expected the number of an item, found 'one'"),
        ("task,trial,item,points", "p,1,3,4", "row 2: expected an item from 1 to 2, found 3"),
        ("task,trial,item,points", "p,1,1,5", "row 2: expected 0 to 4 points, found 5"),
        ("task,trial,item,points", "p,1,1,-1", "row 2: expected 0 to 4 points, found -1"),
        (
            "task,trial,item,points",
            "p,1,1,nan",
            "with a decimal point, such as 2.5, found 'nan'",
        ),
        ("task,trial,item,points", "p,1,1,inf", "found 'inf'"),
        ("task,trial,item,points", "p,1,1,1_0", "found '1_0'"),
        ("task,trial,item,points", 'p,1,1,"2,5"', "found '2,5'"),
        ("task,trial,item,points", "p,1,1,2,5", "row 2: expected 5 cells as in the first line, found 6"),
        ("task,trial,item,points", "p,9,1,4", "no trial '9' of it is"),
        ("task,trial,item,points", "pp,1,1,4", "'pp'"),
        ("task,trial,item,points", "p,1,1,4", "all items of at least one answer"),
        ("task,trial,item,points", "", "all items of at least one answer"),
    ],
)
def test_invalid_points_are_reported(
    run: RunDir, tmp_path: Path, head: str, row: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(["judge", "rubric", "compare", str(run.path), str(points(run, tmp_path / "x.csv", row, head=head))]) == 2
    )
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changed", "rows"),
    [
        ({"answer": "Something else."}, "rows 2, 3"),
        ({"intent": "Prove something else."}, "rows 2, 3"),
        ({"swapped": True}, "rows 2, 3"),
        ({"of": True}, "rows 2, 3"),
        ({"what": True}, "row 2"),
    ],
)
def test_points_for_other_answers_or_items_are_refused(
    run: RunDir, tmp_path: Path, changed: dict[str, Any], rows: str, capsys: pytest.CaptureFixture[str]
) -> None:
    other = make_run(tmp_path / "other")
    one, two = part(4, 4), part(6, 6)
    given = {
        "swapped": (two, one),
        "of": (replace(one, of=5), replace(two, of=5)),
        "what": (replace(one, what="Does something else."), two),
    }
    parts = next((given[key] for key in changed if key in given), (one, two))
    add(other, "p", 1, *parts, **{key: value for key, value in changed.items() if key not in given})
    file = points(run, tmp_path / "x.csv", "p,1,1,4", "p,1,2,4", "p,1,2,")
    assert main(["judge", "rubric", "compare", str(other.path), str(file)]) == 2
    stderr = capsys.readouterr().err
    assert f"found points for others on {rows}: " in stderr
    assert "'webarena judge rubric sheet' writes one for this run" in stderr


def test_a_sheet_fits_the_same_answers_in_another_run(run: RunDir, tmp_path: Path) -> None:
    other = make_run(tmp_path / "other")
    add(other, "p", 1, part(4, 4), part(6, 6))
    found = study(other, points(run, tmp_path / "x.csv", "p,1,1,4", "p,1,2,4"))
    assert [mark.human for mark in found.measurement.marks.marks] == [4, 4]


def test_points_given_twice_by_one_person_are_refused(
    run: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for head, rows in [
        ("task,trial,item,points", ("p,1,1,4", "p,1,2,6", "p,1,1,4")),
        ("task,trial,item,points,grader", ("p,1,1,4,x", "p,1,1,3,y", "p,1,1,2,x")),
    ]:
        assert (
            main(["judge", "rubric", "compare", str(run.path), str(points(run, tmp_path / "x.csv", *rows, head=head))])
            == 2
        )
        stderr = capsys.readouterr().err
        assert "row 4: expected each item of an answer once, found item 1 of p, a, trial 1, chromium on row 2" in stderr
        assert "'grader'" in stderr


def test_sheet_with_unusual_texts_is_read_back(run: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add(run, "=1+1", 1, part(4, 10), answer="x" * 300_000)
    add(run, "s", 1, part(4, 10), answer="a lone \ud800, \r\n and \x00")
    file = tmp_path / "sheet.csv"
    assert main(["judge", "rubric", "sheet", str(run.path), "-o", str(file)]) == 0
    file.write_text(file.read_text().replace(",,", ",4,"))
    main(["judge", "rubric", "compare", str(run.path), str(file), "--format=json"])
    assert json.loads(capsys.readouterr().out.partition("\n")[2])["graded_answers"] == 6


def test_points_need_an_agent_column_with_several_agents(
    run: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add_other = [check("rubric", 1.0, parts=(part(4, 4), part(6, 6)))]
    file = points(run, tmp_path / "x.csv", "p,1,1,4")
    make_trial(run, "p", "passed", agent="b", checks=add_other, judge=JUDGE)
    assert main(["judge", "rubric", "compare", str(run.path), str(file)]) == 2
    assert "a column 'agent'" in capsys.readouterr().err


def test_run_without_rubrics_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_run(tmp_path / "run")
    make_trial(run, "t")
    assert main(["judge", "rubric", "sheet", str(run.path)]) == 2
    assert main(["judge", "rubric", "compare", str(run.path), str(points(run, tmp_path / "x.csv"))]) == 2
    assert "expected trials with rubrics that a judge graded" in capsys.readouterr().err
