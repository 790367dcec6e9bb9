"""Start of a run, before its tasks are known: name of its directory and address of its broker."""

from __future__ import annotations

import datetime
import secrets
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_webarena.plugin.stash import REQUESTED, RUN, SETTINGS, START
from pytest_webarena.results.listing import RUNS
from pytest_webarena.results.run_identity import own_id
from pytest_webarena.trials.run_info import RunInfo

if TYPE_CHECKING:
    import pytest

    from pytest_webarena.plugin.settings import Settings
    from pytest_webarena.sites.client.launcher import BrokerLauncher
    from pytest_webarena.sites.protocol.report import BrokerReport

__all__ = ["RunStart", "run_info", "run_start", "worker_count"]


class RunStart:
    """Chooses directory and address on first use, in the process that the user started.

    xdist's workers need them when they are created, before anything is collected.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._launcher: BrokerLauncher | None = None
        self.chosen: RunInfo | None = None
        """The run's facts; None before first use."""

    def info(self) -> RunInfo:
        """Return the broker's address and the record directory. The broker starts when a client connects."""
        if self.chosen is None:
            settings = self._config.stash.get(SETTINGS, None)
            # Only facts that other processes can't determine: see `run_facts`.
            facts = {
                "started": time.time(),
                "argv": list(self._config.invocation_params.args),
                "workers": worker_count(self._config),
                "asked": self._config.stash.get(REQUESTED, None),
            }
            resumed = settings.resume if settings is not None else None
            facts["id"] = own_id(resumed) if resumed is not None else secrets.token_hex(8)
            if settings is not None:
                from pytest_webarena.plugin.resuming import pace_options

                facts["pace"] = pace_options(self._config)
            if settings is not None and settings.rescore is not None:
                self.chosen = RunInfo(run_dir=settings.rescore, broker="", temp_dir=Path(), facts=facts)
            else:
                self.chosen = self._begin(settings, facts)
        return self.chosen

    def guard(self) -> None:
        """Ensure that all temporary files are removed however this process ends; called once there are tasks."""
        if self._launcher is not None:
            self._launcher.guard()

    def stop(self) -> BrokerReport | None:
        """Stop the broker and return its figures; None when there are none."""
        return self._launcher.stop() if self._launcher is not None else None

    def _begin(self, settings: Settings | None, facts: dict[str, object]) -> RunInfo:
        """Start a run. ``settings`` is None when no option of this plugin is used, so that all are defaults."""
        from pytest_webarena.sites.broker.memory import available_memory
        from pytest_webarena.sites.cleanup.reaper import identity
        from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
        from pytest_webarena.trials.concurrency import most_replicas

        run_dir = settings.run_dir if settings is not None else None
        run_dir = run_dir or _default_run_dir(self._config.rootpath)
        finished: tuple[tuple[str, str, int, str, str, str], ...] = ()
        if settings is not None and settings.resume is not None:
            from pytest_webarena.plugin.resuming import close_lost, finished_trials
            from pytest_webarena.results import RunDir

            resumed_run = RunDir(settings.resume)
            close_lost(resumed_run)
            finished = finished_trials(resumed_run)
        replicas = settings.replicas if settings is not None else None
        config = BrokerConfig(
            run_dir=run_dir,
            reset_proofs=run_dir / "reset_proofs.json",
            max_replicas=replicas or most_replicas(worker_count(self._config), settings.concurrency if settings else 1),
            memory=None if replicas else (available_memory() or 0) // 2 or None,
        )
        if settings is not None:
            config = replace(
                config,
                catalogue=settings.catalogue,
                site_urls=settings.site_urls,
                pulls=settings.pulls,
                allow_unreset=settings.allow_unreset,
                protect_unreset=not settings.allow_unreset,
                record=settings.record_archive,
            )
        self._launcher = BrokerLauncher(config, guarded=settings is not None)
        return RunInfo(
            run_dir=run_dir,
            broker=self._launcher.address,
            temp_dir=Path(self._launcher.address).parent / "temp",
            agents_dir=self._launcher.agents_directory,
            controller=identity(),
            facts=facts,
            finished=finished,
        )


def run_start(config: pytest.Config) -> RunStart:
    """Return the start of the run, in the process that the user started; created on first use."""
    if START not in config.stash:
        config.stash[START] = RunStart(config)
    return config.stash[START]


def run_info(config: pytest.Config) -> RunInfo:
    """Return the run's facts: received in a worker, created on first use in the controller."""
    if RUN not in config.stash:
        config.stash[RUN] = run_start(config).info()
    return config.stash[RUN]


def worker_count(config: pytest.Config) -> int:
    """Return the number of processes that run tests, in any of them."""
    if (given := getattr(config, "workerinput", None)) is not None:
        return int(given["workercount"])
    return len(config.getoption("tx", None) or ()) or 1


def _default_run_dir(root: Path) -> Path:
    stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    return root / RUNS / f"{stamp}-{secrets.token_hex(3)}"
