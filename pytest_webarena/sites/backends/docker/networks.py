"""Networks of units: one for each, on which its containers find each other by name and reach nothing else.

A network stays while the containers of its unit are replaced, as a pod does (`pods`), so no container is connected to a
network while another may be in use there. The networks are small subnets of our own address range, because an engine's
default pools are exhausted after about thirty networks.
"""

from __future__ import annotations

import ipaddress
import itertools
import os
import random
import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_webarena.errors import SiteError, UsageError
from pytest_webarena.sites.backends.docker import containers
from pytest_webarena.sites.backends.docker.bridge_routes import kernel_address
from pytest_webarena.sites.backends.docker.containers import Place, SubnetTaken

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["DockerNetworks", "free_subnets"]

_RANGE = "198.19.0.0/16"
"""Range for benchmarks between networks (RFC 2544), which hardly any machine uses."""
_OVERHEAD = 3
"""Addresses of a subnet that no container gets: the network's own, the bridge's, the broadcast address."""
_SMALLEST = 28
_ATTEMPTS = 50


class DockerNetworks:
    """The networks of a run, created when they are first needed. Threads share it; all calls block."""

    def __init__(self, run_network: str, labels: Mapping[str, str]) -> None:
        self._prefix = run_network
        self._labels = labels
        self._lock = threading.Lock()
        self._free: dict[str, list[Place]] = {}
        self._tenants: dict[str, int] = {}
        """Numbers of the uses of the networks in use, by network."""
        self._numbers = itertools.count(1)

    def take(self, client: DockerClient, unit: str, containers_in_it: int) -> Place:
        """Returns a network for the exclusive use of one replica of ``unit``. Raises `SiteError` when no subnet is
        left."""
        with self._lock:
            number = next(self._numbers)
            free = self._free.get(unit)
            place = free.pop() if free else None
        if place is None:
            place = Place(network=f"{self._prefix}-unit-{number}", unit=unit)
            self._make(client, place.network, containers_in_it)
        with self._lock:
            self._tenants[place.network] = number
        return replace(place, tenancy=number)

    def give_back(self, place: Place) -> None:
        """Mark the network as free, after all containers of this use are gone. Repeated or late calls have no
        effect."""
        with self._lock:
            if self._tenants.get(place.network) == place.tenancy:
                del self._tenants[place.network]
                self._free.setdefault(place.unit, []).append(place)

    def _make(self, client: DockerClient, name: str, size: int) -> None:
        prefix = min(_SMALLEST, 32 - (size + _OVERHEAD - 1).bit_length())
        for subnet in itertools.islice(free_subnets(prefix), _ATTEMPTS):
            try:
                containers.create_network(client, name, self._labels, joint=True, subnet=str(subnet))
            except SubnetTaken:
                continue  # used by another run or another program
            return
        raise SiteError(
            f"can't make the network {name}: expected a free subnet of {_range()}, found none in {_ATTEMPTS} attempts; "
            "set WEBARENA_SUBNETS to an unused range, such as 10.99.0.0/16"
        )


def free_subnets(prefix: int, routes: Iterable[ipaddress.IPv4Network] | None = None) -> Iterable[ipaddress.IPv4Network]:
    """Yields subnets of our range in random order, without those to which this machine has a route (``routes``)."""
    known = list(_routes() if routes is None else routes)
    span = _range()
    if span.prefixlen > prefix:
        raise UsageError(f"expected at least a /{prefix} in WEBARENA_SUBNETS, found {span}")
    count = 2 ** (prefix - span.prefixlen)
    # Parallel runs would all try the same subnets first without a random start.
    first = random.randrange(count)
    for index in range(count):
        offset = (first + index) % count << (32 - prefix)
        subnet = ipaddress.IPv4Network((int(span.network_address) + offset, prefix))
        if not any(subnet.overlaps(route) for route in known):
            yield subnet


def _range() -> ipaddress.IPv4Network:
    given = os.environ.get("WEBARENA_SUBNETS") or _RANGE
    try:
        return ipaddress.IPv4Network(given)
    except ValueError as error:
        raise UsageError(f"expected a range of IPv4 addresses in WEBARENA_SUBNETS, found {given!r}: {error}") from None


def _routes(table: Path = Path("/proc/net/route")) -> list[ipaddress.IPv4Network]:
    """Returns networks that this machine reaches other than by its default route."""
    try:
        lines = table.read_text().splitlines()[1:]
    except OSError:
        return []
    fields = [line.split() for line in lines]
    pairs = [(kernel_address(words[1]), kernel_address(words[7])) for words in fields if len(words) > 7]
    return [ipaddress.IPv4Network((address, str(mask))) for address, mask in pairs if int(mask)]
