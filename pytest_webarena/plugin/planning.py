"""Which trials this invocation is to run: one item for each, and a plan that its records are held against."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from pytest_webarena.errors import UsageError
from pytest_webarena.plugin.items import TaskItem
from pytest_webarena.plugin.stash import CATALOGUE, PLAN, SETTINGS, VISITS
from pytest_webarena.results import TrialKey
from pytest_webarena.results.plan import PlannedTrial, extend_plan, write_plan

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from pytest_webarena.trials.run_info import RunInfo

__all__ = ["check_keys", "check_needs", "expected_visits", "make_plan", "record_empty_part", "record_plan"]


_SHOWN = 3
"""How many tasks are named that lack something."""


def check_keys(items: Iterable[pytest.Item]) -> None:
    """`UsageError` when two items would be one trial: the second one would overwrite the record of the first."""
    known: dict[TrialKey, TaskItem] = {}
    for item in items:
        if isinstance(item, TaskItem) and (other := known.setdefault(item.key, item)).nodeid != item.nodeid:
            raise UsageError(
                f"expected each trial once, found {other.nodeid} and {item.nodeid}: both are trial {item.key.trial} of "
                f"{item.key.agent} in {item.browser} at the task {item.key.task}, and records tell trials apart by "
                "these; give the tasks different ids, or run their files apart (several tries of one task: --trials, "
                "not --count)"
            )


def check_needs(config: pytest.Config, items: Iterable[pytest.Item]) -> None:
    """`UsageError` when an agent needs of a task what is not there, such as a guide: told before the first trial."""
    settings = config.stash[SETTINGS]
    if settings.rescore is not None or settings.audit or config.getoption("collectonly"):
        return
    from pytest_webarena.agents import resolve_agent

    asked = {(item.agent_name, item.task.id): item.task for item in items if isinstance(item, TaskItem)}
    agents = {}
    for name in dict.fromkeys(name for name, _ in asked):
        with suppress(UsageError):  # of an agent that there is not; its trials say so
            agents[name] = resolve_agent(name, settings.agent_directories, settings.overrides)
    lacking = [
        f"agent {name}: {told}"
        for (name, _), task in asked.items()
        if name in agents and not task.skip and (told := agents[name].lacks(task))
    ]
    if lacking:
        more = f"\nand {len(lacking) - _SHOWN} more like that" if len(lacking) > _SHOWN else ""
        raise UsageError("\n".join(lacking[:_SHOWN]) + more)


def make_plan(config: pytest.Config, items: Iterable[pytest.Item]) -> None:
    """Note which trials are to be run. A task whose file says ``skip`` is not planned."""
    config.stash[PLAN] = tuple(
        PlannedTrial(key=item.key, sites=item.task.sites, node_id=item.nodeid)
        for item in items
        if isinstance(item, TaskItem) and not item.task.skip
    )


def record_plan(config: pytest.Config, run: Path) -> None:
    """Write the plan into the run's directory, before its first trial. All processes of a run write the same."""
    if config.stash[SETTINGS].rescore is None:
        plan: tuple[PlannedTrial, ...] = config.stash.get(PLAN, ())
        extend_plan(run, plan)


def record_empty_part(config: pytest.Config, info: RunInfo) -> None:
    """Make a run of a part (``--shard``) that no task fell to: whoever joins them is to know that none is missing."""
    from pytest_webarena.plugin.run_facts import run_facts
    from pytest_webarena.results import RunDir

    if not config.getoption("collectonly"):
        RunDir(info.run_dir).describe(run_facts(config, info.facts))
        write_plan(info.run_dir, {})


def expected_visits(
    config: pytest.Config, items: Sequence[pytest.Item], *, browser: str
) -> Mapping[str, Mapping[str, int]]:
    """Site to account to how many trials in ``browser`` among ``items`` visit the site so."""
    from pytest_webarena.trials.visit_counts import count_visits

    if CATALOGUE not in config.stash:
        return {}
    known = config.stash.setdefault(VISITS, {})
    if (len(items), browser) not in known:  # every trial asks, of the same items
        trials = [item.task for item in items if isinstance(item, TaskItem) and item.browser == browser]
        known[len(items), browser] = count_visits(trials, config.stash[CATALOGUE])
    return known[len(items), browser]
