"""The broker with its sites and the browser that the environments of one process share. The last one to leave closes
both."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_webarena.browser.config import EngineConfig, SessionConfig
from pytest_webarena.browser.engine import BrowserEngine
from pytest_webarena.evidence import StepRecord
from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
from pytest_webarena.sites.client.lease import Lease
from pytest_webarena.sites.protocol.messages import LiveWishes
from pytest_webarena.trials.episode import EpisodeLimits
from pytest_webarena.trials.options import TrialOptions
from pytest_webarena.trials.run_info import RunInfo
from pytest_webarena.trials.runtime import Runtime, RuntimeConfig
from pytest_webarena.trials.trial_environment import TrialEnvironment

__all__ = ["Guest", "RuntimeKey", "enter"]

_MAX_REPLICAS = 256
"""Maximum number of replicas of an app: each environment of the process may use one at the same time."""


@dataclass(frozen=True, slots=True)
class RuntimeKey:
    """Settings by which environments share a runtime: those with equal keys share one."""

    catalogue: str
    executable: str | None
    headed: bool
    process: int = -1


class _SharedRuntime:
    def __init__(self, key: RuntimeKey) -> None:
        self.guests = 0
        self.directory = Path(tempfile.mkdtemp(prefix="webarena-gym-"))
        try:
            self.launcher = BrokerLauncher(
                BrokerConfig(catalogue=key.catalogue, run_dir=self.directory, max_replicas=_MAX_REPLICAS)
            )
        except BaseException:
            shutil.rmtree(self.directory, ignore_errors=True)
            raise
        config = RuntimeConfig(
            worker=f"gym-{os.getpid()}",
            limits=EpisodeLimits(seconds=math.inf),
            options=TrialOptions(env_retries=0),
            lease_timeout=300.0,
            agent_directories=(),
            engine=EngineConfig(executable=key.executable, launch_args={"headless": not key.headed}),
            session=SessionConfig(),
        )
        temp = Path(self.launcher.address).parent / "temp"
        self.runtime = Runtime(RunInfo(run_dir=self.directory, broker=self.launcher.address, temp_dir=temp), config)

    def close(self) -> None:
        try:
            self.runtime.__exit__(None, None, None)
        finally:
            try:
                self.launcher.stop()
            finally:
                shutil.rmtree(self.directory, ignore_errors=True)


_lock = threading.Lock()
_runtimes: dict[RuntimeKey, _SharedRuntime] = {}


class Guest:
    """One environment's share of a runtime, with its own session settings (`trials.trial_environment.Resources`)."""

    def __init__(self, key: RuntimeKey, session: SessionConfig) -> None:
        self._key: RuntimeKey | None = key
        self._shared = _runtimes[key]
        self._session = session

    def lease(
        self,
        sites: Sequence[str],
        *,
        users: Mapping[str, str],
        holder: str,
        reach: Sequence[str] = (),
        now: Sequence[str] = (),
        live: LiveWishes | None = None,
        max_age: float | None = None,
    ) -> Lease:
        """Exclusive use of the apps behind ``sites``, and access to the reachable sites."""
        return self._shared.runtime.lease(
            sites, users=users, holder=holder, reach=reach, now=now, live=live, max_age=max_age
        )

    def engine(self) -> BrowserEngine:
        """The browser that the environments of this process share."""
        return self._shared.runtime.engine()

    def session_config(self, lease: Lease | None, storage_state: Mapping[str, Any] | None) -> SessionConfig:
        """This environment's settings with the lease's proxies and its users' cookies."""
        return replace(
            self._session,
            proxy=lease.proxy if lease else None,
            harness_proxy=lease.harness_proxy if lease else None,
            storage_state=storage_state,
        )

    def keeper(self, users: Mapping[str, str]) -> Callable[[TrialEnvironment, StepRecord], str]:
        """As `Runtime.keeper`."""
        return self._shared.runtime.keeper(users)

    def login_state(self, lease: Lease, users: Mapping[str, str]) -> Mapping[str, Any] | None:
        """Cookies of the accounts with which the leased sites are visited."""
        return self._shared.runtime.login_state(lease, users)

    def leave(self) -> None:
        """Give up the share; the last one closes the runtime. Calling it again does nothing."""
        with _lock:
            key, self._key = self._key, None
            if key is None or key.process != os.getpid():
                return
            self._shared.guests -= 1
            if self._shared.guests:
                return
            _runtimes.pop(key, None)
        self._shared.close()


def enter(key: RuntimeKey, session: SessionConfig) -> Guest:
    """A share of the runtime for ``key``, which is started for its first guest in this process."""
    key = replace(key, process=os.getpid())
    with _lock:
        if key not in _runtimes:
            _runtimes[key] = _SharedRuntime(key)
        _runtimes[key].guests += 1
        return Guest(key, session)
