"""robots.txt rules of sites (RFC 9309), fetched once per run."""

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
"""Maximum crawl delay, in seconds, that is respected."""
_MAX_ORIGINS = 2000
"""Maximum number of origins whose rules are kept."""
_VERSIONS = re.compile(r"^(\s*user-agent\s*:\s*[a-z_-]+)/[^\s#]*", re.IGNORECASE | re.MULTILINE)
"""A ``User-agent`` line with a version. A product token ends before the first other character (RFC 9309 §2.2.1);
Protego would include the version."""

Fetch = Callable[[str], Awaitable[tuple[int, str]]]
"""Function that returns status and text of an address, after redirects; `OSError` when it cannot be fetched."""


class Robots:
    """The rules of each origin, fetched with the first page requested from it."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._fetched: dict[str, asyncio.Task[Protego | str]] = {}

    async def rules(self, origin: str) -> Protego | str:
        """Return the rules of an origin such as ``https://host``, or a text that says why they are unavailable.

        Unavailable rules forbid the whole site (RFC 9309 §2.3.1.4).
        """
        task = self._fetched.get(origin)
        if task is None:
            if len(self._fetched) >= _MAX_ORIGINS:
                del self._fetched[next(iter(self._fetched))]
            task = self._fetched[origin] = asyncio.get_running_loop().create_task(self._read(origin))
        try:
            rules = await asyncio.shield(task)
        except BaseException:
            if task.done():
                self._fetched.pop(origin, None)
            raise
        if isinstance(rules, str):
            self._fetched.pop(origin, None)  # a later request may find the file available
        return rules

    async def _read(self, origin: str) -> Protego | str:
        from protego import Protego

        status, text = await self._fetch(f"{origin}/robots.txt")
        if status == 429 or status >= 500:
            return f"{origin}/robots.txt is unavailable (status {status}), so programs must not visit the site"
        if not 200 <= status < 300:
            text = ""
        return Protego.parse(_VERSIONS.sub(r"\1", text))

    async def refusal(self, origin: str, url: str) -> tuple[str, float]:
        """Return why a page must not be requested (empty if it may), and the site's crawl delay in seconds."""
        rules = await self.rules(origin)
        if isinstance(rules, str):
            return rules, 0.0
        delay = min(float(rules.crawl_delay(ROBOT) or 0.0), _LONGEST_DELAY)
        return "" if rules.can_fetch(url, ROBOT) else f"{origin}/robots.txt forbids it to programs", delay


def require_reader() -> None:
    """Raise `UsageError` when the robots.txt parser (Protego) is not installed."""
    try:
        import protego  # noqa: F401
    except ImportError as error:
        raise UsageError(
            "live sites need protego, which is not installed; run: pip install 'pytest-webarena[live]'"
        ) from error
