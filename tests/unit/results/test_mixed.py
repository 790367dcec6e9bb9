"""A rate over trials that different judges judged, or none, is marked wherever it is printed, and not compared."""

from __future__ import annotations

import html
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.plugin.reporting.github import summary as github_summary
from pytest_webarena.plugin.reporting.rates import summary_lines
from pytest_webarena.results import JudgeRecord, RunDir
from pytest_webarena.results.comparing.comparison import compare_all
from pytest_webarena.results.comparing.sides import sides_of
from pytest_webarena.results.comparing.wording import in_markdown
from pytest_webarena.results.conditions import mixed, source_of, summaries_of
from pytest_webarena.results.export import export
from pytest_webarena.results.gate import Gate
from pytest_webarena.results.listing import list_runs
from pytest_webarena.results.merge import merge_runs
from pytest_webarena.results.table_forms import as_text
from pytest_webarena.results.tables import gather, tables
from pytest_webarena.results.viewer import write_view
from tests.made_up import check, graded, make_run, make_trial
from tests.unit.results.compared import words

JUDGE = JudgeRecord(model="judge-1", prompt="teacher@1", temperature=0.0, questions=1)
FORMULAS = JudgeRecord(model="judge-1", prompt="formula@1", temperature=0.0, questions=1)
MIXED = "judge judge-1 (prompt teacher@1, temperature 0.0) / none"


def undecided(kind: str = "string_match") -> dict[str, Any]:
    """Return the fields of an undecided record."""
    results: list[dict[str, Any]] = [{"kind": kind, "score": None, "judgeable": True, "children": []}]
    return {"outcome": "failed", "verdict": {"schema_version": 3, "judgeable": True, "results": results}}


def part(path: Path, *tasks: str, outcome: str = "passed", **record: Any) -> Path:
    run = make_run(path)
    for task in tasks:
        fields = {"task_digest": f"d{task}", "agent_digest": "x", **record}
        make_trial(run, task, fields.pop("outcome", outcome), **fields)
    export(run)
    return path


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    """A run merged from a judged and an unjudged shard."""
    judged = part(tmp_path / "judged", "a", "b", judge=JUDGE)
    unjudged = part(tmp_path / "unjudged", "c", **undecided())
    merge_runs([judged, unjudged], tmp_path / "runs" / "both", allow_mixed=True)
    return tmp_path / "runs" / "both"


def test_merge_refuses_judged_and_unjudged_shards(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sources = [part(tmp_path / "1", "a", judge=JUDGE), part(tmp_path / "2", "c", **undecided())]
    assert main(["runs", "merge", *map(str, sources), "-o", str(tmp_path / "out")]) == 2
    assert "a: judge: judge-1 (prompt teacher@1, temperature 0.0) in 1 and none in 2" in capsys.readouterr().err


def test_every_printed_rate_says_that_it_is_mixed(shards: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = RunDir(shards)
    records = run.records()
    found = summaries_of(run, records)
    assert found["a"].mixed == (MIXED,)
    terminal = summary_lines(found.values(), mixed(source_of(shards, run.facts(), records)))
    assert MIXED in " ".join(" ".join(line.text for line in terminal).split())
    [listed] = list_runs(shards.parent)
    assert listed.rates == ("a 2–3/3 (mixed)",)
    found_tables = {table.title: " ".join(as_text([table]).split()) for table in tables(gather([shards]))}
    for title in ("Success rates", "a by kind of task"):
        assert f"no one rate, its trials are mixed: {MIXED}" in found_tables[title]
    assert "category: content 66.7% 20.8–93.9 2–3 3 0" in found_tables["a by kind of task"]
    github = github_summary(found, records, {}, coverages={}, ruling=None, repository="", folder="")
    assert "no one rate, its trials are mixed: judge judge-1" in html.unescape(github)
    for threshold in (0.1, 0.9):
        ruling = Gate(min_pass_rate=threshold).rule(found)
        assert ruling is not None
        assert "its trials are mixed" in ruling.message
    assert json.loads((shards / "summary.json").read_text())["agents"]["a"]["mixed"]
    write_view(run, shards / "page.html")
    index = (shards / "page.html").read_text().partition('id="index">')[2].partition("</script>")[0]
    assert json.loads(index)["summary"]["agents"]["a"]["mixed"]
    assert main(["compare", "baseline", "save", str(shards), "-o", str(shards / "b.json")]) == 0
    assert "its trials are mixed" in capsys.readouterr().out
    assert main(["runs", "gate", str(shards), "--min-pass-rate=0.1"]) in (0, 11)


def test_comparison_names_a_mixed_side_and_refuses_other_judges(
    shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unjudged = part(tmp_path / "plain", "a", "b", "c", **undecided())
    assert main(["compare", "agents", str(shards), str(unjudged)]) == 2
    assert "judge: judge-1 (prompt teacher@1, temperature 0.0) / none → none" in capsys.readouterr().err
    assert main(["compare", "agents", str(shards), str(unjudged), "--allow-mixed"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert f"a in both is no one rate, its trials are mixed: {MIXED}." in printed
    assert "No comparison, since conditions differ: judge: judge-1" in printed
    [[one], [other]] = sides_of(shards), sides_of(shards)
    [found] = compare_all([(one, replace(other, run="again"))])
    assert "its trials are mixed" in "\n".join(in_markdown([found]))
    assert not found.forced


def test_judged_run_is_refused_against_an_undecided_one_in_both_orders(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judged = part(tmp_path / "judged", "a", "b", judge=JUDGE)
    open_run = part(tmp_path / "open", "a", "b", **undecided())
    other = part(tmp_path / "other", "a", "b", judge=replace(JUDGE, model="judge-2"))
    for pair in ((judged, open_run), (open_run, judged), (judged, other)):
        assert main(["compare", "agents", *map(str, pair)]) == 2
        assert "expected runs under the same conditions" in capsys.readouterr().err


def test_run_in_which_no_trial_needed_a_judge_is_comparable(tmp_path: Path) -> None:
    judged, sure = part(tmp_path / "judged", "a", "b", judge=JUDGE), part(tmp_path / "sure", "a", "b")
    assert main(["compare", "agents", str(judged), str(sure)]) == 0


def test_judge_of_formulas_alone_does_not_mix_other_answers(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    make_trial(run, "a", judge=JUDGE, agent_digest="x")
    make_trial(run, "b", agent_digest="x", **undecided("symbolic"))  # the judge is not eligible for formulas
    assert not mixed(source_of(run.path, run.facts(), run.records()))
    make_trial(run, "c", judge=FORMULAS, agent_digest="x")
    [found] = mixed(source_of(run.path, run.facts(), run.records()))["a"]
    assert found.what == "judge of formulas"


def test_partly_rescored_run_is_mixed_by_its_records_gradings(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", grading={"name": "repaired", "without": []})
    for task, names in (("a", ("repaired", "original")), ("b", ("original", "repaired"))):
        more = graded(**dict.fromkeys(names, 1.0))
        make_trial(run, task, **{**more, "verdict": more["verdicts"][names[0]], "agent_digest": "x"})
    [found] = mixed(source_of(run.path, run.facts(), run.records()))["a"]
    assert found.short == "--grading repaired / original"


def test_rows_of_errors_and_of_undecided_trials_have_their_own_bounds(tmp_path: Path) -> None:
    first = part(tmp_path / "first", *"abcdefgh", checks=[check()])
    second = make_run(tmp_path / "second")
    for task in "abcdefgh":
        more = {"a": undecided(), "b": {"outcome": "error", "cause": "site"}}.get(task, {})
        fields = {"task_digest": f"d{task}", "agent_digest": "x", **more}
        make_trial(second, task, fields.pop("outcome", "passed"), **fields)
    [found] = compare_all([(sides_of(first)[0], sides_of(second.path)[0])])
    assert found.error_bounds == pytest.approx((-2 / 8, -1 / 8))
    assert found.undecided_bounds == pytest.approx((-1 / 7, 0))
    assert found.bounds == pytest.approx((-2 / 8, 0))
    text = " ".join(words(found).split())
    assert "bounds if errors had failed / passed: −25.0 to −12.5 points" in text
    assert "bounds if undecided ones were not met / met: −14.3 to 0.0 points" in text
