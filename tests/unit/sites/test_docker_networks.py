"""Docker networks of units: small subnets, each used by one replica at a time."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Any

import pytest

from pytest_webarena.errors import SiteError, UsageError
from pytest_webarena.sites.backends.docker import containers
from pytest_webarena.sites.backends.docker.containers import SubnetTaken
from pytest_webarena.sites.backends.docker.networks import DockerNetworks, free_subnets

CLIENT: Any = None


class Engine:
    """Creates networks unless their subnet is taken."""

    def __init__(self) -> None:
        self.made: dict[str, IPv4Network] = {}
        self.refused = 0

    def create_network(self, client: Any, name: str, labels: Any, *, joint: bool, subnet: str) -> None:
        assert joint
        wanted = IPv4Network(subnet)
        if any(wanted.overlaps(taken) for taken in self.made.values()):
            self.refused += 1
            raise SubnetTaken("Pool overlaps with other one on this address space")
        self.made[name] = wanted


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    engine = Engine()
    monkeypatch.setattr(containers, "create_network", engine.create_network)
    monkeypatch.delenv("WEBARENA_SUBNETS", raising=False)
    return engine


def test_each_of_two_hundred_units_has_its_own_network(engine: Engine) -> None:
    places = DockerNetworks("run", {})
    taken = [places.take(CLIENT, "wiki", 3) for _ in range(200)]
    assert len({place.network for place in taken}) == len(engine.made) == 200
    assert {network.prefixlen for network in engine.made.values()} == {28}


def test_network_is_reused_after_its_replica_returned_it(engine: Engine) -> None:
    places = DockerNetworks("run", {})
    first = places.take(CLIENT, "wiki", 2)
    assert places.take(CLIENT, "wiki", 2).network != first.network
    places.give_back(first)
    assert places.take(CLIENT, "blog", 2).network != first.network
    second = places.take(CLIENT, "wiki", 2)
    assert second.network == first.network
    places.give_back(first)  # a late and repeated return
    assert places.take(CLIENT, "wiki", 2).network != first.network


def test_taken_subnets_are_skipped(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEBARENA_SUBNETS", "10.99.0.0/26")
    engine.made["somebody's"] = IPv4Network("10.99.0.0/27")
    places = DockerNetworks("run", {})
    for _ in range(2):
        places.take(CLIENT, "wiki", 2)
    with pytest.raises(SiteError, match=r"expected a free subnet of 10.99.0.0/26, found none.*WEBARENA_SUBNETS"):
        places.take(CLIENT, "wiki", 2)
    assert engine.refused


def test_subnets_routed_by_this_machine_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEBARENA_SUBNETS", "10.99.0.0/24")
    free = list(free_subnets(26, [IPv4Network("10.99.0.64/30"), IPv4Network("10.98.0.0/16")]))
    assert {str(one) for one in free} == {"10.99.0.0/26", "10.99.0.128/26", "10.99.0.192/26"}


@pytest.mark.parametrize(("size", "prefix"), [(2, 28), (13, 28), (14, 27), (29, 27), (30, 26)])
def test_network_size_fits_all_apps_of_a_unit(engine: Engine, size: int, prefix: int) -> None:
    DockerNetworks("run", {}).take(CLIENT, "wiki", size)
    assert [network.prefixlen for network in engine.made.values()] == [prefix]


@pytest.mark.parametrize("given", ["10.0.0.1/8", "nowhere", "10.0.0.0/30"])
def test_invalid_subnet_range_is_a_usage_error(engine: Engine, monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("WEBARENA_SUBNETS", given)
    with pytest.raises(UsageError, match="WEBARENA_SUBNETS"):
        DockerNetworks("run", {}).take(CLIENT, "wiki", 2)
