"""How judge errors and trials without a verdict could change a comparison."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_webarena.plugin.reporting.rates import summary_lines
from pytest_webarena.results import RunDir, TrialKey, summarise
from pytest_webarena.results.comparing.baseline import save_baseline, sides_at
from pytest_webarena.results.comparing.comparability import side_differences
from pytest_webarena.results.comparing.comparison import compare_all
from pytest_webarena.results.comparing.page import write_page
from pytest_webarena.results.comparing.plain_form import plain
from pytest_webarena.results.comparing.sides import Side, sides_of
from pytest_webarena.results.comparing.wording import in_markdown
from pytest_webarena.results.conditions import NO_JUDGE
from pytest_webarena.results.export import summary_json
from pytest_webarena.results.plan import PlannedTrial, extend_plan
from pytest_webarena.results.records import JudgeErrors, JudgeRecord
from pytest_webarena.results.table_data import as_json
from pytest_webarena.results.table_forms import as_text
from pytest_webarena.results.tables import gather, tables
from tests.made_up import make_run, make_trial
from tests.unit.results.compared import of, planted_side, runs, small, words

__all__ = ["runs"]


def with_judge(side: Side, errors: JudgeErrors | None) -> Side:
    """Return ``side`` as if a judge with these errors had judged all of its trials."""
    tasks = {
        name: replace(task, tries=tuple(replace(each, judge=True) for each in task.tries))
        for name, task in side.tasks.items()
    }
    return replace(side, tasks=tasks, judge_errors=errors)


@pytest.mark.matrix(3)
@pytest.mark.parametrize(
    ("errors", "verdict", "message"),
    [
        (None, "worse", "no interval includes its errors: it was not measured (webarena judge measure)"),
        (JudgeErrors(right_accepted=69, right=70, wrong_refused=69, wrong=70), "worse", "if it never erred: −7.4"),
        (JudgeErrors(right_accepted=3, right=4, wrong_refused=3, wrong=4), "unsettled", "if it never erred: −21.1"),
        (
            JudgeErrors(right_accepted=30, right=60, wrong_refused=30, wrong=60),
            "unsettled",
            "its verdicts are uninformative",
        ),
    ],
    ids=["not measured", "good", "hardly measured", "useless"],
)
def test_measured_judge_errors_widen_the_interval(
    runs: Path, tmp_path: Path, errors: JudgeErrors | None, verdict: str, message: str
) -> None:
    first, second = (with_judge(planted_side(runs / name), errors) for name in ("main", "worse"))
    [found] = compare_all([(first, second)])
    assert (found.verdict, found.by_judge) == (verdict, (684, 684))
    text = words(found).replace("\n" + " " * 17, " ").replace("\n", " ")
    assert message in text
    assert message in "\n".join(in_markdown([found]))
    write_page([found], tmp_path / "page.html")
    assert message in (tmp_path / "page.html").read_text()
    data = plain(found)
    assert data["judge"]["asked"] == (684, 684)
    known = errors is not None and not found.judge_is_uninformative
    assert (data["judge"]["corrected"] is not None) is known
    if known:
        low, high = data["judge"]["corrected"]["interval"]
        assert high - low > data["difference"]["sample"][1] - data["difference"]["sample"][0]
        assert "with the judge's errors" in text
    save_baseline([first], tmp_path / "b.json")
    [again] = compare_all([(sides_at(tmp_path / "b.json")[0], second)])
    assert again.corrected == found.corrected


def test_one_unmeasured_judge_gives_no_corrected_rate(tmp_path: Path) -> None:
    known = JudgeErrors(right_accepted=69, right=70, wrong_refused=69, wrong=70)
    for name, last in (("known", known), ("open", None)):
        run = make_run(tmp_path / name, agents=["cot"])
        for number in range(4):
            errors = last if number == 3 else known
            judge = JudgeRecord(model="m", prompt="teacher@1", temperature=0, questions=1, errors=errors)
            make_trial(run, f"t{number}", "passed" if number else "failed", agent="cot", judge=judge)
    assert sides_of(tmp_path / "known")[0].judge_errors == known
    assert sides_of(tmp_path / "open")[0].judge_errors is None
    rates = [summarise(RunDir(tmp_path / name).read().records)["cot"].rate for name in ("known", "open")]
    assert [rate.by_judge for rate in rates] == [4, 4]
    assert rates[0].corrected is not None
    assert rates[1].corrected is None
    reports = [
        "\n".join(line.text for line in summary_lines(summarise(RunDir(tmp_path / name).read().records).values()))
        for name in ("known", "open")
    ]
    assert "if the judge never erred: 7" in reports[0]
    assert "its errors are not in the interval, it was not measured" in " ".join(reports[1].split())
    rows = gather([tmp_path / "known", tmp_path / "open"])
    text = " ".join(as_text(tables(rows)).split())
    assert "a judge was asked about 4 of 4 trials; if it never erred, SR would be 7" in text
    assert "no interval includes its errors: it was not measured (webarena judge measure)" in text
    agents = json.loads(as_json(rows))["agents"]
    assert [each["metrics"]["rate"]["corrected"] is not None for each in agents] == [True, False]
    for name, found in (("known", True), ("open", False)):
        rate = summary_json(RunDir(tmp_path / name).read().records)["agents"]["cot"]["rate"]
        assert ("judge_corrected" in rate) is found


def test_bounds_include_tasks_judged_on_one_side_only(tmp_path: Path) -> None:
    """An agent must not gain from errors in tasks that it would have failed."""
    first, second = make_run(tmp_path / "a", agents=["cot"]), make_run(tmp_path / "b", agents=["cot"])
    for number in range(20):
        make_trial(first, f"t{number}", "failed" if number < 10 else "passed", agent="cot")
        make_trial(second, f"t{number}", "error" if number < 10 else "passed", agent="cot")
    found = of(tmp_path / "a", tmp_path / "b")
    assert (found.difference.tasks, found.difference.value) == (10, 0.0)
    assert found.bounds == pytest.approx((0.0, 0.5))


def test_bounds_contain_difference_with_unequal_trial_counts(tmp_path: Path) -> None:
    first, second = make_run(tmp_path / "a", agents=["cot"]), make_run(tmp_path / "b", agents=["cot"])
    for run in (first, second):
        for trial in range(1, 11):  # one task with ten trials, which counts as much as one with a single trial
            make_trial(run, "many", "passed" if run is second else "failed", agent="cot", trial=trial)
        make_trial(run, "one", "passed" if run is first else "failed", agent="cot")
        make_trial(run, "two", "passed", agent="cot")
    make_trial(second, "two", "error", agent="cot", trial=2)
    found = of(tmp_path / "a", tmp_path / "b")
    assert found.difference.value == pytest.approx(0)
    assert found.bounds == pytest.approx((-1 / 6, 0))


def outcome_run(path: Path, tasks: Mapping[str, str], *, planned: int = 0, decided: str = "") -> Path:
    """Write a run of one agent. A task's trials are ``p``, ``f``, ``e``, or ``-`` for a missing record."""
    run, outcomes = make_run(path, agents=["cot"]), {"p": "passed", "f": "failed", "e": "error"}
    for task, trials in tasks.items():
        for number, letter in enumerate(trials, start=1):
            if letter != "-":
                make_trial(run, task, outcomes[letter], agent="cot", trial=number, evidence=False, steps=())
    if planned:
        keys = [TrialKey(task, "cot", number) for task in tasks for number in range(1, planned + 1)]
        known = {record.key for record in run.read().records}
        extend_plan(path, [PlannedTrial(key=key, decided="" if key in known else decided) for key in keys])
    return path


def test_trials_without_a_result_are_reported_and_widen_bounds(tmp_path: Path) -> None:
    names = [f"t{number}" for number in range(16)]
    first = outcome_run(tmp_path / "a", dict.fromkeys(names, "pf"))
    lucky = outcome_run(tmp_path / "b", dict.fromkeys(names, "p-"), planned=2)  # every second trial has no record
    plain_sailing = outcome_run(tmp_path / "c", dict.fromkeys(names, "pp"), planned=2)
    found, sure = of(first, lucky), of(first, plain_sailing)
    assert (found.verdict, found.verdict_here, found.verdict_of_judged) == ("unsettled", "unsettled", "better")
    assert found.bounds == pytest.approx((0.0, 0.5))
    text = " ".join(words(found).split())
    assert "Unsettled whether cot in b is better than cot in a: +50.0 points" in text
    assert "By judged trials alone: 'better'; excluded ones could reverse it: 0.0 to +50.0, p = 1.00 at" in text
    assert "0 and 16 planned ones without a result" in text
    assert "without a result" in "\n".join(in_markdown([found]))
    assert sure.verdict == "better"
    assert "could undo" not in words(sure)
    half = dict.fromkeys(names[:8], "pp") | dict.fromkeys(names[8:], "--")
    incomplete = of(first, outcome_run(tmp_path / "d", half, planned=2))
    [(reason, left_out)] = incomplete.left_out.items()
    assert (reason, set(left_out)) == ("planned and without a result on one side", set(names[8:]))
    assert incomplete.bounds == pytest.approx((0.0, 0.5))
    save_baseline(sides_of(lucky), tmp_path / "b.json")
    assert of(first, tmp_path / "b.json").bounds == found.bounds


@pytest.mark.parametrize(
    ("errors", "verdict"),
    [(0, "better"), (1, "better"), (2, "unsettled"), (8, "unsettled")],
    ids=["none", "too few", "too many for the test", "as many"],
)
def test_verdict_is_unsettled_when_excluded_errors_could_reverse_it(tmp_path: Path, errors: int, verdict: str) -> None:
    """Excluded errors must not make an agent better, or the other one worse."""
    erred = {f"e{number}": "e" for number in range(errors)}
    good = outcome_run(tmp_path / "a", {f"t{number}": "p" for number in range(8)} | erred)
    bad = outcome_run(tmp_path / "b", {f"t{number}": "f" for number in range(8)} | dict.fromkeys(erred, "p"))
    found, other_way = of(bad, good), of(good, bad)
    assert (found.verdict_of_judged, found.verdict, plain(found)["verdict"]) == ("better", verdict, verdict)
    assert other_way.verdict == {"better": "worse"}.get(verdict, verdict)
    write_page([found], tmp_path / "page.html")
    for text in (words(found), "\n".join(in_markdown([found])), (tmp_path / "page.html").read_text()):
        assert ("Unsettled whether" in html.unescape(text)) is (verdict == "unsettled")


def test_errors_of_a_group_make_only_that_group_unsettled(tmp_path: Path) -> None:
    names = [f"t{number}" for number in range(24)]
    runs = [make_run(tmp_path / name, agents=["cot"]) for name in ("a", "b")]
    for run, outcome in zip(runs, ("failed", "passed"), strict=True):
        for number, name in enumerate(names):
            make_trial(run, name, outcome, agent="cot", sites=("shop",) if number < 12 else ("forum",))
    for number in range(6):
        make_trial(runs[0], f"e{number}", "passed", agent="cot", sites=("shop",))
        make_trial(runs[1], f"e{number}", "error", agent="cot", sites=("shop",))
    found = of(tmp_path / "a", tmp_path / "b")
    assert {group.name: group.verdict for group in found.groups} == {"shop": "unsettled", "forum": "better"}
    assert found.verdict == "better"
    write_page([found], tmp_path / "page.html")
    for text in (words(found), "\n".join(in_markdown([found])), (tmp_path / "page.html").read_text()):
        page_text = " ".join(html.unescape(re.sub("</?[a-z][^>]*>", " ", text)).split())
        assert re.search(r"shop.{,99}p < 0\.001:? unsettled, bounds of all outcomes: \+33\.3 to \+66\.7", page_text)
        assert re.search(r"forum.{,99}p < 0\.001:? better(?!, bounds)", page_text)


def test_run_stopped_when_settled_is_noted(tmp_path: Path) -> None:
    names = [f"t{number}" for number in range(16)]
    first = outcome_run(tmp_path / "a", dict.fromkeys(names, "f"))
    short = dict.fromkeys(names[:10], "p") | dict.fromkeys(names[10:], "-")
    found = of(first, outcome_run(tmp_path / "b", short, planned=1, decided="after is better"))
    assert "ended early because it was looked at (--stop-when-settled)" in " ".join(words(found).split())
    assert found.open_trials == (0, 0)  # deliberately not run


def test_unequal_trial_counts_are_reported(tmp_path: Path) -> None:
    first = outcome_run(tmp_path / "a", {f"t{number}": "pfpfp" for number in range(12)})
    second = outcome_run(tmp_path / "b", {f"t{number}": "p" if number else "pp" for number in range(12)})
    text = " ".join(words(of(first, second)).split())
    assert "12 both passed, 0 gained, 1 lost" not in text
    assert "of 60 and 13 trials in the rates" in text
    assert "cot in a, pass@2 90.0%, pass^2 30.0%" in text  # the same k for both
    assert "cot in b, pass@2 100.0% on 1 of 12 tasks" in text


def test_better_needs_the_rates_with_errors_as_failures_to_agree(tmp_path: Path) -> None:
    bad = outcome_run(tmp_path / "a", {f"t{number}": "f" for number in range(12)} | {"e": "e"})
    good = outcome_run(tmp_path / "b", {f"t{number}": "p" for number in range(12)} | {"e": "p"})
    found = of(bad, good)
    failed = found.errors_failed
    assert failed is not None
    assert (failed.difference.tasks, failed.difference.value, found.difference.tasks) == (13, 1.0, 12)
    assert (found.verdict, failed.verdict(0.05)) == ("better", "better")
    text = " ".join(words(found).split())
    assert "cot in a: 0/13 = 0.0% (95% interval 0.0% to 22.8%) with errors as failures" in text
    assert "difference with errors as failures: +100.0 points" in text
    [side] = sides_of(bad)
    assert (side.rate.judged, side.rate.with_errors_failed.judged) == (12, 13)
    doubtful = of(bad, outcome_run(tmp_path / "c", {f"t{number}": "fp"[number % 2] for number in range(12)})).difference
    against = replace(failed, difference=doubtful, p=0.4)
    assert replace(found, worst=None, errors_failed=against).verdict == "unsettled"
    assert replace(found, worst=against).verdict == "unsettled"
    assert of(bad, bad).errors_failed is not None
    assert of(good, good).errors_failed is None


def test_undecided_trials_without_a_judge_are_no_other_condition(tmp_path: Path) -> None:
    small(tmp_path / "one", {"a": [True]})
    [side] = sides_at(tmp_path / "one")
    unjudged = replace(side, traits=(*side.traits, ("judge", NO_JUDGE, True)))
    judged = replace(side, traits=(*side.traits, ("judge", "gpt-x (prompt p@1)", True)))
    assert side_differences(unjudged, side) == ([], [], [])
    assert side_differences(judged, side) == ([], ["judge: gpt-x (prompt p@1) → not asked"], [])
    assert side_differences(judged, unjudged)[2] == ["judge: gpt-x (prompt p@1) → none"]
