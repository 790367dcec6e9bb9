"""Comparison of gradings: rates, disagreements and output."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.checks.verdict import CheckResult, Verdict
from pytest_webarena.commands.cli import main
from pytest_webarena.results import RunDir, TrialKey, TrialRecord
from pytest_webarena.results.export import results_csv, summary_json
from pytest_webarena.results.gradings import compare, render, verdicts_of
from pytest_webarena.results.metrics import measure


def verdict(grading: str, score: float | None, why: str = "", *, judgeable: bool = False) -> dict[str, Any]:
    more: Any = {"score": score, "judgeable": judgeable}
    inner = CheckResult(path="checks[0].any[0]", kind="string_match", expected="408", why=why, **more)
    outer = CheckResult(path="checks[0]", kind="any", expected="", children=(inner,), **more)
    passed = None if score is None else score >= 1
    return Verdict(score=score, passed=passed, results=(outer,), grading=grading).to_json()


def record(task: str, scores: dict[str, float | None], *, agent: str = "cot", **more: Any) -> TrialRecord:
    verdicts = {name: verdict(name, score, f"{name} says no") for name, score in scores.items()}
    first = next(iter(scores), "")
    outcome: Any = "passed" if scores.get(first) == 1 else "failed"
    return TrialRecord(key=TrialKey(task, agent, 1), outcome=outcome, grading=first, verdicts=verdicts, **more)


RECORDS = (
    record("webarena.1", {"repaired": 1, "original": 1}),
    record("webarena.2", {"repaired": 0, "original": 1, "verified": None}),
    record("webarena.3", {"repaired": 1, "original": 0, "verified": 1}),
    record("webarena.4", {"repaired": 0, "original": 0}),
    TrialRecord(
        key=TrialKey("own", "cot", 1), outcome="passed", grading="repaired", verdicts={"repaired": verdict("", 1)}
    ),
)


def test_each_grading_has_its_own_rate() -> None:
    found = compare(RECORDS)["cot"]
    counts = {name: (rate.passed, rate.judged, rate.errors) for name, rate in found.rates.items()}
    assert counts == {"repaired": (2, 4, 0), "original": (2, 4, 0), "verified": (1, 1, 1)}
    assert (found.headline, found.compared) == ("repaired", True)


def test_only_pass_against_fail_is_a_disagreement() -> None:
    found = compare([*RECORDS, record("webarena.5", {"repaired": 1, "verified": None})])["cot"]
    assert [each.key.task for each in found.disagreements] == ["webarena.2", "webarena.3"]
    assert found.disagreements[0].passed == {"repaired": False, "original": True, "verified": None}
    assert found.disagreements[0].reasons == {
        "repaired": "string_match: repaired says no",
        "verified": "string_match: verified says no",
    }


def test_tasks_without_gradings_are_not_compared() -> None:
    assert verdicts_of(RECORDS[-1]) == {}
    assert compare(RECORDS[-1:]) == {}


def test_gradings_are_compared_per_agent() -> None:
    found = compare([*RECORDS, record("webarena.1", {"repaired": 0}, agent="direct")])
    assert {name: each.compared for name, each in found.items()} == {"cot": True, "direct": False}


def test_rendered_disagreements_fit_80_columns() -> None:
    long = record("webarena.77", {"repaired": 0, "original": 1})
    repaired: Any = long.verdicts["repaired"]
    repaired["results"][0]["children"][0]["why"] = "no such thing " * 12
    lines = list(render(compare([*RECORDS[:3], long])["cot"]))
    assert max(map(len, lines)) <= 80
    assert lines[:5] == [
        "cot:",
        "  repaired   50.0%  2/4 passed  (counts)",
        "  original   75.0%  3/4 passed",
        "  verified  100.0%  1/1 passed, 1 not computed",
        "  3 trials judged differently:",
    ]
    assert lines[6:10] == [
        "  webarena.2, trial 1",
        "    repaired  failed: string_match: repaired says no",
        "    original  passed",
        "    verified  not computed: string_match: verified says no",
    ]


@pytest.mark.parametrize("version", [2, 3])
def test_undecided_verdicts_are_counted_and_exported(version: int) -> None:
    """Tables and files mark verdicts that a judge model could change, of older versions too."""
    repaired = verdict("repaired", None, "it says more", judgeable=True)
    if version == 2:
        repaired = {**verdict("repaired", 0, "unsure: it says more"), "schema_version": 2}
    verdicts: Any = {"repaired": repaired, "original": verdict("original", 1)}
    key = TrialKey("webarena.7", "cot", 2)
    undecided = TrialRecord(key=key, outcome="failed", grading="repaired", verdicts=verdicts, verdict=repaired)
    records = [*RECORDS[:4], undecided]
    found = compare(records)["cot"]
    assert found.undecided == ((key, "repaired"),)
    assert found.rates["repaired"].undecided == 1
    lines = list(render(found))
    assert max(map(len, lines)) <= 80
    assert lines[1] == "  repaired   40.0%  2/5 passed, 1 undecided  (counts)"
    assert lines[4:6] == [
        "  1 verdict is undecided; a judge can decide (--rescore RUN --judge MODEL):",
        "    webarena.7, trial 2 (repaired)",
    ]
    (exported,) = summary_json(records)["gradings"]["cot"]["undecided"]
    assert (exported["task"], exported["trial"], exported["grading"]) == (
        "webarena.7",
        2,
        "repaired",
    )
    assert summary_json(records)["agents"]["cot"]["undecided"] == 1
    rate = summary_json(records)["agents"]["cot"]["rate"]
    assert (rate["value"], rate["undecided"]["count"], rate["undecided"]["value_if_met"]) == (0.4, 1, 0.6)
    rows = list(csv.DictReader(io.StringIO(results_csv(records))))
    assert [row["undecided"] for row in rows] == ["", "", "", "", "1"]
    assert rows[-1]["repaired"] == "undecided"
    assert TrialRecord.from_json(json.loads(json.dumps(undecided.to_json()))).undecided
    assert measure(records).undecided == 1
    assert measure(records, grading="original").undecided == 0


def run_of(path: Path, *records: TrialRecord) -> RunDir:
    run = RunDir(path)
    run.describe({})
    for each in records:
        folder = run.folder(each.key)
        folder.begin(worker="main", node_id="n")
        folder.finish(each)
    return run


def test_compare_gradings_prints_text_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = run_of(tmp_path, *RECORDS, record("webarena.1", {"repaired": 0}, agent="direct"))
    assert main(["compare", "gradings", str(run.path)]) == 0
    stdout = capsys.readouterr().out
    assert "2 trials judged differently" in stdout
    assert "one grading only: nothing to compare" in stdout
    assert main(["compare", "gradings", str(run.path), "--agent", "direct", "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["direct"]["rates"]["repaired"]["judged"] == 1
    assert main(["compare", "gradings", str(run.path), "--agent", "nobody"]) == 2
    assert "expected one of cot, direct, found 'nobody'" in capsys.readouterr().err
    assert main(["compare", "gradings", str(tmp_path / "nowhere")]) == 2


def test_compare_gradings_prints_tables_for_papers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = run_of(tmp_path / "run", record("a", {"original": 0, "repaired": 1}), record("b", {"original": None}))
    arguments = ["compare", "gradings", str(run.path)]
    assert main([*arguments, "--format=csv"]) == 0
    rows = {row["grading"]: row for row in csv.DictReader(io.StringIO(capsys.readouterr().out))}
    assert [rows["original"][name] for name in ("passed", "judged", "not_computed", "disputed")] == ["0", "1", "1", "1"]
    assert rows["repaired"]["rate"] == "1.000000"
    assert main([*arguments, "--format=markdown"]) == 0
    assert "| cot | original (counts) | 0.0% |" in capsys.readouterr().out
    assert main([*arguments, "--format=latex"]) == 0
    assert r"cot & repaired & 100.0\%" in capsys.readouterr().out


def test_compare_gradings_reports_missing_gradings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "gradings", str(run_of(tmp_path, RECORDS[-1]).path)]) == 0
    assert "no task of this run knows gradings" in capsys.readouterr().out


def test_summary_json_has_gradings() -> None:
    summary = summary_json(RECORDS)["gradings"]["cot"]
    assert summary["rates"]["original"]["value"] == 0.5
    assert [each["task"] for each in summary["disagreements"]] == ["webarena.2", "webarena.3"]


def test_results_csv_has_a_column_per_grading() -> None:
    rows = list(csv.DictReader(io.StringIO(results_csv(RECORDS))))
    names = ("grading", "original", "repaired", "verified")
    assert [tuple(row[name] for name in names) for row in (rows[1], rows[3], rows[4])] == [
        ("repaired", "passed", "failed", "not computed"),
        ("repaired", "failed", "failed", ""),
        ("", "", "", ""),
    ]
