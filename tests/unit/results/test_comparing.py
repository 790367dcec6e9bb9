"""Comparisons of runs: what is found, what is refused, how it is told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.errors import UsageError
from pytest_webarena.evidence import Usage
from pytest_webarena.plugin.reporting.rates import summary_lines
from pytest_webarena.results import RunDir, TrialKey, summarise
from pytest_webarena.results.comparing.baseline import save_baseline, sides_at
from pytest_webarena.results.comparing.comparison import Comparison, choose, compare_all
from pytest_webarena.results.comparing.effort import effort_of, growth_of, quantile
from pytest_webarena.results.comparing.page import write_page
from pytest_webarena.results.comparing.plain_form import plain
from pytest_webarena.results.comparing.sides import Side, sides_of
from pytest_webarena.results.comparing.wording import in_markdown, in_words
from pytest_webarena.results.export import summary_json
from pytest_webarena.results.plan import PlannedTrial, extend_plan
from pytest_webarena.results.records import JudgeErrors, JudgeRecord
from pytest_webarena.results.tables import as_json, as_text, gather, tables
from tests.made_up import make_run, make_trial
from tests.planted import plant


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One agent twice, and once with ten points less: 228 tasks of 76 templates, three trials each."""
    folder = tmp_path_factory.mktemp("runs")
    plant(folder / "main", seed=2)
    plant(folder / "again", seed=5)
    plant(folder / "worse", seed=4, shift=-0.1, agent_digest="a2")
    return folder


def of(*paths: Path, **how: Any) -> Comparison:
    return compare_all(choose([sides_at(path) for path in paths]), **how)[0]


def words(each: Comparison) -> str:
    return "\n".join(line.text for line in in_words(each))


def test_a_planted_regression_of_ten_points_is_found(runs: Path, tmp_path: Path) -> None:
    found = of(runs / "main", runs / "worse")
    assert found.verdict == found.verdict_here == "worse"
    said = "cot in worse is worse than cot in main"
    assert said in words(found).replace("\n", " ")
    assert f"🔴 {said}" in "\n".join(in_markdown([found]))
    write_page([found], tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert f'<h2 class="worse">{said}' in page
    assert page.count('<a class="dot ') == 228


def test_a_run_of_the_same_agent_is_not(runs: Path, tmp_path: Path) -> None:
    found = of(runs / "main", runs / "again")
    assert found.verdict == found.verdict_here == "can't tell"
    said = "Can't tell whether cot in again is better than cot in main"
    assert said in words(found).replace("\n", " ")
    assert f"⚪ {said}" in "\n".join(in_markdown([found]))
    write_page([found], tmp_path / "page.html")
    assert '<h2 class="cant-tell">Can&#x27;t tell' in (tmp_path / "page.html").read_text()


def test_lines_fit_a_terminal_unless_a_path_does_not(runs: Path) -> None:
    for line in in_words(of(runs / "main", runs / "worse")):
        assert len(line.text) <= 80 or str(runs) in line.text


def test_what_a_script_reads(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(runs / "main"), str(runs / "worse"), "--json"]) == 0
    [found] = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "worse"
    assert found["difference"]["tasks"] == 228
    assert sum(found["transitions"].values()) == 684
    assert {task["fate"] for task in found["tasks"]} == {"won", "lost", "undecided", "same"}
    assert found["efforts"][0]["cost"]["per_success"] > found["efforts"][0]["cost"]["per_trial"]


def small(path: Path, wins: dict[str, list[bool]], **facts: Any) -> RunDir:
    """Twelve tasks, an agent for each entry."""
    run = make_run(path, agents=list(wins), **facts)
    for agent, won in wins.items():
        for number, passed in enumerate(won):
            goal = "http://s.test/" + ("a" if agent == "a" else "b")
            make_trial(
                run, f"t{number}", "passed" if passed else "failed", agent=agent,
                steps=({}, {"action": {"kind": "goto", "url": goal}, "target": None}, {"action": {"kind": "stop"}}),
            )  # fmt: skip
    return run


MORE = {"a": [n % 3 == 0 for n in range(12)], "b": [n % 4 != 3 for n in range(12)]}


def test_agents_of_one_run_are_held_against_the_first_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small(tmp_path / "run", MORE)
    assert main(["compare", str(tmp_path / "run"), "--html", str(tmp_path / "out" / "page.html")]) == 0
    out = capsys.readouterr().out
    assert "whether b is better than a" in out
    assert "exact McNemar test" in out
    assert "step 2: goto http://s.test/a | goto http://s.test/b" in out
    assert str(next((tmp_path / "run" / "trials").glob("t1.b.*"))) in out
    page = (tmp_path / "out" / "page.html").read_text()
    assert "<tr class=parted><td class=n>2<td>goto http://s.test/a<td>goto http://s.test/b" in page
    assert '<a href="../run/trials/t1.b.1-' in page


def test_the_agents_can_be_chosen(tmp_path: Path) -> None:
    small(tmp_path / "run", {**MORE, "c": MORE["a"]})
    sides = [sides_of(tmp_path / "run")]
    assert [(one.name, other.name) for one, other in choose(sides)] == [("a", "b"), ("a", "c")]
    assert [(one.name, other.name) for one, other in choose(sides, ["c", "a"])] == [("c", "a")]
    with pytest.raises(UsageError, match="--agent: expected one of a, b, c, found 'd'"):
        choose(sides, ["d"])


def test_several_comparisons_know_of_each_other(tmp_path: Path) -> None:
    small(tmp_path / "run", {**MORE, "c": [not each for each in MORE["a"]]})
    found = compare_all(choose([sides_of(tmp_path / "run")]))
    assert [each.difference.confidence for each in found] == [0.975, 0.975]
    least = min(found, key=lambda each: each.p)
    assert least.adjusted == pytest.approx(2 * least.p)
    assert "(Holm)" in words(least)


def test_markup_of_a_task_or_page_is_never_read_as_html(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", agents=["a", "b"])
    for agent, outcome in (("a", "passed"), ("b", "failed")):
        make_trial(
            run, "<script>x", outcome, agent=agent, steps=({"action": {"kind": "stop", "answer": "<img " + agent}},)
        )
    write_page([of(tmp_path / "run")], tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "<script" not in page
    assert "<img" not in page
    assert "&lt;img" in page


@pytest.mark.parametrize(
    ("facts", "named"),
    [
        ({"grading": {"name": "original"}}, "--grading: repaired → original"),
        ({"apps": {"shop": "other"}}, "manifest of the site shop: same → other"),
    ],
)
def test_what_is_no_comparison_is_refused(tmp_path: Path, facts: dict[str, Any], named: str) -> None:
    same: dict[str, Any] = {"grading": {"name": "repaired"}, "apps": {"shop": "same"}}
    for name, more in (("one", {}), ("two", facts)):
        plant(tmp_path / name, seed=1, tasks=6, trials=1, facts={**same, **more}, replicas={"shop": "x"})
    with pytest.raises(UsageError, match=named):
        of(tmp_path / "one", tmp_path / "two")
    told = words(of(tmp_path / "one", tmp_path / "two", allow_mixed=True))
    assert "NO COMPARISON" in told
    assert named in told


def test_how_else_runs_differ_is_told(tmp_path: Path) -> None:
    limits = {"limits": {"steps": 50, "seconds": 600.0, "stop_rule": "paper"}}
    plant(tmp_path / "one", seed=1, tasks=6, trials=1)
    plant(tmp_path / "two", seed=1, tasks=6, trials=1, facts=limits, model="m2", agent_digest="a2")
    found = of(tmp_path / "one", tmp_path / "two")
    assert found.differing == ("--max-steps: 30 → 50",)
    assert any(line.startswith("digest of the agent: a1 → a2") for line in found.changed)


def test_tasks_that_were_edited_or_are_missing_are_left_out(tmp_path: Path) -> None:
    plant(tmp_path / "one", seed=1, tasks=6, trials=1)
    two = plant(tmp_path / "two", seed=1, tasks=7, trials=1)
    folder = next(two.trials.glob("t002.*")) / "trial.json"
    folder.write_text(folder.read_text().replace('"d2"', '"edited"'))
    found = of(tmp_path / "one", tmp_path / "two")
    assert found.difference.tasks == 5
    assert found.left_out == {"edited between the runs": ("t002",), "only in two": ("t006",)}
    plant(tmp_path / "three", seed=1, tasks=2, trials=1, task_digest="other")
    with pytest.raises(
        UsageError, match=r"expected tasks that both .* found none \(2 edited between the runs; 4 only in"
    ):
        of(tmp_path / "one", tmp_path / "three")


def test_errors_are_beside_the_rates_with_bounds(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", agents=["a", "b"])
    for number in range(8):
        make_trial(run, f"t{number}", "passed", agent="a")
        for trial in (1, 2):
            make_trial(run, f"t{number}", "error" if trial == 2 else "passed", agent="b", trial=trial)
    found = of(tmp_path / "run")
    assert found.difference.value == 0
    assert found.bounds == (-0.5, 0.0)
    assert "whatever they would have been: −50.0 to 0.0 points" in words(found).replace("\n" + " " * 17, " ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere", "run"], "expected a run directory with a run.json"),
        (["run"], "expected two runs, or one of several agents, found a alone"),
        (["run", "two", "--json", "--markdown"], "expected one of --markdown and --json, found both"),
    ],
)
def test_mistakes_are_sentences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    small(tmp_path / "run", {"a": [True, False]})
    small(tmp_path / "two", {"a": [True, False]})
    assert main(["compare", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_which_agent_is_meant_has_to_be_clear(tmp_path: Path) -> None:
    small(tmp_path / "one", MORE)
    small(tmp_path / "two", {"c": MORE["a"]})
    with pytest.raises(UsageError, match="expected an agent of one to hold c of two against, found a and b; choose"):
        of(tmp_path / "one", tmp_path / "two")
    chosen = choose([sides_of(tmp_path / "two"), sides_of(tmp_path / "one")])
    assert [(one.name, other.name) for one, other in chosen] == [("c", "a"), ("c", "b")]


def test_success_pays_for_failures(tmp_path: Path) -> None:
    plant(tmp_path / "run", seed=1, tasks=40, trials=2)
    [side] = sides_of(tmp_path / "run")
    cost = effort_of(side, "cost")
    assert cost is not None
    assert cost.per_success is not None
    assert cost.per_success == pytest.approx(cost.total / sum(task.passed for task in side.tasks.values()))
    assert cost.quantiles[0] < cost.quantiles[1] < cost.quantiles[2]


def test_what_the_cache_saved_is_in_the_dollars_and_told_beside_them(tmp_path: Path) -> None:
    for name, used in (("paid", Usage(calls=1, cost=0.5)), ("cached", Usage(calls=1, cached_calls=1, saved=0.5))):
        run = make_run(tmp_path / name, agents=["cot"])
        for number in range(4):
            make_trial(run, f"t{number}", "passed" if number else "failed", agent="cot", usage=used)
    found = of(tmp_path / "paid", tmp_path / "cached")
    first, second = (effort["cost"] for effort in found.efforts)
    assert (first.total, second.total, first.saved, second.saved) == (2.0, 2.0, 0.0, 2.0)
    told = "the cache saved nothing and $2.00 of $2.00"
    assert told in " ".join(words(found).split())
    assert "| … saved by the cache | nothing | $2.00 of $2.00 |" in "\n".join(in_markdown([found]))
    write_page([found], tmp_path / "page.html")
    assert "saved by the cache" in (tmp_path / "page.html").read_text()
    assert plain(found)["efforts"][1]["cost"]["saved"] == 2.0
    save_baseline(sides_of(tmp_path / "cached"), tmp_path / "b.json")
    assert of(tmp_path / "b.json", tmp_path / "paid").efforts[0]["cost"].saved == 2.0


def test_quantiles_are_numpys() -> None:
    import numpy as np

    values = [3.0, 1.0, 9.5, 2.0, 7.0, 7.0]
    for share in (0.0, 0.1, 0.5, 0.9, 1.0):
        assert quantile(values, share) == pytest.approx(np.quantile(values, share))


def test_growth_is_tested_not_read_off_two_means(tmp_path: Path) -> None:
    plant(tmp_path / "one", seed=1, tasks=60, trials=2)
    plant(tmp_path / "same", seed=2, tasks=60, trials=2)
    plant(tmp_path / "dear", seed=3, tasks=60, trials=2, cost=0.08)
    [one], [same], [dear] = (sides_of(tmp_path / name) for name in ("one", "same", "dear"))
    tasks = list(one.tasks)
    grown, alike = (growth_of(one, other, tasks, "cost", allowed=0.2) for other in (dear, same))
    assert grown is not None
    assert alike is not None
    assert grown.ratio == pytest.approx(1.6, abs=0.15)
    assert grown.interval[0] > 1.2
    assert grown.p < 0.001
    assert alike.p > 0.5
    assert alike.interval[0] < 1 < alike.interval[1]


def test_without_differences_in_tasks_growth_is_the_paired_t_test(stats: Any) -> None:
    from pytest_webarena.results.comparing.sides import Side, SideTask, Try

    costs = [(1.0, 1.3), (2.0, 2.2), (1.5, 1.9), (0.7, 0.6), (1.1, 1.6)]

    def side(index: int) -> Side:
        tasks = {
            str(n): SideTask(task=str(n), cluster=str(n), tries=(Try(trial=1, outcome="passed", cost=pair[index]),))
            for n, pair in enumerate(costs)
        }
        return Side(name="a", agent="a", browser="chromium", run=str(index), tasks=tasks)

    found = growth_of(side(0), side(1), [str(n) for n in range(5)], "cost", allowed=0.1)
    assert found is not None
    expected = stats.ttest_1samp([second - 1.1 * first for first, second in costs], 0, alternative="greater")
    assert found.p == pytest.approx(expected.pvalue)
    for bound in found.interval:  # Fieller's ends are where the two-sided test is undecided
        at = stats.ttest_1samp([second - bound * first for first, second in costs], 0)
        assert at.pvalue == pytest.approx(0.05, abs=1e-6)


def asked(side: Side, errors: JudgeErrors | None) -> Side:
    """``side``, had a judge with these errors been asked about all of its trials."""
    tasks = {
        name: replace(task, tries=tuple(replace(each, judge=True) for each in task.tries))
        for name, task in side.tasks.items()
    }
    return replace(side, tasks=tasks, judge_errors=errors)


@pytest.mark.parametrize(
    ("errors", "verdict", "said"),
    [
        (None, "worse", "its errors are in no interval: it was not measured (webarena judge)"),
        (JudgeErrors(right_accepted=69, right=70, wrong_refused=69, wrong=70), "worse", "if it never erred: −7.4"),
        (JudgeErrors(right_accepted=3, right=4, wrong_refused=3, wrong=4), "can't tell", "if it never erred: −21.1"),
        (
            JudgeErrors(right_accepted=30, right=60, wrong_refused=30, wrong=60),
            "can't tell",
            "its verdicts say nothing",
        ),
    ],
    ids=["not measured", "good", "hardly measured", "useless"],
)
def test_a_judges_measured_errors_widen_the_interval(
    runs: Path, tmp_path: Path, errors: JudgeErrors | None, verdict: str, said: str
) -> None:
    first, second = (asked(sides_of(runs / name)[0], errors) for name in ("main", "worse"))
    [found] = compare_all([(first, second)])
    assert (found.verdict, found.asked) == (verdict, (684, 684))
    told = words(found).replace("\n" + " " * 17, " ").replace("\n", " ")
    assert said in told
    assert said in "\n".join(in_markdown([found]))
    write_page([found], tmp_path / "page.html")
    assert said in (tmp_path / "page.html").read_text()
    data = plain(found)
    assert data["judge"]["asked"] == (684, 684)
    known = errors is not None and not found.judge_says_nothing
    assert (data["judge"]["corrected"] is not None) is known
    if known:
        low, high = data["judge"]["corrected"]["interval"]
        assert high - low > data["difference"]["sample"][1] - data["difference"]["sample"][0]
        assert "with the judge's errors" in told
    save_baseline([first], tmp_path / "b.json")
    [again] = compare_all([(sides_at(tmp_path / "b.json")[0], second)])
    assert again.corrected == found.corrected


def test_one_judge_that_was_never_measured_leaves_all_of_it_open(tmp_path: Path) -> None:
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
    assert [rate.asked for rate in rates] == [4, 4]
    assert rates[0].corrected is not None
    assert rates[1].corrected is None
    told = [
        "\n".join(line.text for line in summary_lines(summarise(RunDir(tmp_path / name).read().records).values()))
        for name in ("known", "open")
    ]
    assert "if the judge never erred: 7" in told[0]
    assert "its errors are not in the interval, it was not measured" in " ".join(told[1].split())
    rows = gather([tmp_path / "known", tmp_path / "open"])
    text = " ".join(as_text(tables(rows)).split())
    assert "a judge was asked about 4 of 4 trials; if it never erred, SR would be 7" in text
    assert "its errors are in no interval, for it was not measured (webarena judge)" in text
    agents = json.loads(as_json(rows))["agents"]
    assert [each["metrics"]["rate"]["corrected"] is not None for each in agents] == [True, False]
    for name, found in (("known", True), ("open", False)):
        rate = summary_json(RunDir(tmp_path / name).read().records)["agents"]["cot"]["rate"]
        assert ("judge_corrected" in rate) is found


def test_bounds_know_of_tasks_that_one_side_has_no_verdict_of(tmp_path: Path) -> None:
    """Whoever errs at what it would have failed must not look good."""
    first, second = make_run(tmp_path / "a", agents=["cot"]), make_run(tmp_path / "b", agents=["cot"])
    for number in range(20):
        make_trial(first, f"t{number}", "failed" if number < 10 else "passed", agent="cot")
        make_trial(second, f"t{number}", "error" if number < 10 else "passed", agent="cot")
    found = of(tmp_path / "a", tmp_path / "b")
    assert (found.difference.tasks, found.difference.value) == (10, 0.0)
    assert found.bounds == pytest.approx((0.0, 0.5))


def test_bounds_hold_the_difference_where_tasks_have_other_numbers_of_trials(tmp_path: Path) -> None:
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


def by_hand(path: Path, tasks: Mapping[str, str], *, planned: int = 0, decided: str = "") -> Path:
    """A run of one agent. Of each task its trials: ``p``, ``f``, ``e``, and ``-`` for one that has no record."""
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


def test_trials_without_a_result_are_told_and_could_turn_it(tmp_path: Path) -> None:
    names = [f"t{number}" for number in range(16)]
    first = by_hand(tmp_path / "a", dict.fromkeys(names, "pf"))
    lucky = by_hand(tmp_path / "b", dict.fromkeys(names, "p-"), planned=2)  # every second trial has got lost
    plain_sailing = by_hand(tmp_path / "c", dict.fromkeys(names, "pp"), planned=2)
    found, sure = of(first, lucky), of(first, plain_sailing)
    assert found.verdict == "better"
    assert found.bounds == pytest.approx((0.0, 0.5))
    told = " ".join(words(found).split())
    assert "Trials without a verdict could turn that: 0.0 to +50.0." in told
    assert "0 and 16 planned ones without a result" in told
    assert "without a result" in "\n".join(in_markdown([found]))
    assert "could turn" not in words(sure)
    half = dict.fromkeys(names[:8], "pp") | dict.fromkeys(names[8:], "--")
    gone = of(first, by_hand(tmp_path / "d", half, planned=2))
    [(reason, left_out)] = gone.left_out.items()
    assert (reason, set(left_out)) == ("planned and without a result on one side", set(names[8:]))
    assert gone.bounds == pytest.approx((0.0, 0.5))
    save_baseline(sides_of(lucky), tmp_path / "b.json")
    assert of(first, tmp_path / "b.json").bounds == found.bounds


def test_a_run_that_was_stopped_by_looking_is_no_fixed_one(tmp_path: Path) -> None:
    names = [f"t{number}" for number in range(16)]
    first = by_hand(tmp_path / "a", dict.fromkeys(names, "f"))
    short = dict.fromkeys(names[:10], "p") | dict.fromkeys(names[10:], "-")
    found = of(first, by_hand(tmp_path / "b", short, planned=1, decided="after is better"))
    assert "ended early because it was looked at (--until)" in " ".join(words(found).split())
    assert found.open_trials == (0, 0)  # nobody misses those


def test_other_numbers_of_trials_are_told_where_pairs_are(tmp_path: Path) -> None:
    first = by_hand(tmp_path / "a", {f"t{number}": "pfpfp" for number in range(12)})
    second = by_hand(tmp_path / "b", {f"t{number}": "p" if number else "pp" for number in range(12)})
    told = " ".join(words(of(first, second)).split())
    assert "12 both passed, 0 gained, 1 lost" not in told
    assert "of 60 and 13 trials in the rates" in told
    assert "cot in a, pass@2 90.0%, pass^2 30.0%" in told  # the same k for both
    assert "cot in b, pass@2 100.0% on 1 of 12 tasks" in told


def test_costs_that_are_all_alike_have_not_changed(tmp_path: Path) -> None:
    for name, trials in (("a", 3), ("b", 1)):  # 0.1 + 0.1 + 0.1 is not 3 × 0.1
        run = make_run(tmp_path / name, agents=["cot"])
        for number in range(12):
            for trial in range(1, trials + 1):
                used = Usage(calls=1, cost=0.1)
                make_trial(run, f"t{number}", agent="cot", trial=trial, usage=used, evidence=False, steps=())
    assert of(tmp_path / "a", tmp_path / "b").growth["cost"].interval == pytest.approx((1, 1))


def test_two_tasks_of_a_fixed_price_are_no_proof_that_it_rose(tmp_path: Path) -> None:
    for name, cost in (("cheap", 0.1), ("dear", 0.2)):
        for count in (2, 12):
            run = make_run(tmp_path / f"{name}{count}", agents=["cot"])
            for number in range(count):
                used = Usage(calls=1, cost=cost)
                make_trial(run, f"t{number}", agent="cot", usage=used, evidence=False, steps=())
    few, many = (of(tmp_path / f"cheap{n}", tmp_path / f"dear{n}").growth_beyond(0.2) for n in (2, 12))
    assert few is not None
    assert many is not None
    assert few.p == 0.25
    assert many.p < 0.001
