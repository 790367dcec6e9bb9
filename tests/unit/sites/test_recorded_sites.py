"""An archive that one broker records is served by the next."""

from __future__ import annotations

import urllib.request
from pathlib import Path

import pytest

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
from pytest_webarena.sites.client.lease import BrokerClient
from tests.processes import DEADLINE
from tests.unit.sites.brokers import get


def test_recorded_sites_are_served_and_misses_are_reported(tiny: Path, tmp_path: Path) -> None:
    recorded = tmp_path / "sites.warc.gz"
    config = BrokerConfig(catalogue=str(tiny / "sites.yaml"), run_dir=tmp_path / "live", record=recorded)
    with (
        BrokerLauncher(config) as launcher,
        BrokerClient(launcher.address, name="gw0") as client,
        client.lease(["tiny"], holder="x", timeout=DEADLINE) as lease,
    ):
        page = get(lease, "http://tiny.test/")
    config = BrokerConfig(catalogue=f"archive:{recorded}", run_dir=tmp_path / "archived")
    with (
        BrokerLauncher(config) as launcher,
        BrokerClient(launcher.address, name="gw0") as client,
        client.lease(["tiny"], holder="x", timeout=DEADLINE) as lease,
    ):
        assert get(lease, "http://tiny.test/") == page
        with pytest.raises(urllib.request.HTTPError, match="404"):
            get(lease, "http://tiny.test/add")
        assert [each.lacks for each in lease.requests()] == ["", "part"]
        with pytest.raises(SiteError, match="an archive has no database"):
            lease.query("tiny", "select 1")
