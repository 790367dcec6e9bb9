"""The start of a run: options about sites reach the broker."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_webarena.plugin.run_start import run_start
from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher


def test_options_about_sites_reach_the_broker(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    configs: list[BrokerConfig] = []

    class Launcher(BrokerLauncher):
        def __init__(self, config: BrokerConfig, **how: Any) -> None:
            configs.append(config)
            super().__init__(config, **how)

    monkeypatch.setattr("pytest_webarena.sites.client.launcher.BrokerLauncher", Launcher)
    options = ("--record-archive=new.warc.gz", "--allow-unreset", "--replicas=3", "--run-dir=run")
    start = run_start(pytester.parseconfigure(*options))
    start.info()
    start.stop()
    (given,) = configs
    assert (given.record, given.run_dir) == (pytester.path / "new.warc.gz", pytester.path / "run")
    assert (given.allow_unreset, given.max_replicas) == (True, 3)
