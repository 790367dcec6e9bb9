"""Leases in the broker: health checks of their replicas, chosen by their traffic."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_webarena.sites.broker.active_lease import ActiveLease


class Asked:
    """A pool that records its health checks."""

    def __init__(self) -> None:
        self.wrote: list[bool] = []

    async def check(self, lease: Any) -> None:
        """Report that all replicas are alive."""

    async def ask(self, lease: Any, *, wrote: bool) -> None:
        """Report that all replicas respond."""
        self.wrote.append(wrote)


@pytest.mark.parametrize(
    ("doubtful", "unsafe", "expected"),
    [(False, "", False), (False, "POST http://wiki.test/", True), (True, "", True)],
)
def test_disk_space_is_checked_after_writes_and_server_errors(doubtful: bool, unsafe: str, expected: bool) -> None:
    """A full disk may show only as a server error, or not at all, so writes are checked, too."""
    session = SimpleNamespace(upstream_error="", own_address_fault="", doubtful=doubtful, unsafe=unsafe)
    held, pool = ActiveLease(lease=cast(Any, "lease"), session=cast(Any, session), sites={}), Asked()
    asyncio.run(held.check(cast(Any, pool), ask=True))
    assert pool.wrote == [expected]
