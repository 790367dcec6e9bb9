"""Rates and their intervals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarks.coverage import successes
from pytest_webarena.results import Attempt, TrialKey, TrialRecord, summarise, wilson_interval
from pytest_webarena.results.comparing.difference import PairedTask, difference_of
from pytest_webarena.results.comparing.repeats import about
from pytest_webarena.results.comparing.sides import side_of
from pytest_webarena.results.intervals import clustered_interval, student_quantile, whole_set_interval
from pytest_webarena.results.metrics import measure
from tests.cases import each_case


@each_case(
    ("passed", "total", "low", "high"),
    [
        # Values of R's prop.test(correct=FALSE) / Hmisc binconf(method="wilson")
        (0, 10, 0.0, 0.2775),
        (5, 10, 0.2366, 0.7634),
        (10, 10, 0.7225, 1.0),
        (635, 812, 0.7523, 0.8091),
        (0, 0, 0.0, 1.0),
    ],
)
def test_wilson_interval_equals_r(passed: int, total: int, low: float, high: float) -> None:
    assert wilson_interval(passed, total) == pytest.approx((low, high), abs=2e-4)


def record(task: str, outcome: Any, *, agent: str = "a", **more: Any) -> TrialRecord:
    return TrialRecord(key=TrialKey(task, agent, 1), outcome=outcome, **more)


def test_errors_are_excluded_from_the_rate() -> None:
    records = [record("1", "passed"), record("2", "failed"), record("3", "error", cause="site")]
    rate = summarise(records)["a"].rate
    assert (rate.passed, rate.judged, rate.errors, rate.value) == (1, 2, 1, 0.5)


def test_overflows_and_filters_count_as_failures() -> None:
    records = [record(str(number), "passed", stop_reason="answered") for number in range(16)]
    records += [record(str(number), "failed", stop_reason="context") for number in range(16, 48)]
    records += [record(str(number), "failed", stop_reason="filtered") for number in range(48, 64)]
    summary = summarise(records)["a"]
    assert (summary.rate.value, summary.rate.errors) == (0.25, 0)
    assert summary.stop_reasons == {"context": 32, "answered": 16, "filtered": 16}


def test_rate_without_judged_trials_is_none() -> None:
    summary = summarise([record("1", "error", cause="browser")])["a"]
    assert summary.rate.value is None
    assert summary.error_causes == {"browser": 1}


def test_summaries_group_by_agent_site_and_category() -> None:
    records = [
        record("1", "passed", sites=("shop",), category="content", stop_reason="answered"),
        record("2", "failed", sites=("shop", "map"), category="navigation", stop_reason="max_steps"),
        record("3", "passed", agent="b", sites=("map",)),
    ]
    summaries = summarise(records)
    assert list(summaries) == ["a", "b"]
    assert {name: rate.passed for name, rate in summaries["a"].by_site.items()} == {"shop": 1, "shop+map": 0}
    assert summaries["a"].stop_reasons == {"answered": 1, "max_steps": 1}
    assert summaries["b"].by_category["(none)"].judged == 1


def test_retried_trials_and_slowest_are_named() -> None:
    retry = (Attempt(number=1, outcome="error", cause="site"), Attempt(number=2, outcome="passed"))
    records = [
        record("slow", "passed", attempt=2, attempts=retry, seconds={"total": 9.0}),
        record("quick", "passed", seconds={"total": 1.0}),
    ]
    summary = summarise(records)["a"]
    assert summary.retried == 1
    assert summary.slowest[0] == ("slow", 9.0)


@each_case(
    ("freedom", "value"), [(2, 4.303), (3, 3.182), (5, 2.571), (10, 2.228), (19, 2.093), (49, 2.010), (799, 1.963)]
)
def test_student_quantile_equals_published_tables(freedom: int, value: float) -> None:
    assert student_quantile(freedom) == pytest.approx(value, rel=0.01 if freedom < 5 else 5e-4)


def test_more_trials_of_same_tasks_do_not_narrow_the_interval() -> None:
    once = clustered_interval([[True]] * 10 + [[False]] * 10)
    five = clustered_interval([[True] * 5] * 10 + [[False] * 5] * 10)
    assert five[0] <= once[0] < once[1] <= five[1]
    assert five[1] - five[0] == pytest.approx(once[1] - once[0], rel=0.1)


def repeated(clusters: list[list[bool]], times: int) -> list[list[bool]]:
    """Return clusters with each trial repeated identically."""
    return [[won for won in each for _ in range(times)] for each in clusters]


def contains(outer: tuple[float, float], inner: tuple[float, float]) -> bool:
    return outer[0] <= inner[0] + 1e-12 and inner[1] <= outer[1] + 1e-12


def test_identical_repetitions_never_widen_an_interval() -> None:
    """Neither that of a rate nor that of a difference, whatever the sizes of clusters and the rates."""
    source = np.random.default_rng(3)
    for _ in range(400):
        rate, largest = source.choice([0.01, 0.05, 0.3, 0.7, 0.97]), int(source.integers(1, 6))
        clusters = [
            (source.random(int(source.integers(1, largest + 1))) < rate).tolist()
            for _ in range(int(source.integers(1, 70)))
        ]
        pairs = [(each, (source.random(len(each)) < rate).tolist()) for each in clusters]
        for times in (2, 3, 7):
            assert contains(clustered_interval(clusters), clustered_interval(repeated(clusters, times))), clusters
            once, often = (difference_of(paired_tasks(pairs, many)) for many in (1, times))
            assert contains(once.sample, often.sample), pairs


def paired_tasks(pairs: list[tuple[list[bool], list[bool]]], times: int) -> list[PairedTask]:
    return [
        PairedTask(
            task=str(number),
            cluster=number // 2,
            passed=(times * sum(one), times * sum(other)),
            judged=(times * len(one), times * len(other)),
        )
        for number, (one, other) in enumerate(pairs)
    ]


@each_case("passed", range(21))
def test_interval_of_failures_mirrors_that_of_successes(passed: int) -> None:
    low, high = clustered_interval([[True]] * passed + [[False]] * (20 - passed))
    mirrored = clustered_interval([[False]] * passed + [[True]] * (20 - passed))
    assert mirrored == pytest.approx((1 - high, 1 - low))


def test_one_solved_template_of_many_has_one_interval_however_often_it_is_tried() -> None:
    low, high = clustered_interval([[True]] + [[False]] * 60)
    assert (round(low, 4), round(high, 3)) == (0.0006, 0.087)
    assert clustered_interval([[True] * 3] + [[False] * 3] * 60) == pytest.approx((low, high))


@each_case("templates", [20, 30, 61, 200])
def test_interval_covers_every_rate_nearly_as_often_as_it_says(stats: Any, templates: int) -> None:
    """Exactly, for single trials: Wilson's interval alone covers rates near 1 % in 84 % of the cases."""
    rates = np.linspace(0.005, 0.5, 800)
    covered = np.zeros_like(rates)
    for passed in range(templates + 1):
        low, high = clustered_interval([[True]] * passed + [[False]] * (templates - passed))
        covered += np.where((low <= rates) & (rates <= high), stats.binom.pmf(passed, templates, rates), 0.0)
    assert covered.min() >= 0.92
    assert covered.mean() == pytest.approx(0.953, abs=0.004)


@each_case("trials", [1, 3])
@each_case("rate", [0.005, 0.01, 0.05, 0.95])
@each_case("correlation", [0.0, 0.3, 1.0])
def test_interval_of_rare_outcomes_has_nominal_coverage(trials: int, rate: float, correlation: float) -> None:
    source, held, rounds = np.random.default_rng(4), 0, 400
    for row in successes(source, rounds, 61, trials, rate, correlation):
        low, high = clustered_interval([[True] * won + [False] * (trials - won) for won in row.tolist()])
        held += low <= rate <= high
    assert held / rounds >= 0.92


@pytest.mark.parametrize("won", [True, False])
def test_clustered_interval_of_uniform_tasks_is_wilson(won: bool) -> None:
    assert clustered_interval([[won] * 5] * 20) == wilson_interval(20 * won, 20)


def test_terminal_and_tables_print_one_interval() -> None:
    records = [
        TrialRecord(key=TrialKey(f"t{task}", "a", trial), outcome="passed" if task % 3 else "failed", template=name)
        for task in range(12)
        for trial in (1, 2, 3)
        for name in [f"template {task % 5}"]
    ]
    rate = summarise(records)["a"].rate
    assert rate.interval == measure(records).rate.interval
    assert rate.interval[1] - rate.interval[0] > 1.2 * (wilson_interval(24, 36)[1] - wilson_interval(24, 36)[0])


def test_rate_has_the_chance_level_of_guessing() -> None:
    guessed = [record(f"t{number}", "passed" if number else "failed") for number in range(4)]
    some = [replace(each, chance=0.25) for each in guessed[:2]]
    rate = summarise([*some, *guessed[2:]])["a"].rate
    assert (rate.chance, rate.guessable, rate.judged) == (0.25, 2, 4)
    assert summarise(guessed)["a"].rate.chance is None
    broken = replace(guessed[0], chance=0.5, outcome="error")
    assert summarise([broken, *some])["a"].rate.chance == 0.25


@each_case("trials", [2, 5])
@each_case("spread", [0.0, 2.0])
def test_whole_set_interval_has_nominal_coverage(trials: int, spread: float) -> None:
    source = np.random.default_rng(8)
    chances = 1 / (1 + np.exp(-source.normal(-0.5, spread, 60)))
    held, rounds = 0, 600
    for _ in range(rounds):
        won = source.binomial(trials, chances)
        found = whole_set_interval([[True] * each + [False] * (trials - each) for each in won.tolist()])
        assert found is not None
        held += found[0] <= chances.mean() <= found[1]
    assert held / rounds >= 0.93


def test_single_trials_have_no_whole_set_interval() -> None:
    assert whole_set_interval([[True, False], [True]]) is None
    assert whole_set_interval([]) is None
    low, high = whole_set_interval([[True, True]] * 20) or (0, 0)
    assert high == 1
    assert 0.8 < low < 1  # two passes do not prove that all will pass
    rate = summarise([record("1", "passed"), record("2", "failed")])["a"].rate
    assert rate.whole is None


def test_undecided_trials_do_not_make_a_task_flaky() -> None:
    undecided: dict[str, Any] = {"verdict": {"schema_version": 3, "judgeable": True}}
    outcomes: dict[str, list[Any]] = {
        "sure": ["passed", "failed"],
        "open": ["passed", "?"],
        "both": ["passed", "?", "failed"],
    }
    records = [
        TrialRecord(
            key=TrialKey(task, "a", number),
            outcome="failed" if each == "?" else each,
            **undecided if each == "?" else {},
        )
        for task, some in outcomes.items()
        for number, each in enumerate(some)
    ]
    assert summarise(records)["a"].flaky == {"both": (1, 2), "sure": (1, 2)}
    assert about(side_of("a", records, run="r"))["flaky"] == {"both": (1, 2), "sure": (1, 2)}
