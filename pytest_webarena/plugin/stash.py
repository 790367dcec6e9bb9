"""Typed stash keys of the plugin's data on pytest's config. All modules may import this one, which imports no other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from pytest_webarena.plugin.controller import Controller
    from pytest_webarena.plugin.prefetched_trial import PrefetchedTrial, TrialTimes
    from pytest_webarena.plugin.ray_dispatch import RayDispatch
    from pytest_webarena.plugin.run_start import RunStart
    from pytest_webarena.plugin.selection import LeftOut
    from pytest_webarena.plugin.sequential_stop import SequentialStop
    from pytest_webarena.plugin.settings import Settings
    from pytest_webarena.plugin.worker import Worker
    from pytest_webarena.results.plan import PlannedTrial
    from pytest_webarena.sites.catalogues.manifest import Catalogue
    from pytest_webarena.trials.run_info import RunInfo

__all__ = [
    "CATALOGUE",
    "CLUSTER",
    "COLLECTED",
    "CONTROLLER",
    "DESELECTED",
    "FEWER_WORKERS",
    "LEFT_OUT",
    "LOAD_HOOKS",
    "PASSED_OVER",
    "PLAN",
    "PREFETCHED",
    "REQUESTED",
    "RUN",
    "SEQUENTIAL_STOP",
    "SETTINGS",
    "SITES",
    "START",
    "SUITES",
    "TRIAL_TIMES",
    "VISITS",
    "WORKER",
    "settings_of",
    "take_part",
]

SETTINGS: pytest.StashKey[Settings] = pytest.StashKey()
"""The settings, in all processes, once this plugin is enabled."""
CATALOGUE: pytest.StashKey[Catalogue] = pytest.StashKey()
"""The run's catalogue, set together with `SITES`."""
SITES: pytest.StashKey[Mapping[str, Collection[str] | None]] = pytest.StashKey()
"""Names of the catalogue's sites with those of their accounts, in all processes, once a task file has been read."""
SUITES: pytest.StashKey[dict[str, tuple[str, ...]]] = pytest.StashKey()
"""Published suites to collect, with the requested items of each (none means all); set together with `SETTINGS`."""
COLLECTED: pytest.StashKey[dict[str, Any]] = pytest.StashKey()
"""A digest of the ids of all collected tasks, before parts are chosen, and the number of collection errors."""
REQUESTED: pytest.StashKey[dict[str, Any]] = pytest.StashKey()
"""What was requested, as `resuming.requested_options` returns it; set together with `SETTINGS`."""
CONTROLLER: pytest.StashKey[Controller] = pytest.StashKey()
"""The controller, set together with `SETTINGS` in the process that the user started."""
SEQUENTIAL_STOP: pytest.StashKey[SequentialStop] = pytest.StashKey()
"""State of ``--stop-when-settled``, in processes that collect items."""
START: pytest.StashKey[RunStart] = pytest.StashKey()
"""The start of the run in the same process, once it is needed: with xdist when the first worker is created."""
RUN: pytest.StashKey[RunInfo] = pytest.StashKey()
"""Broker address and record directory, in all processes."""
FEWER_WORKERS: pytest.StashKey[str] = pytest.StashKey()
"""Why `-n auto` starts fewer workers than there are processors: a line of the header."""
LEFT_OUT: pytest.StashKey[LeftOut] = pytest.StashKey()
"""Numbers of deselected trials by reason, in processes that collect items, once there are any."""
DESELECTED: pytest.StashKey[set[str]] = pytest.StashKey()
"""Ids of tasks that the user deselected, in processes that collect items, once there are any."""
PASSED_OVER: pytest.StashKey[list[str]] = pytest.StashKey()
"""YAML files with a list ``tasks`` that no plugin collected, once there are any. With xdist they are known late."""

PLAN: pytest.StashKey[tuple[PlannedTrial, ...]] = pytest.StashKey()
"""The trials to run, in processes that collect items, after collection."""
VISITS: pytest.StashKey[dict[tuple[int, str], Mapping[str, Mapping[str, int]]]] = pytest.StashKey()
"""Numbers of visits by site and account, for each number of items and browser, once a trial has requested them."""
LOAD_HOOKS: pytest.StashKey[Callable[[pytest.Config], None]] = pytest.StashKey()
"""The function that `take_part` calls, in all processes. `entry` stores it, so that it need not be imported."""


WORKER: pytest.StashKey[Worker] = pytest.StashKey()
"""State of this process that trials share, once a trial has requested it."""
CLUSTER: pytest.StashKey[RayDispatch] = pytest.StashKey()
"""The cluster of ``--ray``, once trials are to be run."""
PREFETCHED: pytest.StashKey[PrefetchedTrial] = pytest.StashKey()
"""The started trial of an item that ``--concurrency`` prefetched, until the item takes it."""
TRIAL_TIMES: pytest.StashKey[TrialTimes] = pytest.StashKey()
"""The time of the trial of such an item, from then on."""


def take_part(config: pytest.Config) -> None:
    """Enable the session's hooks, if they are not: see `hooks`. Raises `pytest.UsageError`."""
    if SETTINGS not in config.stash:
        config.stash[LOAD_HOOKS](config)


def settings_of(config: pytest.Config) -> Settings:
    """Return the settings, which are read on first use."""
    take_part(config)
    return config.stash[SETTINGS]
