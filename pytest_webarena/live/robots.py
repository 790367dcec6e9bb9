"""robots.txt rules of sites, read once per run as RFC 9309 says."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from pytest_webarena.errors import UsageError

if TYPE_CHECKING:
    from protego import Protego

__all__ = ["ROBOT", "Robots", "require_reader"]

ROBOT = "pytest-webarena"
"""This project's name in robots.txt files and in the user agent."""
_LONGEST_DELAY = 60.0
_ORIGINS = 2000
_VERSIONS = re.compile(r"^(\s*user-agent\s*:\s*[a-z_-]+)/[^\s#]*", re.IGNORECASE | re.MULTILINE)
"""A ``User-agent`` line with a version. A product token ends before the first other character (RFC 9309 §2.2.1);
Protego would include the version."""

Fetch = Callable[[str], Awaitable[tuple[int, str]]]
"""Function that returns status and text of an address, after redirects; `OSError` when it cannot be fetched."""


class Robots:
    """The rules of each origin, fetched with the first page requested from it."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._known: dict[str, asyncio.Task[Protego | str]] = {}

    async def rules(self, origin: str) -> Protego | str:
        """The rules of ``https://host``. A text says why they are unavailable, which closes the whole site (RFC 9309
        §2.3.1.4)."""
        task = self._known.get(origin)
        if task is None:
            if len(self._known) >= _ORIGINS:
                del self._known[next(iter(self._known))]
            task = self._known[origin] = asyncio.get_running_loop().create_task(self._read(origin))
        try:
            rules = await asyncio.shield(task)
        except BaseException:
            if task.done():
                self._known.pop(origin, None)
            raise
        if isinstance(rules, str):
            self._known.pop(origin, None)  # a later request may find it
        return rules

    async def _read(self, origin: str) -> Protego | str:
        from protego import Protego

        status, text = await self._fetch(f"{origin}/robots.txt")
        if status == 429 or status >= 500:
            return f"{origin}/robots.txt can't be had now (status {status}), which closes all of the site to robots"
        if not 200 <= status < 300:
            text = ""
        return Protego.parse(_VERSIONS.sub(r"\1", text))

    async def closed(self, origin: str, url: str) -> tuple[str, float]:
        """Why a page must not be requested (empty if it may), and the delay in seconds that the site asks for between
        two pages."""
        rules = await self.rules(origin)
        if isinstance(rules, str):
            return rules, 0.0
        delay = min(float(rules.crawl_delay(ROBOT) or 0.0), _LONGEST_DELAY)
        return "" if rules.can_fetch(url, ROBOT) else f"{origin}/robots.txt closes it to robots", delay


def require_reader() -> None:
    """Raise `UsageError` when the robots.txt parser (Protego) is not installed."""
    try:
        import protego  # noqa: F401
    except ImportError as error:
        raise UsageError("live sites need a reader of robots.txt: pip install 'pytest-webarena[live]'") from error
