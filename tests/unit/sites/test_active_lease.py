"""A lease as the broker keeps it: what its traffic gives reason to ask its replicas."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_webarena.sites.broker.active_lease import ActiveLease


class Asked:
    """A pool that notes what it is asked."""

    def __init__(self) -> None:
        self.wrote: list[bool] = []

    async def check(self, lease: Any) -> None:
        """All live."""

    async def ask(self, lease: Any, *, wrote: bool) -> None:
        """All answer."""
        self.wrote.append(wrote)


@pytest.mark.parametrize(
    ("doubtful", "unsafe", "expected"),
    [(False, "", False), (False, "POST http://wiki.test/", True), (True, "", True)],
)
def test_room_to_write_is_asked_for_where_somebody_wrote(doubtful: bool, unsafe: str, expected: bool) -> None:
    """A server error may be all that a full disk shows, and a page that says "saved" another time."""
    session = SimpleNamespace(upstream_error="", doubtful=doubtful, unsafe=unsafe)
    held, pool = ActiveLease(lease=cast(Any, "lease"), session=cast(Any, session), sites={}), Asked()
    asyncio.run(held.check(cast(Any, pool), ask=True))
    assert pool.wrote == [expected]
