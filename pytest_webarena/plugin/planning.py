"""The trials that this invocation runs: checks for duplicates, and the plan for comparison with the records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING

from pytest_webarena.errors import UsageError
from pytest_webarena.plugin.items import TaskItem
from pytest_webarena.plugin.stash import CATALOGUE, COLLECTED, PLAN, SETTINGS, VISITS
from pytest_webarena.results import TrialKey
from pytest_webarena.results.plan import PlannedTrial, extend_plan, write_plan

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from pytest_webarena.trials.run_info import RunInfo

__all__ = [
    "check_keys",
    "check_needs",
    "expected_visits",
    "make_plan",
    "note_collected",
    "record_empty_part",
    "record_plan",
]


_SHOWN = 3
"""Number of tasks with missing prerequisites that a message names."""


def check_keys(items: Iterable[pytest.Item]) -> None:
    """Raise `UsageError` when two items are the same trial, because one would overwrite the other's record."""
    known: dict[TrialKey, TaskItem] = {}
    for item in items:
        if isinstance(item, TaskItem) and (other := known.setdefault(item.key, item)).nodeid != item.nodeid:
            raise UsageError(
                f"expected each trial once, found {other.nodeid} and {item.nodeid}: both are trial {item.key.trial} of "
                f"{item.key.agent} in {item.browser} at the task {item.key.task}, which identify a trial in "
                "records; give the tasks different ids, or run their files separately (several trials of one task: "
                "--trials, not --count)"
            )


def check_needs(config: pytest.Config, items: Iterable[pytest.Item]) -> None:
    """Raise `UsageError` before the first trial when tasks lack what an agent needs, such as a guide."""
    settings = config.stash[SETTINGS]
    if settings.rescore is not None or settings.audit or config.getoption("collectonly"):
        return
    from pytest_webarena.agents import resolve_agent

    tasks = {(item.agent_name, item.task.id): item.task for item in items if isinstance(item, TaskItem)}
    agents = {}
    for name in dict.fromkeys(name for name, _ in tasks):
        with suppress(UsageError):  # for an agent that does not exist, its trials report it
            agents[name] = resolve_agent(name, settings.agent_directories, settings.overrides)
    problems = [
        f"agent {name}: {missing}"
        for (name, _), task in tasks.items()
        if name in agents and not task.skip and (missing := agents[name].missing_requirement(task))
    ]
    if problems:
        more = f"\nand {len(problems) - _SHOWN} more like that" if len(problems) > _SHOWN else ""
        raise UsageError("\n".join(problems[:_SHOWN]) + more)


def check_plugins(config: pytest.Config, items: Iterable[pytest.Item]) -> None:
    """Raise `UsageError` if pytest-playwright, whose fixture names the browser of a trial, is switched off."""
    if config.pluginmanager.hasplugin("playwright") or not any(isinstance(item, TaskItem) for item in items):
        return
    raise UsageError(
        "-p no:playwright: expected the plugin pytest-playwright, from which tasks have --browser, found it switched "
        "off; leave the option out"
    )


def note_collected(config: pytest.Config, items: Iterable[pytest.Item], *, errors: int) -> None:
    """Store what was collected before parts (``--shard``) are chosen: a digest of the tasks' ids, and the errors.

    With ``--lf``, each part has other tasks, so there is no digest.
    """
    tasks = sorted({item.task.id for item in items if isinstance(item, TaskItem)})
    digest = "" if config.getoption("lf", default=False) else sha256("\n".join(tasks).encode()).hexdigest()[:16]
    config.stash[COLLECTED] = {"tasks": digest, "errors": errors}


def make_plan(config: pytest.Config, items: Iterable[pytest.Item]) -> None:
    """Store the trials to run. Tasks with ``skip`` in their file are not planned."""
    config.stash[PLAN] = tuple(
        PlannedTrial(key=item.key, sites=item.task.sites, node_id=item.nodeid)
        for item in items
        if isinstance(item, TaskItem) and not item.task.skip
    )


def record_plan(config: pytest.Config, run: Path) -> None:
    """Write the plan into the run's directory before its first trial. All processes of a run write the same."""
    if config.stash[SETTINGS].rescore is None:
        plan: tuple[PlannedTrial, ...] = config.stash.get(PLAN, ())
        extend_plan(run, plan)


def record_empty_part(config: pytest.Config, info: RunInfo) -> None:
    """Create the run of a part (``--shard``) without tasks, so that a merge knows that the part is not missing."""
    from pytest_webarena.plugin.run_facts import run_facts
    from pytest_webarena.results import RunDir

    if not config.getoption("collectonly"):
        RunDir(info.run_dir).describe(run_facts(config, info.facts))
        write_plan(info.run_dir, {})


def expected_visits(
    config: pytest.Config, items: Sequence[pytest.Item], *, browser: str
) -> Mapping[str, Mapping[str, int]]:
    """Return the number of visits of each account to each site, by the trials in ``browser`` among ``items``."""
    from pytest_webarena.trials.visit_counts import count_visits

    if CATALOGUE not in config.stash:
        return {}
    known = config.stash.setdefault(VISITS, {})
    if (len(items), browser) not in known:  # every trial asks for the same items
        trials = [item.task for item in items if isinstance(item, TaskItem) and item.browser == browser]
        known[len(items), browser] = count_visits(trials, config.stash[CATALOGUE])
    return known[len(items), browser]
