"""Runtimes that a worker process keeps between trials."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.browser.config import EngineConfig, SessionConfig
from pytest_webarena.plugin import worker as workers
from pytest_webarena.plugin.worker import Worker
from pytest_webarena.trials.episode import EpisodeLimits
from pytest_webarena.trials.run_info import RunInfo
from pytest_webarena.trials.runtime import RuntimeConfig


def config(browser: Any) -> RuntimeConfig:
    engine = EngineConfig(browser_name=browser)
    return RuntimeConfig(
        worker="gw0", limits=EpisodeLimits(), lease_timeout=1, agent_directories=(), engine=engine,
        session=SessionConfig(),
    )  # fmt: skip


def test_each_browser_gets_one_runtime_on_first_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []

    class FakeRuntime:
        def __init__(self, info: RunInfo, given: RuntimeConfig) -> None:
            self.browser = given.engine.browser_name
            events.append(f"{self.browser} made")

        def reconfigure(self, given: RuntimeConfig) -> None:
            assert given.engine.browser_name == self.browser

        def __enter__(self) -> FakeRuntime:
            return self

        def __exit__(self, *error: object) -> None:
            events.append(f"{self.browser} closed")
            if self.browser == "firefox":
                raise OSError("its process is gone")

    monkeypatch.setattr(workers, "Runtime", FakeRuntime)
    monkeypatch.setattr(workers, "place_order", lambda address, order: None)
    worker = Worker(RunInfo(run_dir=tmp_path, broker="", temp_dir=tmp_path))
    assert events == []
    first = [worker.runtime(config(browser), {}) for browser in ("chromium", "firefox")]
    assert events == ["chromium made", "firefox made"]
    assert [worker.runtime(config(browser), {}) for browser in ("chromium", "firefox")] == first
    assert len(events) == 2
    with pytest.raises(OSError, match="its process is gone"), worker:
        pass
    assert sorted(events[2:]) == ["chromium closed", "firefox closed"]  # even if the other fails
