"""Runtime for commands that run tasks on real sites outside of a run."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pytest_webarena.browser.config import EngineConfig, SessionConfig
from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
from pytest_webarena.trials.episode import EpisodeLimits
from pytest_webarena.trials.options import TrialOptions
from pytest_webarena.trials.run_info import RunInfo
from pytest_webarena.trials.runtime import Runtime, RuntimeConfig

__all__ = ["open_runtime"]


@contextmanager
def open_runtime(catalogue: str, *, headed: bool, executable: str | None) -> Iterator[Runtime]:
    """Start a broker for the sites of ``catalogue`` and a worker's runtime that uses it."""
    with ExitStack() as exits:
        scratch = Path(exits.enter_context(tempfile.TemporaryDirectory(prefix="webarena-try-")))
        launcher = exits.enter_context(
            BrokerLauncher(BrokerConfig(catalogue=catalogue, run_dir=scratch, max_replicas=3))
        )
        temp_dir = Path(launcher.address).parent / "temp"
        info = RunInfo(run_dir=scratch, broker=launcher.address, temp_dir=temp_dir)
        yield exits.enter_context(Runtime(info, _config(headed=headed, executable=executable)))


def _config(*, headed: bool, executable: str | None) -> RuntimeConfig:
    return RuntimeConfig(
        worker="try",
        limits=EpisodeLimits(),
        options=TrialOptions(env_retries=0),
        lease_timeout=300.0,
        agent_directories=(),
        engine=EngineConfig(executable=executable, launch_args={"headless": not headed}),
        session=SessionConfig(),
    )
