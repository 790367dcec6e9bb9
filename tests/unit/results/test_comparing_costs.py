"""Costs per success of two runs, and tests of their growth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.evidence import Usage
from pytest_webarena.results.comparing.baseline import save_baseline
from pytest_webarena.results.comparing.effort import effort_of, growth_of, quantile
from pytest_webarena.results.comparing.page import write_page
from pytest_webarena.results.comparing.plain_form import plain
from pytest_webarena.results.comparing.sides import Side, sides_of
from pytest_webarena.results.comparing.wording import in_markdown
from tests.made_up import make_run, make_trial
from tests.planted import plant
from tests.unit.results.compared import of, runs, words

__all__ = ["runs"]


def test_cost_per_success_includes_failed_trials(tmp_path: Path) -> None:
    plant(tmp_path / "run", seed=1, tasks=40, trials=2)
    [side] = sides_of(tmp_path / "run")
    cost = effort_of(side, "cost")
    assert cost is not None
    assert cost.per_success is not None
    assert cost.per_success == pytest.approx(cost.total / sum(task.passed for task in side.tasks.values()))
    assert cost.quantiles[0] < cost.quantiles[1] < cost.quantiles[2]


def test_cost_includes_cache_savings_and_reports_them(tmp_path: Path) -> None:
    for name, used in (("paid", Usage(calls=1, cost=0.5)), ("cached", Usage(calls=1, cached_calls=1, saved=0.5))):
        run = make_run(tmp_path / name, agents=["cot"])
        for number in range(4):
            make_trial(run, f"t{number}", "passed" if number else "failed", agent="cot", usage=used)
    found = of(tmp_path / "paid", tmp_path / "cached")
    first, second = (effort["cost"] for effort in found.efforts)
    assert (first.total, second.total, first.saved, second.saved) == (2.0, 2.0, 0.0, 2.0)
    savings = "the cache saved nothing and $2.00 of $2.00"
    assert savings in " ".join(words(found).split())
    assert "| … saved by the cache | nothing | $2.00 of $2.00 |" in "\n".join(in_markdown([found]))
    write_page([found], tmp_path / "page.html")
    assert "saved by the cache" in (tmp_path / "page.html").read_text()
    assert plain(found)["efforts"][1]["cost"]["saved"] == 2.0
    save_baseline(sides_of(tmp_path / "cached"), tmp_path / "b.json")
    assert of(tmp_path / "b.json", tmp_path / "paid").efforts[0]["cost"].saved == 2.0


def test_quantile_equals_numpy() -> None:
    import numpy as np

    values = [3.0, 1.0, 9.5, 2.0, 7.0, 7.0]
    for share in (0.0, 0.1, 0.5, 0.9, 1.0):
        assert quantile(values, share) == pytest.approx(np.quantile(values, share))


def test_cost_growth_has_an_interval_and_p_value(tmp_path: Path) -> None:
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


def test_growth_equals_paired_t_test_with_single_trials(stats: Any) -> None:
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


def test_equal_costs_have_growth_interval_of_one(tmp_path: Path) -> None:
    for name, trials in (("a", 3), ("b", 1)):  # 0.1 + 0.1 + 0.1 is not 3 × 0.1
        run = make_run(tmp_path / name, agents=["cot"])
        for number in range(12):
            for trial in range(1, trials + 1):
                used = Usage(calls=1, cost=0.1)
                make_trial(run, f"t{number}", agent="cot", trial=trial, usage=used, evidence=False, steps=())
    assert of(tmp_path / "a", tmp_path / "b").growth["cost"].interval == pytest.approx((1, 1))


def test_growth_of_two_fixed_price_tasks_is_not_significant(tmp_path: Path) -> None:
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
