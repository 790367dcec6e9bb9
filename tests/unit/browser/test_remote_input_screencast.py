"""Screencast for remote input restarts after a slow start."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

from pytest_webarena.browser.faults import Unresponsive
from pytest_webarena.browser.remote_input import RemoteInput


class Connection:
    """Sends a frame when the screencast starts."""

    def __init__(self) -> None:
        self.listeners: list[Callable[[Any], None]] = []
        self.begun = 0

    def on(self, _: str, listener: Callable[[Any], None]) -> None:
        self.listeners.append(listener)

    def remove_listener(self, _: str, listener: Callable[[Any], None]) -> None:
        self.listeners.remove(listener)

    async def send(self, method: str, _: Any = None) -> None:
        if method == "Page.startScreencast":
            self.begun += 1
            for listener in self.listeners:
                listener({"data": "cGljdHVyZQ==", "metadata": {"deviceWidth": 800, "deviceHeight": 600}})


class SlowTab:
    """Fails to come to the front the first time."""

    def __init__(self) -> None:
        self.session, self.dialogs, self.refused = Connection(), SimpleNamespace(open=None), 0

    async def send(self, *_: Any, **__: Any) -> None:
        if not self.refused:
            self.refused = 1
            raise Unresponsive("coming to the front", 5.0)

    async def run(self, work: Coroutine[Any, Any, None], *_: Any, **__: Any) -> None:
        await work

    def in_background(self, work: Coroutine[Any, Any, None]) -> None:
        work.close()


def test_screencast_restarts_after_a_slow_tab() -> None:
    tab = SlowTab()

    async def tabs_for_person(*, acts: bool) -> Any:
        return SimpleNamespace(current=tab)

    hand: Any = RemoteInput(SimpleNamespace(tabs_for_person=tabs_for_person))

    async def looked() -> Any:
        assert await hand._next_frame(0, 0.0) is None
        return await hand._next_frame(0, 0.0)

    frame = asyncio.run(looked())
    assert (frame.data, tab.session.begun, len(tab.session.listeners)) == (b"picture", 1, 1)
