"""What the environments of one process share: a broker with its sites, and a browser. The last to leave ends both."""

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

_ROOMS = 256
"""Most replicas of an app: one per environment of the process, which may all be in use at once."""


@dataclass(frozen=True, slots=True)
class RuntimeKey:
    """Environments that agree in this share a house."""

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
                BrokerConfig(catalogue=key.catalogue, run_dir=self.directory, max_replicas=_ROOMS)
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
_houses: dict[RuntimeKey, _SharedRuntime] = {}


class Guest:
    """One environment's share of a house (`trials.stage.Resources`), with session settings of its own."""

    def __init__(self, key: RuntimeKey, session: SessionConfig) -> None:
        self._key: RuntimeKey | None = key
        self._house = _houses[key]
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
    ) -> Lease:
        """Exclusive use of the apps behind ``sites``, and what is in reach."""
        return self._house.runtime.lease(sites, users=users, holder=holder, reach=reach, now=now, live=live)

    def engine(self) -> BrowserEngine:
        """The browser that the environments of this process share."""
        return self._house.runtime.engine()

    def session_config(self, lease: Lease | None, storage_state: Mapping[str, Any] | None) -> SessionConfig:
        """This environment's settings with the lease's way out and its users' cookies."""
        return replace(
            self._session,
            proxy=lease.proxy if lease else None,
            harness_proxy=lease.harness_proxy if lease else None,
            storage_state=storage_state,
        )

    def keeper(self, users: Mapping[str, str]) -> Callable[[TrialEnvironment, StepRecord], str]:
        """As the runtime's."""
        return self._house.runtime.keeper(users)

    def login_state(self, lease: Lease, users: Mapping[str, str]) -> Mapping[str, Any] | None:
        """Cookies of the accounts that the leased sites are visited with."""
        return self._house.runtime.login_state(lease, users)

    def leave(self) -> None:
        """Give the share back. Calling it again does nothing."""
        with _lock:
            key, self._key = self._key, None
            if key is None or key.process != os.getpid():
                return
            self._house.guests -= 1
            if self._house.guests:
                return
            _houses.pop(key, None)
        self._house.close()


def enter(key: RuntimeKey, session: SessionConfig) -> Guest:
    """A share of the house for ``key``, which is opened if this is its first guest in this process."""
    key = replace(key, process=os.getpid())
    with _lock:
        if key not in _houses:
            _houses[key] = _SharedRuntime(key)
        _houses[key].guests += 1
        return Guest(key, session)
