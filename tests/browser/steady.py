"""Browsers that tests start by themselves: containers of other tests come and go beside them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from pytest_webarena.browser.launching.steady_network import steady_command

__all__ = ["SteadyLoop", "run_steadily"]

T = TypeVar("T")


class SteadyLoop(asyncio.SelectorEventLoop):
    """Its browsers have a steady network, as the plugin's."""

    async def subprocess_exec(  # type: ignore[override]
        self, factory: Any, *command: Any, **options: Any
    ) -> Any:
        return await super().subprocess_exec(factory, *steady_command(list(map(str, command))), **options)


def run_steadily(work: Coroutine[Any, Any, T]) -> T:
    """As `asyncio.run`."""
    with asyncio.Runner(loop_factory=SteadyLoop) as runner:
        return runner.run(work)
