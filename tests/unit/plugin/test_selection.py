"""Selection of trials by shards and resuming."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from pytest_webarena.plugin.selection import Digests, left_out
from pytest_webarena.plugin.shards import Shard
from pytest_webarena.results import TrialKey
from tests.cases import each_case


def item(task: str, *, digest: str = "d1", agent: str = "mine", trial: int = 1, browser: str = "chromium") -> Any:
    key = TrialKey(task, agent, trial, browser)
    return SimpleNamespace(task=SimpleNamespace(id=task, digest=digest), agent_name=agent, key=key)


AGENTS = {"mine": "a1"}


def test_trials_of_one_task_stay_in_one_shard() -> None:
    items = [item("a", trial=trial) for trial in range(1, 6)]
    elsewhere, _ = left_out(items, shard=Shard(1, 2), finished={}, agent_digests=AGENTS)
    assert len(elsewhere) in (0, 5)


@each_case(
    ("candidate", "skipped"),
    [
        (item("a"), True),
        (item("a", digest="d2"), False),  # the task changed
        (item("a", trial=2), False),
        (item("a", browser="firefox"), False),
        (item("b"), False),
    ],
)
def test_only_equal_finished_trials_are_skipped(candidate: Any, skipped: bool) -> None:
    finished = {TrialKey("a", "mine", 1): Digests("d1", "a1")}
    _, done = left_out([candidate], shard=None, finished=finished, agent_digests=AGENTS)
    assert bool(done) is skipped


def test_a_changed_agent_runs_again() -> None:
    finished = {TrialKey("a", "mine", 1): Digests("d1", "a0")}
    assert left_out([item("a")], shard=None, finished=finished, agent_digests=AGENTS) == ([], [])
