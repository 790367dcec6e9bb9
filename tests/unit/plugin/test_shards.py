"""Parts of a run, by ids and by recorded durations."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_webarena.errors import UsageError
from pytest_webarena.plugin.shards import Shard, read_shard
from tests.cases import each_case
from tests.made_up import make_run, make_trial


def parts_of(tasks: list[str], count: int, durations: dict[str, float]) -> list[set[str]]:
    return [{task for task in tasks if Shard(part, count, durations).holds(task)} for part in range(1, count + 1)]


def test_shards_partition_tasks_independently_of_order() -> None:
    tasks = [f"task-{number}" for number in range(500)]
    parts = parts_of(tasks, 4, {})
    assert set().union(*parts) == set(tasks)
    assert sum(map(len, parts)) == len(tasks)
    assert all(80 < len(part) < 170 for part in parts)


def test_durations_balance_parts_and_new_tasks_belong_to_one() -> None:
    durations = {f"task-{number}": float(number % 7 + 60 * (number == 3)) for number in range(40)}
    tasks = [*durations, *(f"new-{number}" for number in range(20))]
    parts = parts_of(tasks, 3, durations)
    assert sorted(task for part in parts for task in part) == sorted(tasks)
    seconds = [sum(durations.get(task, 0) for task in part) for part in parts]
    assert max(seconds) == durations["task-3"] + 0  # the longest task has a part of its own
    assert max(seconds[1:]) - min(seconds[1:]) <= 6


def test_parts_do_not_depend_on_the_order_of_the_recorded_run() -> None:
    durations = {"a": 3.0, "b": 3.0, "c": 1.0}
    other = dict(reversed(durations.items()))
    assert parts_of(list("abc"), 2, durations) == parts_of(list("abc"), 2, other)
    assert Shard(1, 2, durations).digest == Shard(2, 2, other).digest != Shard(1, 2, {"a": 4.0}).digest
    assert Shard(1, 2).digest == ""


def test_durations_come_from_all_trials_of_a_recorded_run(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    make_trial(run, "a", seconds={"total": 2.0})
    make_trial(run, "a", trial=2, seconds={"total": 3.0})
    make_trial(run, "b", "error", cause="site", seconds={"total": 1.0})
    found = read_shard("1/2", str(run.path))
    assert found is not None
    assert found.durations == {"a": 5.0, "b": 1.0}


@each_case("text", ["0/2", "3/2", "1", "a/b", "1/0", "-1/2"])
def test_invalid_shards_are_usage_errors(text: str) -> None:
    with pytest.raises(UsageError, match="expected I/N"):
        read_shard(text, None)


def test_durations_need_a_part_and_a_recorded_run(tmp_path: Path) -> None:
    assert read_shard("", None) is None
    with pytest.raises(UsageError, match="expected --shard=I/N"):
        read_shard("", "run")
    for path in (tmp_path / "none", make_run(tmp_path / "empty").path):
        with pytest.raises(UsageError, match="run directory with finished trials"):
            read_shard("1/2", str(path))
