"""Connections to names with several addresses."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from pytest_webarena.live.connecting import connect

DEAD, GOOD = "2606:4700::1", "127.1.0.1"


async def _connected(addresses: Sequence[str]) -> str:
    """Connect and return the address that answered; the dead address never does."""
    loop = asyncio.get_running_loop()
    server = await asyncio.start_server(lambda _, writer: writer.close(), GOOD, 0)
    port: int = server.sockets[0].getsockname()[1]
    usual = loop.create_connection

    async def made(make: Any, address: str, *given: Any, **more: Any) -> Any:
        if address == DEAD:
            await asyncio.Event().wait()
        return await usual(make, address, *given, **more)

    loop.create_connection = made  # type: ignore[method-assign, assignment]

    async def find(host: str, port: int) -> Sequence[str]:
        return addresses

    async with server, asyncio.timeout(30):
        opened = await connect(RecordingProtocol, "tea.example", port, find=find, closed=lambda _: "", secure=None)
    return opened.peer


class RecordingProtocol(asyncio.Protocol):
    transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.peer: str = transport.get_extra_info("peername")[0]

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport.close()


@pytest.mark.parametrize("addresses", [(GOOD,), (DEAD, GOOD), (DEAD, DEAD, GOOD)])
def test_next_address_is_tried_when_one_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, addresses: Sequence[str]
) -> None:
    """For example where IPv6 is broken."""
    monkeypatch.setattr("pytest_webarena.live.connecting._NEXT", 0.05)
    assert asyncio.run(_connected(addresses)) == GOOD
