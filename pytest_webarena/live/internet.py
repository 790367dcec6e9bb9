"""The world as all trials of a broker meet it: how it is connected to, how often asked, what it wants of robots."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from functools import cache, partial
from urllib.parse import urljoin, urlsplit

from pytest_webarena.gateway.routes import Hindered
from pytest_webarena.live.addresses import why_no_host, why_not_public
from pytest_webarena.live.connecting import Forbidden, LookUp, P, connect, look_up
from pytest_webarena.live.fetching import fetch
from pytest_webarena.live.rate_limits import RateLimits, TooOften
from pytest_webarena.live.robots import ROBOT, Robots
from pytest_webarena.live.tunnelling import Proxy
from pytest_webarena.live.visit_rules import VisitPolicy

__all__ = ["World"]

_REDIRECTS = 5


class World:
    """Made with what decides where it may be asked: ``closed`` tells why nobody may be asked at an address, ``find``
    looks names up, ``secure`` verifies certificates, and all goes through ``proxy`` if there is one. Their defaults are
    what is right outside of tests."""

    def __init__(
        self,
        manners: VisitPolicy,
        *,
        closed: Callable[[str], str] = why_not_public,
        find: LookUp = look_up,
        secure: ssl.SSLContext | None = None,
        proxy: Proxy | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.manners = manners
        self._closed, self._find = closed, find
        self._secure, self._proxy = secure, proxy
        self.pace = RateLimits(
            pages=manners.pages_per_second,
            requests=manners.requests_per_second,
            patience=manners.patience,
            clock=clock,
        )
        self._robots = Robots(self._fetch_rules)

    async def connect(self, make: Callable[[], P], host: str, port: int, *, tls: bool) -> P:
        """A connection to a public address of ``host``. `Forbidden`; `OSError` when there is none to be had."""
        secure = (self._secure or _of_the_world()) if tls else None
        return await connect(make, host, port, find=self._find, closed=self._closed, secure=secure, proxy=self._proxy)

    async def turn(self, host: str, *, page: bool) -> None:
        """Wait for one's turn to ask ``host``. `Hindered` when that takes too long."""
        try:
            await self.pace.turn(host, page=page)
        except TooOften as error:
            raise Hindered(f"{host} can't be asked now", str(error), "blocked", 429) from None

    async def welcome(self, origin: str, url: str) -> None:
        """`Hindered` when the site wants no robot at ``url``, or when nobody knows whether it does."""
        try:
            why, delay = await self._robots.closed(origin, url)
        except Forbidden:
            raise
        except (OSError, ValueError) as error:
            reason = f"{origin}/robots.txt can't be had, which closes all of the site to robots: {error or 'timed out'}"
            raise Hindered("The site could not be asked", reason, "site", 502) from error
        if delay:
            self.pace.slow(urlsplit(origin).hostname or "", delay)
        if why:
            raise Hindered("The site does not want robots here", why, "blocked")

    async def _fetch_rules(self, url: str) -> tuple[int, str]:
        """What is at ``url``, after redirects, each of which is judged as any request."""
        agent = self.user_agent(ROBOT)
        async with asyncio.timeout(self.manners.answer_within):
            for hop in range(_REDIRECTS + 1):
                parts = urlsplit(url)
                host, tls = parts.hostname or "", parts.scheme == "https"
                usual = parts.scheme in ("http", "https") and parts.port in (None, 80, 443) and not why_no_host(host)
                if hop and not usual:
                    break
                opened = partial(self.connect, host=host, port=parts.port or (443 if tls else 80), tls=tls)
                try:
                    status, to, text = await fetch(url, opened, agent)
                except Forbidden:
                    if not hop:
                        raise
                    break
                if not (300 <= status < 400 and to):
                    return status, text
                url = urljoin(url, to)
        return 404, ""  # RFC 9309 §2.3.1.2: what can't be followed is not there

    def user_agent(self, sent: str) -> str:
        """What we say that we are: the browser that we are, and who drives it."""
        if self.manners.user_agent:
            return self.manners.user_agent
        told = f"{ROBOT}; {self.manners.contact}" if self.manners.contact else f"{ROBOT}; robot"
        return f"{sent} (+{told})"


@cache
def _of_the_world() -> ssl.SSLContext:
    """Certificates are verified as browsers do, whatever browsers here are told of our own authority. ``SSL_CERT_FILE``
    names authorities of one's own."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
