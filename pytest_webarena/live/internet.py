"""Access to the Internet that all trials of a broker share: connections, rate limits and robots.txt rules."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from functools import cache, partial
from urllib.parse import urljoin, urlsplit

from pytest_webarena.gateway.routes import Obstructed
from pytest_webarena.live.addresses import address_problem, host_problem
from pytest_webarena.live.connecting import Forbidden, LookUp, P, connect, look_up
from pytest_webarena.live.fetching import fetch
from pytest_webarena.live.rate_limits import RateLimitExceeded, RateLimits
from pytest_webarena.live.robots import ROBOT, Robots
from pytest_webarena.live.tunnelling import Proxy
from pytest_webarena.live.visit_rules import VisitPolicy

__all__ = ["World"]

_REDIRECTS = 5


class World:
    """Connections, rate limits and robots.txt rules for live sites.

    ``closed`` says why an address must not be used, ``find`` looks up names, ``secure`` verifies certificates, and
    ``proxy``, if given, carries all connections. The defaults suit all uses but tests.
    """

    def __init__(
        self,
        policy: VisitPolicy,
        *,
        closed: Callable[[str], str] = address_problem,
        find: LookUp = look_up,
        secure: ssl.SSLContext | None = None,
        proxy: Proxy | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.policy = policy
        self._closed, self._find = closed, find
        self._secure, self._proxy = secure, proxy
        self.pace = RateLimits(
            pages=policy.pages_per_second,
            requests=policy.requests_per_second,
            patience=policy.patience,
            clock=clock,
        )
        self._robots = Robots(self._fetch_rules)

    async def connect(self, make: Callable[[], P], host: str, port: int, *, tls: bool) -> P:
        """A connection to a public address of ``host``. Raises `Forbidden`, or `OSError` when no connection is
        possible."""
        secure = (self._secure or _internet_tls_context()) if tls else None
        return await connect(make, host, port, find=self._find, closed=self._closed, secure=secure, proxy=self._proxy)

    async def wait_for_turn(self, host: str, *, page: bool) -> None:
        """Wait until it is this request's turn to use ``host``. `Obstructed` when that takes too long."""
        try:
            await self.pace.wait_for_turn(host, page=page)
        except RateLimitExceeded as error:
            raise Obstructed(f"{host} can't be asked now", str(error), "blocked", 429) from None

    async def check_robots(self, origin: str, url: str) -> None:
        """Raise `Obstructed` when the site's robots.txt disallows ``url`` or cannot be fetched."""
        try:
            why, delay = await self._robots.refusal(origin, url)
        except Forbidden:
            raise
        except (OSError, ValueError) as error:
            reason = f"{origin}/robots.txt can't be had, which closes all of the site to robots: {error or 'timed out'}"
            raise Obstructed("The site could not be asked", reason, "site", 502) from error
        if delay:
            self.pace.slow(urlsplit(origin).hostname or "", delay)
        if why:
            raise Obstructed("The site does not want robots here", why, "blocked")

    async def _fetch_rules(self, url: str) -> tuple[int, str]:
        """Status and text at ``url`` after redirects, each of which is checked like any request."""
        agent = self.user_agent(ROBOT)
        async with asyncio.timeout(self.policy.answer_within):
            for hop in range(_REDIRECTS + 1):
                parts = urlsplit(url)
                host, tls = parts.hostname or "", parts.scheme == "https"
                usual = parts.scheme in ("http", "https") and parts.port in (None, 80, 443) and not host_problem(host)
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
        return 404, ""  # RFC 9309 §2.3.1.2: a robots.txt behind redirects that can't be followed counts as absent

    def user_agent(self, sent: str) -> str:
        """The user agent to send: the configured one, or the browser's own with this project's name and contact."""
        if self.policy.user_agent:
            return self.policy.user_agent
        robot = f"{ROBOT}; {self.policy.contact}" if self.policy.contact else f"{ROBOT}; robot"
        return f"{sent} (+{robot})"


@cache
def _internet_tls_context() -> ssl.SSLContext:
    """TLS context that verifies certificates as browsers do, without the harness's own authority. ``SSL_CERT_FILE``
    names additional authorities."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
