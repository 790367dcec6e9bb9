"""Broker fixtures: one shared by a module, and one per test."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
from pytest_webarena.sites.client.lease import BrokerClient, Lease
from tests.processes import DEADLINE

__all__ = ["client", "directory", "get", "launcher", "own", "until_broken"]


def get(lease: Lease, url: str, method: str = "GET") -> str:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": lease.proxy}))
    with opener.open(urllib.request.Request(url, method=method), timeout=DEADLINE) as answer:
        text: str = answer.read().decode()
    return text


def until_broken(lease: Lease) -> str:
    """Wait until the lease's check fails, and return the error's message."""
    deadline = time.monotonic() + DEADLINE
    while time.monotonic() < deadline:
        try:
            lease.check()
        except SiteError as error:
            return str(error)
        time.sleep(0.005)
    raise AssertionError("it never broke")


@pytest.fixture(scope="module")
def launcher(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerLauncher]:
    """One broker, shared by the tests that do not break it."""
    run_dir = tmp_path_factory.mktemp("run")
    config = BrokerConfig(catalogue=str(tiny / "sites.yaml"), run_dir=run_dir, max_replicas=2, spares=1)
    with BrokerLauncher(config) as launcher:
        yield launcher


@pytest.fixture
def client(launcher: BrokerLauncher) -> Iterator[BrokerClient]:
    with BrokerClient(launcher.address, name="gw0") as client:
        yield client


@pytest.fixture
def own(tiny: Path, tmp_path: Path) -> Iterator[BrokerLauncher]:
    """A broker that the test may destroy."""
    with BrokerLauncher(BrokerConfig(catalogue=str(tiny / "sites.yaml"), run_dir=tmp_path, max_replicas=2)) as launcher:
        yield launcher


def directory(launcher: BrokerLauncher) -> Path:
    return Path(launcher.address).parent
