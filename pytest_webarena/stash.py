"""Typed keys of what the plugin keeps on pytest's config."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pytest_webarena.controller import Controller
    from pytest_webarena.selection import LeftOut
    from pytest_webarena.settings import Settings
    from pytest_webarena.sites.manifest import Catalogue
    from pytest_webarena.trials.run_info import RunInfo

__all__ = ["CATALOGUE", "CONTROLLER", "LEFT_OUT", "RUN", "SETTINGS", "SITES", "SUITES", "run_info"]

SETTINGS: pytest.StashKey[Settings] = pytest.StashKey()
"""Everywhere."""
CATALOGUE: pytest.StashKey[Catalogue] = pytest.StashKey()
"""The run's catalogue; there once `SITES` is."""
SITES: pytest.StashKey[Mapping[str, Collection[str]]] = pytest.StashKey()
"""Everywhere, once a task file has been read: names of the catalogue's sites, with those of their accounts."""
SUITES: pytest.StashKey[dict[str, tuple[str, ...]]] = pytest.StashKey()
"""Everywhere: published suites to collect, with the items wanted of each; none means all."""
CONTROLLER: pytest.StashKey[Controller] = pytest.StashKey()
"""Only in the process that the user started: with xdist the controller, without it the only process."""
RUN: pytest.StashKey[RunInfo] = pytest.StashKey()
"""Everywhere: where the broker listens and where records go."""
LEFT_OUT: pytest.StashKey[LeftOut] = pytest.StashKey()
"""Where items are collected, once any were left out: how many, and why."""


def run_info(config: pytest.Config) -> RunInfo:
    """The run's facts, in a worker as received, in the controlling process made on first use."""
    if RUN not in config.stash:
        config.stash[RUN] = config.stash[CONTROLLER].run_info()
    return config.stash[RUN]
