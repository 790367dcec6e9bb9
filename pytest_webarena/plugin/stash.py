"""Typed keys of what the plugin keeps on pytest's config. Everything may import it; it imports nothing of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from pytest_webarena.plugin.controller import Controller
    from pytest_webarena.plugin.prefetched_trial import Begun, Played
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
    "ASKED",
    "BEGUN",
    "CATALOGUE",
    "CLUSTER",
    "CONTROLLER",
    "DECIDING",
    "DESELECTED",
    "LEFT_OUT",
    "PASSED_OVER",
    "PLAN",
    "PLAYED",
    "RUN",
    "SETTINGS",
    "SITES",
    "START",
    "SUITES",
    "VISITS",
    "WAKE",
    "WORKER",
    "settings_of",
    "take_part",
]

SETTINGS: pytest.StashKey[Settings] = pytest.StashKey()
"""Everywhere, once this package takes part."""
CATALOGUE: pytest.StashKey[Catalogue] = pytest.StashKey()
"""The run's catalogue; there once `SITES` is."""
SITES: pytest.StashKey[Mapping[str, Collection[str] | None]] = pytest.StashKey()
"""Everywhere, once a task file has been read: names of the catalogue's sites, with those of their accounts."""
SUITES: pytest.StashKey[dict[str, tuple[str, ...]]] = pytest.StashKey()
"""Where `SETTINGS` is: published suites to collect, with the items wanted of each; none means all."""
ASKED: pytest.StashKey[dict[str, Any]] = pytest.StashKey()
"""Where `SETTINGS` is: what was asked for, as `resuming.asked` tells it."""
CONTROLLER: pytest.StashKey[Controller] = pytest.StashKey()
"""Where `SETTINGS` is, in the process that the user started: with xdist the controller, without it the only process."""
DECIDING: pytest.StashKey[SequentialStop] = pytest.StashKey()
"""Where items are collected, with ``--stop-when-settled``."""
START: pytest.StashKey[RunStart] = pytest.StashKey()
"""In the same process, once somebody asks for it: with xdist from the first worker on."""
RUN: pytest.StashKey[RunInfo] = pytest.StashKey()
"""Everywhere: where the broker listens and where records go."""
LEFT_OUT: pytest.StashKey[LeftOut] = pytest.StashKey()
"""Where items are collected, once any were left out: how many, and why."""
DESELECTED: pytest.StashKey[set[str]] = pytest.StashKey()
"""Where items are collected, once any were left out by the user's word: the ids of their tasks."""
PASSED_OVER: pytest.StashKey[list[str]] = pytest.StashKey()
"""Once there are any: YAML files with a list ``tasks`` that nobody claimed. With xdist known late."""

PLAN: pytest.StashKey[tuple[PlannedTrial, ...]] = pytest.StashKey()
"""Where items are collected, once they are: the trials that are to be run."""
VISITS: pytest.StashKey[dict[tuple[int, str], Mapping[str, Mapping[str, int]]]] = pytest.StashKey()
"""By the number of items and the browser, once a trial has asked: how many of them visit which site as whom."""
WAKE: pytest.StashKey[Callable[[pytest.Config], None]] = pytest.StashKey()
"""Everywhere: what `take_part` calls. `entry` leaves it here, so that nothing has to import what it wakes."""


WORKER: pytest.StashKey[Worker] = pytest.StashKey()
"""Once a trial has asked: what this process keeps from trial to trial."""
CLUSTER: pytest.StashKey[RayDispatch] = pytest.StashKey()
"""With ``--ray``, once trials are to be played: where."""
BEGUN: pytest.StashKey[Begun] = pytest.StashKey()
"""On an item whose trial was begun ahead of it (``--concurrency``), until the item asks for it."""
PLAYED: pytest.StashKey[Played] = pytest.StashKey()
"""On such an item from then on: when its trial was."""


def take_part(config: pytest.Config) -> None:
    """Have the session's hooks at work from now on, if they are not: see `hooks`. Raises `pytest.UsageError`."""
    if SETTINGS not in config.stash:
        config.stash[WAKE](config)


def settings_of(config: pytest.Config) -> Settings:
    """What the user asked for, read when it is first needed."""
    take_part(config)
    return config.stash[SETTINGS]
