"""Browsers that tests start themselves, protected from network changes by containers of other tests."""

from __future__ import annotations

import asyncio
from typing import Any

from pytest_webarena.browser.launching.network_changes import steady_command

__all__ = ["SteadyLoop"]


class SteadyLoop(asyncio.SelectorEventLoop):
    """An event loop whose browsers have a steady network, like the plugin's."""

    async def subprocess_exec(  # type: ignore[override]
        self, factory: Any, *command: Any, **options: Any
    ) -> Any:
        return await super().subprocess_exec(factory, *steady_command(list(map(str, command))), **options)
