"""Formulas of comparisons, checked against SciPy, published tables and enumeration."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from pytest_webarena.results.comparing.difference import PairedTask, difference_of, set_interval
from pytest_webarena.results.comparing.quantiles import normal_quantile, normal_tail, student_quantile, student_tail
from pytest_webarena.results.comparing.repeats import flaky, pass_all, pass_any, spread_of
from pytest_webarena.results.comparing.significance import flip_test, flip_test_of, holm, mcnemar
from pytest_webarena.results.comparing.uncertainty import (
    Verdicts,
    bounds,
    corrected_difference,
    corrected_rate,
    difference_bounds,
    least_informed,
)
from pytest_webarena.results.intervals import wilson_interval
from pytest_webarena.results.records import JudgeErrors
from tests.cases import each_case

pytestmark = pytest.mark.corpus


@each_case("freedom", [1, 2, 3.7, 9, 40, 500])
@each_case("probability", [0.005, 0.2, 0.5, 0.9, 0.95, 0.975, 0.9995])
def test_student_quantile_equals_scipy(stats: Any, probability: float, freedom: float) -> None:
    expected = stats.t.ppf(probability, freedom)
    assert student_quantile(probability, freedom) == pytest.approx(expected, rel=1e-7, abs=1e-9)
    assert student_tail(expected, freedom) == pytest.approx(1 - probability, abs=1e-9)


def test_student_quantile_with_infinite_freedom_is_normal(stats: Any) -> None:
    assert student_quantile(0.975, math.inf) == normal_quantile(0.975) == pytest.approx(stats.norm.ppf(0.975))
    assert normal_tail(1.2) == pytest.approx(stats.norm.sf(1.2))


@each_case(("gains", "losses"), [(0, 0), (1, 0), (5, 5), (9, 1), (1, 9), (40, 60), (130, 95)])
def test_mcnemar_equals_binomial_test(stats: Any, gains: int, losses: int) -> None:
    expected = stats.binomtest(gains, gains + losses).pvalue if gains + losses else 1.0
    assert mcnemar(gains, losses) == pytest.approx(expected)
    assert flip_test([Fraction(1)] * gains + [Fraction(-1)] * losses) == pytest.approx(expected)


@each_case("seed", range(8))
def test_flip_test_equals_scipy_permutation_test(stats: Any, seed: int) -> None:
    source = random.Random(seed)
    sums = [Fraction(source.randint(-6, 6), source.choice((1, 2, 3))) for _ in range(source.randint(2, 11))]
    values = np.array([float(each) for each in sums])
    expected = stats.permutation_test(
        (values,), lambda x, axis: x.sum(axis=axis), permutation_type="samples", n_resamples=np.inf, vectorized=True
    ).pvalue
    # SciPy's two sides are twice the smaller one; totals are as often above as below, so that is the same
    assert flip_test(sums) == pytest.approx(min(1.0, expected))


def test_flip_test_samples_when_there_are_too_many_flips() -> None:
    source = random.Random(5)
    sums = [Fraction(source.randint(-50_000, 70_000), 1) for _ in range(60)]
    values = np.array([float(each) for each in sums])
    signs = np.random.default_rng(1).choice([-1.0, 1.0], (100_000, 60))
    expected = (abs(signs @ values) >= abs(values.sum())).mean()
    assert flip_test(sums) == pytest.approx(expected, abs=0.01)
    assert flip_test(sums) == flip_test(sums)


def test_clusters_are_flipped_whole() -> None:
    tasks = [task(f"{n}", n // 4, (0, 1), (1, 1)) for n in range(16)]
    assert flip_test_of(tasks) == 2 / 2**4
    assert flip_test_of(task(f"{n}", n, (0, 1), (1, 1)) for n in range(16)) == 2 / 2**16


@each_case("values", [(0.01, 0.04, 0.03), (0.5, 0.5), (0.001, 0.02, 0.03, 0.04), (0.9,), ()])
def test_holm_equals_closed_bonferroni_test(values: tuple[float, ...]) -> None:
    """The closed test takes the largest Bonferroni value among all sets of hypotheses that contain the hypothesis."""
    found = holm(dict(enumerate(values)))
    for index in range(len(values)):
        sets = (each for size in range(1, len(values) + 1) for each in itertools.combinations(range(len(values)), size))
        closed = max(min(1.0, len(each) * min(values[n] for n in each)) for each in sets if index in each)
        assert found[index] == pytest.approx(closed)


@each_case("k", [1, 2, 3, 5])
def test_pass_at_k_and_pass_to_the_k_are_means_over_all_choices(k: int) -> None:
    tasks = [(0, 5), (2, 5), (5, 5), (3, 6), (1, 2)]
    some, every = [], []
    for passed, judged in tasks:
        if judged >= k:
            chosen = list(itertools.combinations([True] * passed + [False] * (judged - passed), k))
            some.append(sum(map(any, chosen)) / len(chosen))
            every.append(sum(map(all, chosen)) / len(chosen))
    assert pass_any(tasks, k) == pytest.approx(sum(some) / len(some))
    assert pass_all(tasks, k) == pytest.approx(sum(every) / len(every))
    assert pass_any(tasks, 7) is None
    assert pass_all(tasks, 7) is None


def test_spread_equals_analysis_of_variance(stats: Any) -> None:
    groups = [[1, 1, 1, 0], [0, 0, 0, 0], [1, 0, 1, 0], [1, 1, 1, 1], [0, 1, 0, 0]]
    found = spread_of([(sum(each), len(each)) for each in groups])
    assert found is not None
    assert found.share is not None
    ratio = stats.f_oneway(*groups).statistic  # (within + 4 tasks) / within
    assert (found.trials + 4 * found.tasks) / found.trials == pytest.approx(ratio)
    assert 0 < found.share < 1
    assert spread_of([(1, 1), (0, 1)]) is None


def test_flaky_tasks_are_sorted_by_uncertainty() -> None:
    assert list(flaky({"a": (1, 4), "b": (2, 4), "c": (4, 4), "d": (0, 4)})) == ["b", "a"]


def task(name: str, cluster: Any, passed: tuple[int, int], judged: tuple[int, int]) -> PairedTask:
    return PairedTask(task=name, cluster=cluster, passed=passed, judged=judged)


def test_difference_interval_of_single_pairs_equals_bonett_price(stats: Any) -> None:
    """Airway responsiveness of 21 children (Fagerland, Lydersen and Laake 2014): 1, 1, 7, 12; -0.508 to -0.013."""
    verdicts = [(1, 1)] * 1 + [(0, 1)] * 1 + [(1, 0)] * 7 + [(0, 0)] * 12
    found = difference_of(task(str(n), n, passed, (1, 1)) for n, passed in enumerate(verdicts))
    assert found.value == pytest.approx(-6 / 21)
    middle, reach = (found.sample[0] + found.sample[1]) / 2, (found.sample[1] - found.sample[0]) / 2
    reach *= stats.norm.ppf(0.975) / stats.t.ppf(0.975, 20)  # the paper's interval assumes a known variance
    # their n counts pairs; ours is the effective one, which is estimated with one degree of freedom less
    assert (middle - reach, middle + reach) == pytest.approx((-0.508, -0.013), abs=0.02)


def test_larger_clusters_widen_the_interval() -> None:
    source = random.Random(1)
    chances = [source.random() for _ in range(20)]
    tasks = [
        task(f"{n}.{k}", n, (int(source.random() < 0.5), int(source.random() < chances[n])), (1, 1))
        for n in range(20)
        for k in range(10)
    ]
    alone = [task(each.task, each.task, each.passed, each.judged) for each in tasks]

    def width(interval: tuple[float, float]) -> float:
        return interval[1] - interval[0]

    clustered, single = difference_of(tasks), difference_of(alone)
    assert clustered.value == single.value
    assert width(clustered.sample) > 1.2 * width(single.sample)


def test_whole_set_interval_ignores_sampling_of_tasks() -> None:
    """Half of the tasks improve and half get worse in every trial: only sampling of tasks is uncertain."""
    tasks = [task(str(n), n, ((0, 4) if n % 2 else (4, 0)), (4, 4)) for n in range(40)]
    found = difference_of(tasks)
    assert found.value == 0
    assert found.sample[1] > 0.25
    assert found.whole[1] < 0.05


def test_single_trials_give_no_separate_whole_set_interval() -> None:
    found = difference_of([task(str(n), n, (0, n % 2), (1, 1)) for n in range(20)])
    assert found.whole == found.sample
    assert not found.repeated


def test_whole_set_variance_equals_welch(stats: Any) -> None:
    first, second = [1, 0, 0, 1, 1], [1, 1, 1, 0, 1]
    one = task("t", "t", (sum(first), sum(second)), (5, 5))
    found = difference_of([one] * 30)
    variance = (np.var(first, ddof=1) / 5 + np.var(second, ddof=1) / 5) / 30
    value = sum(second) / 5 - sum(first) / 5
    expected = set_interval(value, float(variance), trials=150, freedom=30 * 7.5, confidence=0.95)
    assert found.whole == pytest.approx(expected, abs=2e-3)
    welch = stats.ttest_ind(second, first, equal_var=False)
    assert value / math.sqrt(variance * 30) == pytest.approx(welch.statistic)


@pytest.mark.parametrize("tasks", [[], [task("a", 1, (1, 0), (1, 1))]])
def test_fewer_than_two_clusters_give_the_full_interval(tasks: list[PairedTask]) -> None:
    assert difference_of(tasks).sample == (-1, 1)
    assert difference_of(tasks).decided() == 0


PERFECT = JudgeErrors(right_accepted=10**6, right=10**6, wrong_refused=10**6, wrong=10**6)


def singles(passed: int, total: int, *, by_judge: bool = True) -> list[Verdicts]:
    """Return verdicts of ``total`` tasks with one trial each."""
    return [
        Verdicts(passed=n < passed, total=1, by_judge=by_judge, accepted=by_judge and n < passed) for n in range(total)
    ]


def test_perfect_judge_leaves_corrected_rate_unchanged(stats: Any) -> None:
    wilson = stats.binomtest(80, 200).proportion_ci(method="wilson")
    found = corrected_rate(singles(80, 200), (wilson.low, wilson.high), PERFECT)
    assert found is not None
    assert found.value == pytest.approx(0.4, abs=1e-4)
    assert found.interval == pytest.approx((wilson.low, wilson.high), abs=1e-3)


@pytest.mark.matrix(2)
@pytest.mark.parametrize(("truth", "hit", "clear"), [(0.1, 0.9, 0.95), (0.4, 0.8, 0.9), (0.7, 0.95, 0.7)])
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_corrected_rate_interval_has_nominal_coverage(truth: float, hit: float, clear: float, share: float) -> None:
    source = np.random.default_rng(4)
    held, naive, rounds, judge_trials = 0, 0, 1000, int(300 * share)
    others = 0.2  # of the trials that need no judge so many pass
    whole = (judge_trials * truth + (300 - judge_trials) * others) / 300
    for _ in range(rounds):
        errors = drawn_errors(source, hit, clear)
        accepted = int(source.binomial(judge_trials, truth * hit + (1 - truth) * (1 - clear)))
        passed = accepted + int(source.binomial(300 - judge_trials, others))
        observed = wilson_interval(passed, 300)
        found = corrected_rate(
            [*singles(accepted, judge_trials), *singles(passed - accepted, 300 - judge_trials, by_judge=False)],
            observed,
            errors,
        )
        assert found is not None
        held += found.interval[0] <= whole <= found.interval[1]
        naive += observed[0] <= whole <= observed[1]
    assert held / rounds >= 0.94
    assert naive <= held


def drawn_errors(source: Any, hit: float, clear: float) -> JudgeErrors:
    return JudgeErrors(
        right_accepted=int(source.binomial(80, hit)), right=80, wrong_refused=int(source.binomial(80, clear)), wrong=80
    )


@pytest.mark.matrix(1)
@pytest.mark.parametrize(("hit", "clear"), [(0.95, 0.95), (0.8, 0.9), (0.9, 0.7)])
def test_corrected_difference_interval_has_nominal_coverage(hit: float, clear: float) -> None:
    source = np.random.default_rng(5)
    held, naive, rounds, rates = 0, 0, 1000, (0.3, 0.6)
    for _ in range(rounds):
        errors = drawn_errors(source, hit, clear)
        won = [source.binomial(1, rate * hit + (1 - rate) * (1 - clear), 120) for rate in rates]
        tasks = [task(str(n), n, (int(a), int(b)), (1, 1)) for n, (a, b) in enumerate(zip(*won, strict=True))]
        pairs = [
            (n, *(Verdicts(passed=int(side[n]), total=1, by_judge=1, accepted=int(side[n])) for side in won))
            for n in range(120)
        ]
        observed = difference_of(tasks).sample
        found = corrected_difference(pairs, observed, (errors, errors))  # type: ignore[arg-type]
        assert found is not None
        held += found.interval[0] <= 0.3 <= found.interval[1]
        naive += observed[0] <= 0.3 <= observed[1]
    assert held / rounds >= 0.94
    assert naive / rounds < 0.94 or hit + clear > 1.85


def test_shared_judge_errors_cancel_in_corrected_difference() -> None:
    few = JudgeErrors(right_accepted=7, right=8, wrong_refused=7, wrong=8)
    same = Verdicts(passed=1, total=2, by_judge=2, accepted=1)
    tasks = [(n, same, same) for n in range(40)]
    one, two = (
        corrected_difference(tasks, (-0.1, 0.1), errors)
        for errors in ((few, few), (few, JudgeErrors(right_accepted=8, right=9, wrong_refused=7, wrong=8)))
    )
    assert one is not None
    assert two is not None
    assert one.value == pytest.approx(0)
    assert two.interval[1] - two.interval[0] > 1.5 * (one.interval[1] - one.interval[0])


def test_uninformative_judge_gives_no_corrected_rate() -> None:
    useless = JudgeErrors(right_accepted=5, right=10, wrong_refused=5, wrong=10)
    assert corrected_rate(singles(50, 100), (0.4, 0.6), useless) is None
    [one] = singles(1, 1)
    assert corrected_difference([(0, one, one)], (-1, 1), (PERFECT, useless)) is None
    assert least_informed([PERFECT, useless, PERFECT]) == useless
    assert least_informed([PERFECT, None]) is None
    assert least_informed([]) is None


def test_verdicts_without_a_judge_are_not_corrected() -> None:
    errors = JudgeErrors(right_accepted=70, right=100, wrong_refused=100, wrong=100)
    some = [*singles(70, 200), *singles(0, 200, by_judge=False)]
    every, mixed, none = (
        corrected_rate(trials, (0.1, 0.4), errors)
        for trials in (singles(140, 400), some, singles(70, 400, by_judge=False))
    )
    assert every is not None
    assert mixed is not None
    assert none is not None
    assert every.value == pytest.approx(0.5, abs=0.01)
    assert mixed.value == pytest.approx(0.25, abs=0.01)  # half of the 200, and none of those that need no judge
    assert none.value == 0.175
    assert none.interval == pytest.approx((0.1, 0.4))


def test_bounds_of_rates_and_differences_with_errors() -> None:
    assert bounds(6, 8, 2) == (0.6, 0.8)
    assert difference_bounds((0.5, 0.6), (0.6, 0.8)) == pytest.approx((0.0, 0.3))
