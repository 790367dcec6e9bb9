"""Broker settings that workers request before the broker starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_webarena.errors import UsageError
from pytest_webarena.sites.client.broker_request import place_order, read_order
from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
from pytest_webarena.sites.client.lease import BrokerClient


def test_broker_starts_with_the_requested_settings(tiny: Path, tmp_path: Path) -> None:
    catalogue = str(tiny / "sites.yaml")
    order = {
        "catalogue": catalogue,
        "max_replicas": 1,
        "spares": 0,
        "environment": {"DOCKER_HOST": "unix:///elsewhere"},
    }
    with BrokerLauncher(BrokerConfig(catalogue="nope", run_dir=tmp_path, max_replicas=7)) as launcher:
        place_order(launcher.address, order)
        with BrokerClient(launcher.address, name="gw0") as client, client.lease(["tiny"], holder="test"):
            broker = client.status().pid
            environment = Path(f"/proc/{broker}/environ").read_bytes().split(b"\0")
            assert b"DOCKER_HOST=unix:///elsewhere" in environment
        assert catalogue in (tmp_path / "broker.log").read_text()


def test_later_requests_must_equal_the_first_one(tmp_path: Path) -> None:
    address = str(tmp_path / "broker.sock")
    assert read_order(address) == {}
    place_order(address, {"catalogue": "a", "spares": None})
    place_order(address, {"spares": None, "catalogue": "a"})
    with pytest.raises(UsageError, match=r"found two for catalogue, max_replicas: override .* root\s+directory alone"):
        place_order(address, {"catalogue": "b", "spares": None, "max_replicas": 2})
    assert read_order(address) == {"catalogue": "a", "spares": None}
    assert [path.name for path in tmp_path.iterdir()] == ["order.json"]
