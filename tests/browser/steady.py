"""Browsers that tests start by themselves: containers of other tests come and go beside them."""

from __future__ import annotations

import asyncio
from typing import Any

from pytest_webarena.browser.launching.network_changes import steady_command

__all__ = ["SteadyLoop"]


class SteadyLoop(asyncio.SelectorEventLoop):
    """Its browsers have a steady network, as the plugin's."""

    async def subprocess_exec(  # type: ignore[override]
        self, factory: Any, *command: Any, **options: Any
    ) -> Any:
        return await super().subprocess_exec(factory, *steady_command(list(map(str, command))), **options)
