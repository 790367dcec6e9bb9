"""The papers' metrics and their tables."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.errors import UsageError
from pytest_webarena.results import RunDir, TrialKey, TrialRecord
from pytest_webarena.results.intervals import clustered_interval, wilson_interval
from pytest_webarena.results.metrics import BUCKETS, measure, outcome_by
from pytest_webarena.results.published import published, published_groups
from pytest_webarena.results.table_forms import Table, as_latex, as_text
from pytest_webarena.results.tables import gather, tables
from tests.cases import each_case
from tests.made_up import UNDECIDED, make_run, make_trial


def record(task: str, outcome: Any = "passed", *, agent: str = "a", trial: int = 1, **more: Any) -> TrialRecord:
    facts: dict[str, Any] = {"category": "content", "template": task, "node_id": "f.yaml::x", **more}
    return TrialRecord(key=TrialKey(task, agent, trial), outcome=outcome, **facts)


def graded(task: str, headline: str = "repaired", **passed: bool | None) -> TrialRecord:
    """Return a trial of a suite's task with these verdicts."""
    verdicts = {name: {"passed": each, "grading": name} for name, each in passed.items()}
    outcome = {True: "passed", False: "failed", None: "error"}[passed[headline]]
    cause = "judge" if outcome == "error" else None
    source = {"suite": "webarena", "task_id": 1, "template_id": 7}
    return record(task, outcome, cause=cause, grading=headline, verdicts=verdicts, source=source)


def test_rates_by_achievability_exclude_errors() -> None:
    records = [
        record("1", category="information"),
        record("2", "failed", category="information"),
        record("3", category="content"),
        record("4", "error", category="content", cause="site"),
        record("5", category="unachievable"),
        record("6", "failed", category="unachievable"),
        record("7", "failed", category="unachievable"),
    ]
    found = measure(records)
    rates = {name: getattr(found, name) for name in ("rate", "achievable", "unachievable", "information", "others")}
    assert {name: (rate.passed, rate.judged, rate.errors) for name, rate in rates.items()} == {
        "rate": (3, 6, 1),
        "achievable": (2, 3, 1),
        "unachievable": (1, 3, 0),
        "information": (1, 2, 0),
        "others": (1, 1, 1),
    }
    assert (found.errors, found.trials) == ({"site": 1}, 7)
    assert {name: rate.judged for name, rate in found.by_category.items()} == {
        "content": 1, "information": 2, "unachievable": 3
    }  # fmt: skip


def test_giving_up_counts_on_achievable_tasks_only() -> None:
    records = [
        record("1", "failed", answer="N/A"),
        record("2", "failed", answer="n/a: no such page"),
        record("3", "failed", answer='{"task_type": "RETRIEVE", "status": "NOT_FOUND_ERROR", "retrieved_data": null}'),
        record("4", answer="12"),
        record("5", "failed", answer=None),
        record("6", category="unachievable", answer="N/A"),
        record("7", "error", cause="site", answer="N/A"),
    ]
    rate = measure(records).given_up
    assert (rate.passed, rate.judged) == (3, 5)


def test_rates_by_site_ignore_the_order_of_sites() -> None:
    records = [record("1", sites=("reddit", "gitlab")), record("2", "failed", sites=("gitlab", "reddit")), record("3")]
    found = measure(records).by_site
    assert {name: (rate.passed, rate.judged) for name, rate in found.items()} == {
        "gitlab+reddit": (1, 2), "(no site)": (1, 1)
    }  # fmt: skip


@each_case(
    ("passed", "of", "bucket"),
    [
        (0, 5, "0"), (1, 5, "1-20"), (1, 100, "1-20"), (21, 100, "21-40"), (2, 5, "21-40"), (3, 5, "41-60"),
        (4, 5, "61-80"), (81, 100, "81-99"), (99, 100, "81-99"), (5, 5, "100"), (1, 1, "100"),
    ],
)  # fmt: skip
def test_templates_by_their_success_rate(passed: int, of: int, bucket: str) -> None:
    records = [record(str(n), "passed" if n < passed else "failed", template="t") for n in range(of)]
    found = measure(records).templates
    assert found.count == 1
    assert found.buckets == {name: int(name == bucket) for name in BUCKETS}
    assert found.mean == pytest.approx(passed / of)


def test_templates_by_text_or_by_number() -> None:
    records = [
        record(text, outcome, template=text, source={"suite": "webarena", "template_id": number})
        for text, number, outcome in (("t1-1", 1, "passed"), ("t1-2", 1, "failed"), ("t2", 2, "passed"))
    ]
    by_text, by_id = measure(records).templates, measure(records, templates="id").templates
    assert (by_text.count, by_text.solved_once, by_text.solved_always) == (3, 2, 2)
    assert (by_id.count, by_id.solved_once, by_id.solved_always) == (2, 2, 1)
    assert by_id.mean == pytest.approx(0.75)


def test_same_template_in_different_files_counts_twice() -> None:
    records = [record("x", template="t", node_id=f"{name}.yaml::x", trial=n) for n, name in enumerate("ab", start=1)]
    assert measure(records).templates.count == 2


def test_steps_and_seconds_are_means_of_judged_trials() -> None:
    records = [
        record("1", steps=4, seconds={"total": 10.0}),
        record("2", "failed", steps=8, seconds={"total": 30.0}),
        record("3", "error", cause="site", steps=100, seconds={"total": 999.0}),
    ]
    found = measure(records)
    assert (found.steps, found.steps_passed, found.seconds, found.seconds_passed) == (6, 4, 20, 10)


def test_clustered_interval_is_wider_for_correlated_instances() -> None:
    alike = [[True] * 5] * 6 + [[False] * 5] * 14
    mixed = [[True, True, False, False, False]] * 10 + [[True, False, False, False, False]] * 10
    assert sum(map(sum, alike)) == sum(map(sum, mixed)) == 30
    low, high = clustered_interval(alike)
    assert high - low > 1.5 * (wilson_interval(30, 100)[1] - wilson_interval(30, 100)[0])
    low, high = clustered_interval(mixed)
    plain = wilson_interval(30, 100)
    assert low <= plain[0] < plain[1] <= high  # never narrower
    assert clustered_interval([[True]] * 30 + [[False]] * 70) == pytest.approx(wilson_interval(30, 100))  # independent
    assert clustered_interval([]) == (0, 1)
    assert clustered_interval([[True, True, True]]) == wilson_interval(1, 1)  # a single cluster is like a single trial
    assert clustered_interval([[True]] * 10) == pytest.approx(wilson_interval(10, 10))


def test_another_grading_is_read_from_the_same_records() -> None:
    one = graded("1", repaired=True, original=False)
    other = graded("2", repaired=False, original=None)
    plain = record("3", "failed", verdicts={"repaired": {"passed": False, "grading": ""}}, grading="repaired")
    crashed = record("4", "failed", stop_reason="agent_crash", verdicts=one.verdicts, grading="repaired")
    broken = record("5", "error", cause="site")
    assert outcome_by(one) == ("passed", "")
    assert outcome_by(one, "original") == ("failed", "")
    assert outcome_by(other, "original") == ("error", "judge")
    assert outcome_by(one, "verified") == ("error", "grading")
    for each in (plain, crashed, broken):
        assert outcome_by(each, "original")[0] == each.outcome
    found = measure([one, other], grading="original")
    assert (found.rate.passed, found.rate.judged, found.rate.errors) == (0, 1, 1)


def test_tables_show_undecided_trials_and_the_rate_if_they_are_met(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    some = (record("1"), record("2", "failed", **UNDECIDED), record("3", "failed"), record("4", "failed"))
    run, other = run_of(tmp_path / "run", *some), run_of(tmp_path / "other", record("1"))
    found = measure(some)
    assert (found.undecided, found.rate.value, found.rate.upper.value) == (1, 0.25, 0.5)
    assert found.by_category["content"].undecided == 1
    assert main(["compare", "tables", str(run), str(other)]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert "1 (→ 50.0%)" in out
    assert "counted as not met, and SR if all are met" in " ".join(out.split())
    assert main(["compare", "tables", str(other)]) == 0
    assert "undecided" not in capsys.readouterr().out


def run_of(folder: Path, *records: TrialRecord) -> Path:
    run = RunDir(folder)
    run.describe({"started": 1.0})
    for each in records:
        run.folder(each.key).path.mkdir(parents=True)
        run.folder(each.key).finish(each)
    return folder


def test_tables_of_several_runs_fit_80_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "an-agent-whose-name-is-longer-than-any-table-should-have-to-bear"
    one = run_of(tmp_path / "one", record("1", agent=name, sites=("shopping_admin", "reddit")), record("2", "failed"))
    two = run_of(tmp_path / "two", record("1", agent="a", sites=("map",)), record("2", "error", cause="site"))
    assert main(["compare", "tables", str(one), str(two)]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert "a (one)" in out
    assert "a (two)" in out
    assert "site 1" in out


def test_published_rates_appear_only_with_original_grading(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = run_of(tmp_path / "run", graded("webarena.1", repaired=True, original=False))
    main(["compare", "tables", str(run)])
    repaired = capsys.readouterr().out
    assert "100.0%" in repaired
    assert "14.41%" not in repaired
    assert "see --grading=original" in " ".join(repaired.split())
    main(["compare", "tables", str(run), "--grading=original"])
    original = capsys.readouterr().out
    assert "Published on webarena" in original
    assert "14.41%" in original
    assert "arXiv 2307.13854" in original
    assert "unlike the paper's agents: 1 of 812 tasks" in " ".join(original.split())
    main(["compare", "tables", str(run), "--grading=original", "--format=markdown"])
    assert "| Human | 78.24% |" in capsys.readouterr().out
    main(["compare", "tables", str(run_of(tmp_path / "yaml", record("1"))), "--grading=original"])
    assert "Published" not in capsys.readouterr().out


def test_tables_as_csv_and_json_have_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = run_of(tmp_path / "run", record("1", sites=("map",)), record("2", "failed", category="unachievable"))
    main(["compare", "tables", str(run), "--format=csv"])
    rows = {row["group"]: row for row in csv.DictReader(io.StringIO(capsys.readouterr().out))}
    assert (rows["all"]["passed"], rows["all"]["judged"], rows["all"]["rate"]) == ("1", "2", "0.500000")
    assert rows["unachievable"]["passed"] == "0"
    assert rows["site:map"]["judged"] == "1"
    main(["compare", "tables", str(run), "--format=json"])
    data = json.loads(capsys.readouterr().out)
    assert data["agents"][0]["rates"]["all"]["value"] == 0.5
    assert data["agents"][0]["metrics"]["templates"]["count"] == 2


def test_tables_refuse_folders_without_finished_trials(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "tables", str(tmp_path)]) == 2
    assert "expected a run directory" in capsys.readouterr().err
    with pytest.raises(UsageError, match="expected a run with finished trials"):
        gather([run_of(tmp_path / "empty")])


def test_every_published_figure_has_a_source() -> None:
    rows = (*published("webarena"), *published("visualwebarena"))
    assert len(rows) > 5
    assert all(row.source and 0 < row.rate < 100 for row in rows)
    assert published("nothing") == ()


def test_published_rates_are_whole_numbers_of_tasks() -> None:
    """Detects copying errors in published rates. The paper truncates or rounds the last digit."""
    copied = [row for row in published("webarena") if row.achievable is not None and row.name != "Human"]
    assert len(copied) == 7
    inconsistent = [row for row in copied if "inconsistent" in row.note]
    assert [(row.name, row.rate) for row in inconsistent] == [("GPT-3.5, direct", 5.10)]
    for row in copied:
        assert row.achievable is not None
        assert row.unachievable is not None
        passed = [round(row.achievable * 776 / 100), round(row.unachievable * 36 / 100)]
        assert row.achievable == pytest.approx(100 * passed[0] / 776, abs=0.01)
        assert row.unachievable == pytest.approx(100 * passed[1] / 36, abs=0.01)
        agrees = row.rate == pytest.approx(100 * sum(passed) / 812, abs=0.01)
        assert agrees is (row not in inconsistent)
        assert "v2_result.png" in row.note  # where the authors show the table


def test_shared_remarks_of_rows_are_printed_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = run_of(tmp_path / "run", graded("webarena.1", repaired=True, original=True))
    main(["compare", "tables", str(run), "--grading=original"])
    stdout = " ".join(capsys.readouterr().out.split())
    assert "GPT-4, CoT, UA hint; GPT-3.5, CoT, UA hint; " in stdout
    assert stdout.count("agrees with whole numbers of 776 and 36 tasks") == 1


def computed(task: str, kind: str, outcome: Any, why: str = "", subject: str = "physics", **more: Any) -> TrialRecord:
    """Return a trial of a question whose answer must be computed."""
    results = [{"kind": "all", "children": [{"kind": kind, "why": why, "children": []}]}]
    return record(task, outcome, source={"subject": subject}, verdict={"results": results}, **more)


def test_tables_of_computed_answers_by_subject_and_kind(tmp_path: Path) -> None:
    records = [
        computed("a", "choice", "passed", chance=0.25),
        computed("b", "choice", "failed", chance=0.5, subject="law"),
        computed("c", "number", "failed", "no final answer: no line begins with 'ANSWER:'"),
        computed("d", "number", "failed", "it is off by 3"),
        record("e"),
    ]
    metrics = measure(records)
    assert {name: (rate.passed, rate.judged) for name, rate in metrics.by_subject.items()} == {
        "law": (0, 1),
        "physics": (1, 3),
    }
    assert {name: (rate.judged, rate.chance) for name, rate in metrics.by_answer.items()} == {
        "choice": (2, 0.375),
        "number": (2, None),
    }
    assert {name: rate.judged for name, rate in metrics.by_problem.items()} == {
        "law, choice": 1,
        "physics, choice": 1,
        "physics, number": 2,
    }
    assert metrics.unanswered == 1
    run = RunDir(tmp_path / "run")
    run.describe({})
    for each in records:
        folder = run.folder(each.key)
        folder.begin(worker="main", node_id="n")
        folder.finish(each)
    text = as_text(tables(gather([run.path])))
    assert "a blind guess gets 37.5% on the 2 of 5 trials where one can guess" in " ".join(text.split())
    assert "1 failed without a final answer, not with a wrong one" in " ".join(text.split())
    assert "kind of answer: choice" in text
    assert "subject: law" in text


def test_published_arb_rates_appear_by_subject_and_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def problem(task: str, kind: str, outcome: Any, subject: str) -> TrialRecord:
        found = computed(task, kind, outcome, subject=subject)
        return replace(found, source={**found.source, "suite": "arb"})

    run = run_of(
        tmp_path / "run",
        problem("m.1", "symbolic", "passed", "Mathematics"),
        problem("m.2", "symbolic", "failed", "Mathematics"),
        problem("m.3", "rubric", "failed", "Mathematics"),
        problem("p.1", "number", "passed", "Physics"),
    )
    main(["compare", "tables", str(run), "--format=markdown"])
    text = capsys.readouterr().out
    rows = [line for line in text.splitlines() if line.startswith(("| Mathematics, ", "| Physics, "))]
    assert [[cell.strip() for cell in row.split("|")[1:4]] for row in rows] == [
        ["Mathematics, rubric", "a", "0.0%"],
        ["Mathematics, symbolic", "a", "50.0%"],
        ["Mathematics, symbolic", "GPT-4", "18%"],
        ["Physics, number", "a", "100.0%"],
    ]
    assert "[1] Sawada et al., ARB, arXiv 2307.13692" in text
    assert "transcribed from a summary" in text
    assert "on physics" not in text
    main(["compare", "tables", str(run)])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80
    main(["compare", "tables", str(run), "--format=json"])
    data = json.loads(capsys.readouterr().out)["agents"][0]
    assert data["rates"]["problem:Mathematics, symbolic"]["value"] == 0.5
    assert len(data["published_groups"]) == 2


def test_published_group_rates_are_whole_numbers_of_problems() -> None:
    for each in published_groups("arb"):
        passed = round(each.rate * each.cases / 100)
        assert each.rate == round(100 * passed / each.cases)
        assert "transcribed" in each.note
        assert f"{passed} of {each.cases}" in each.note
    assert published_groups("webarena") == ()


def test_latex_escapes_names_and_keeps_notes_that_change_the_meaning() -> None:
    table = Table(
        title="Rates of A & B",
        columns=("agent", "SR"),
        rows=(("[a_1] 50% ~x^2 {y} <z> \\n #1", "10.0–20.0 → ±1"),),
        notes=("mixed: not one rate & more",),
    )
    text = as_latex([table])
    assert (
        r"{[}a\_1] 50\% \textasciitilde{}x\textasciicircum{}2 \{y\} \textless{}z\textgreater{} \textbackslash{}n \#1"
        r" & 10.0--20.0 $\rightarrow$ $\pm$1 \\"
    ) in text
    assert r"\caption{Rates of A \& B}" in text
    assert text.index(r"\resizebox{\ifdim\width>\linewidth") < text.index(r"\begin{tabular}")
    assert r"\end{tabular}}" in text
    assert r"\footnotesize mixed: not one rate \& more" in text


def test_tables_name_the_prompts(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", agents=["a", "b"])
    for agent, prompts in {"a": ("upstream p_cot@1", "ours webarena.j2 sha256:2"), "b": ("", "")}.items():
        for trial, prompt in enumerate(prompts, 1):
            make_trial(run, agent=agent, trial=trial, environment={"prompt": prompt})
    notes = tables(gather([run.path]))[0].notes
    assert [note for note in notes if "prompt" in note] == ["a: prompt ours webarena.j2 sha256:2 or upstream p_cot@1."]
