"""Rate limits per host of live sites, shared by all trials of a broker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["RateLimitExceeded", "RateLimits"]

_PAGES_AT_ONCE = 4
_REQUESTS_AT_ONCE = 60
"""Burst sizes of pages and of requests; one page easily needs 60 requests."""
_HOSTS = 5000


class RateLimitExceeded(Exception):
    """A host cannot be used within the time that a request may wait; the text says why."""


@dataclass(slots=True)
class _Bucket:
    """A token bucket that fills by ``rate`` per second up to ``size``. Its level may be negative, so that waiting
    requests are spaced."""

    level: float
    updated_at: float

    def take(self, now: float, rate: float, size: float) -> float:
        """Take one token and return the seconds until it is available."""
        self.level = min(size, self.level + (now - self.updated_at) * rate)
        self.updated_at = now
        self.level -= 1
        return max(0.0, -self.level / rate)

    def give_back(self) -> None:
        self.level += 1


@dataclass(slots=True)
class _Host:
    pages: _Bucket
    requests: _Bucket
    delay: float = 0.0
    until: float = 0.0
    """The time until which the host asked for no requests."""


class RateLimits:
    """Delays requests per host. Times are in seconds of ``clock``, rates per second."""

    def __init__(self, *, pages: float, requests: float, patience: float, clock: Callable[[], float]) -> None:
        self._pages, self._requests, self._patience, self._clock = pages, requests, patience, clock
        self._hosts: dict[str, _Host] = {}

    async def wait_for_turn(self, host: str, *, page: bool) -> None:
        """Wait until ``host`` may receive a request. `RateLimitExceeded` after `patience` seconds."""
        if seconds := self.reserve_turn(host, page=page):
            await asyncio.sleep(seconds)

    def reserve_turn(self, host: str, *, page: bool) -> float:
        """Reserve a turn at ``host`` and return the seconds to wait for it. `RateLimitExceeded` as there."""
        now = self._clock()
        known = self._known(host, now)
        if (remaining := known.until - now) > self._patience:
            raise RateLimitExceeded(f"{host} asked not to be asked again for {remaining:.0f} s")
        seconds = max(0.0, remaining, known.requests.take(now, self._requests, _REQUESTS_AT_ONCE))
        if page:
            rate = min(self._pages, 1 / known.delay) if known.delay else self._pages
            seconds = max(seconds, known.pages.take(now, rate, 1 if known.delay else _PAGES_AT_ONCE))
        if seconds > self._patience:
            known.requests.give_back()
            if page:
                known.pages.give_back()
            raise RateLimitExceeded(f"too many requests to {host}: the next one is allowed in {seconds:.0f} s")
        return seconds

    def hold(self, host: str, seconds: float) -> None:
        """Send ``host`` nothing for ``seconds``."""
        now = self._clock()
        known = self._known(host, now)
        known.until = max(known.until, now + seconds)

    def slow(self, host: str, delay: float) -> None:
        """Keep ``delay`` seconds between two pages of ``host``."""
        self._known(host, self._clock()).delay = delay

    def _known(self, host: str, now: float) -> _Host:
        known = self._hosts.get(host)
        if known is None:
            if len(self._hosts) >= _HOSTS:
                del self._hosts[next(iter(self._hosts))]
            known = self._hosts[host] = _Host(_Bucket(_PAGES_AT_ONCE, now), _Bucket(_REQUESTS_AT_ONCE, now))
        return known
