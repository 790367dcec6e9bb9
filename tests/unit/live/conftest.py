"""A simulated internet on loopback addresses, some of which count as public in these tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from pytest_webarena.evidence import RequestRecord
from pytest_webarena.gateway.log_entry import Entry
from pytest_webarena.gateway.session import GatewaySession
from pytest_webarena.live.addresses import address_problem
from pytest_webarena.live.guard import Guard
from pytest_webarena.live.internet import World as LiveWorld
from pytest_webarena.live.tunnelling import Proxy
from pytest_webarena.live.visit_rules import Terms, VisitPolicy
from pytest_webarena.tasks.live_form import parse_named
from tests.unit.gateway.conftest import Answer, Browser, Site, World, ok, world

__all__ = ["Internet", "internet", "world"]

PUBLIC = "127.1.0.1"
"""Represents a public address; 127.0.0.1 stays local."""

SHOP, CDN, EVIL = "shop.example.com", "cdn.example.net", "evil.example.org"

TAB = ("Sec-Fetch-Dest: document", "Sec-Fetch-Mode: navigate", "Accept: text/html,*/*")
SCRIPT = ("Sec-Fetch-Dest: empty", "Sec-Fetch-Mode: cors", "Accept: */*", "Origin: http://shop.example.com")


def answering(status: int, *fields: str) -> Any:
    head = "".join(f"{field}\r\n" for field in fields)
    return lambda seen: f"HTTP/1.1 {status} x\r\n{head}Content-Length: 2\r\n\r\nhi".encode()


@dataclass
class Internet:
    """Simulated hosts, their addresses, and access through the gateway."""

    world: World
    names: dict[str, list[str]] = field(default_factory=dict)
    """Resolver answers by name; each answer but the last is used once."""
    lookups: list[str] = field(default_factory=list)
    ports: set[tuple[str, int, bool]] = field(default_factory=set)
    sites: dict[str, Site] = field(default_factory=dict)

    def host(self, name: str, answer: Answer = ok, *, robots: str | None = None) -> Site:
        """Add a public site."""

        def answers(seen: Any) -> bytes | None:
            if seen.path == "/robots.txt":
                text = (robots or "").encode()
                status = b"404 Not Found" if robots is None else b"200 OK"
                return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status, len(text), text)
            return answer(seen)

        site = self.sites[name] = self.world.site(answers, at=PUBLIC)
        self.names[name] = [PUBLIC]
        self.ports = {each for each in self.ports if each[0] != name} | {(name, site.port, False)}
        return site

    async def find(self, host: str, port: int) -> Sequence[str]:
        self.lookups.append(host)
        known = self.names.get(host)
        if known is None:
            raise OSError("its name can't be looked up: Name or service not known")
        return known.pop(0).split() if len(known) > 1 else known[0].split()

    def enter(
        self,
        *domains: str,
        reads: Sequence[str] = (),
        writes: Sequence[str] = (),
        robots: Any = "obey",
        starts: Sequence[str] = (),
        proxy: Proxy | None = None,
        keep: Callable[[Entry], None] | None = None,
        **manners: Any,
    ) -> GatewaySession:
        """Return a gateway session whose trial may open ``domains``."""
        given: dict[str, Any] = {"pages_per_second": 1000.0, "requests_per_second": 10000.0, **manners}
        closed = lambda address: "" if address == PUBLIC else address_problem(address)  # noqa: E731
        world = LiveWorld(VisitPolicy(**given), find=self.find, closed=closed, proxy=proxy)
        terms = Terms(
            domains=frozenset(domains),
            starts=frozenset(starts),
            reads=tuple(map(parse_named, reads)),
            writes=tuple(map(parse_named, writes)),
            robots=robots,
            ports=frozenset(self.ports),
        )
        session = self.world.session(keep=keep)
        self.world.call(session.enter, Guard(world, terms))
        return session

    def url(self, host: str, path: str = "/") -> str:
        return f"http://{host}:{next(port for name, port, _ in self.ports if name == host)}{path}"

    def ask(
        self, session: GatewaySession, url: str, *fields: str, method: str = "GET", body: bytes = b""
    ) -> tuple[int, str, bytes]:
        """One request by a browser."""
        browser: Browser = self.world.browser(session)
        length = [f"Content-Length: {len(body)}"] if body else []
        lines = [f"{method} {url} HTTP/1.1", f"Host: {url.split('/')[2]}", *fields, *length, "", ""]
        browser.send("\r\n".join(lines).encode() + body)
        return browser.response()

    def last(self, session: GatewaySession) -> RequestRecord:
        return self.world.requests(session)[-1]

    def asked(self, host: str) -> list[str]:
        """Return the paths that reached a site, without its robots.txt."""
        return [seen.line for seen in self.sites[host].seen if seen.path != "/robots.txt"]


@pytest.fixture
def internet(world: World) -> Internet:
    return Internet(world)
