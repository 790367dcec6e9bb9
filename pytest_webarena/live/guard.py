"""One trial's access to live sites: which hosts and requests are allowed, and how responses are classified."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from urllib.parse import urlsplit

from pytest_webarena.gateway.archive_misses import is_browser_service, resource_kind
from pytest_webarena.gateway.heads import RequestHead, ResponseHead
from pytest_webarena.gateway.log_entry import Entry
from pytest_webarena.gateway.method_override import hidden_method, is_unreadable, mutates, names_address, names_method
from pytest_webarena.gateway.pages import NOT_SENT
from pytest_webarena.gateway.redirect_sources import RedirectSources
from pytest_webarena.gateway.routes import Intercepted, Obstructed, Refused
from pytest_webarena.gateway.upstream import Route, UpstreamConnection
from pytest_webarena.live import bot_walls
from pytest_webarena.live.addresses import host_problem
from pytest_webarena.live.connecting import Forbidden
from pytest_webarena.live.domains import registrable
from pytest_webarena.live.internet import World
from pytest_webarena.live.visit_rules import Terms

__all__ = ["Guard"]

_HOSTS = 5000
"""Maximum number of hosts per trial, because pages can invent any number."""
_PURPOSES = "Vary: Accept, Sec-Fetch-Dest"
"""``Vary`` field with the request fields that state a request's purpose, so that browsers reuse a cached response only
for the same purpose."""
_IDEMPOTENT = frozenset(("GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"))


class Guard:
    """The gateway's policy of one lease for hosts on the Internet (`gateway.routes.Guarded`)."""

    def __init__(self, world: World, terms: Terms) -> None:
        self.world, self.terms = world, terms
        self._sent_on = RedirectSources()
        self._hosts = 0

    def route(self, host: str, port: int) -> Route:
        """The route to one host and port. `Refused` when the host cannot be on the public Internet, the port is not
        allowed, or the trial has used too many hosts."""
        own = next((tls for at, number, tls in self.terms.ports if (at, number) == (host, port)), None)
        if own is None and port not in (80, 443):
            raise Refused(f"{host}:{port} can't be reached", f"port {port} of {host} is not one of the web's (80, 443)")
        if reason := host_problem(host):
            raise self.forbidden(host, f"{host} is no host of the Internet: {reason}")
        self._hosts += 1
        if self._hosts > _HOSTS:
            raise Refused(
                f"{host} can't be reached", f"{_HOSTS} other hosts were asked in this trial, and no more can be"
            )
        return _WorldRoute(self, host, port, tls=port == 443 if own is None else own)

    def forbidden(self, host: str, reason: str) -> Refused:
        """The exception for a host that must not be connected to. `Obstructed` for the trial's own site, because the
        agent is not at fault then."""
        title = f"{host} can't be reached"
        return Obstructed(title, reason, "site") if self.terms.is_home(host) else Refused(title, reason)

    def judge(self, route: Route, request: RequestHead, path: str, unsafe: str) -> None:
        """Raise `Refused` for a request that must not be sent."""
        url = route.url + path
        if resource_kind(request.method, request.fields) == "page" and not self.terms.is_home(route.host):
            self._refuse_foreign(route, url, self._sender(request, url))
        if not self.terms.is_home(route.host) and is_browser_service(request.fields):
            raise Refused(f"{route.host} can't be reached", f"the browser asks {route.host} for no page")
        query = path.partition("?")[2]
        if not unsafe and hidden_method(request.method, query):
            unsafe = f"{request.method} as another method"
        elif not unsafe and mutates(query):
            unsafe = f"{request.method} of a mutation"
        if not unsafe:
            return
        method = "WEBSOCKET" if unsafe == "WebSocket" else request.method
        allowed = self.terms.allows(method, url)
        # A request that overrides its method is not what it claims to be, so only a permission to write allows it.
        if allowed == "write" or (allowed == "read" and not self._is_other(request, query)):
            return
        raise _intercepted(unsafe, url)

    def _is_other(self, request: RequestHead, query: str) -> bool:
        return names_method(request.fields) or names_address(request.fields) or hidden_method(request.method, query)

    def only_reads(self, route: Route, request: RequestHead, path: str) -> bool:
        """Whether a request is forwarded because the task or the catalogue declares it read-only."""
        return self.terms.allows(request.method, route.url + path) == "read"

    def look_into(self, route: Route, request: RequestHead, path: str, body: bytes) -> None:
        """Raise `Intercepted` for a request that is declared read-only and whose body asks for something else."""
        query = path.partition("?")[2]
        if is_unreadable(request.fields, body) or hidden_method(request.method, query, body):
            raise _intercepted(f"{request.method} as another method", route.url + path)
        if mutates(query, body):
            raise _intercepted(f"{request.method} of a mutation", route.url + path)

    def _sender(self, request: RequestHead, url: str) -> str:
        """The page that sent its visitor to ``url`` by a redirect or, without any input, by a script or a refresh.
        Empty if none did."""
        if sender := self._sent_on.sender(url):
            return sender
        known = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in request.fields)}
        by_itself = known.get("sec-fetch-site") == "cross-site" and "sec-fetch-user" not in known
        return known.get("referer", "") if by_itself else ""

    def _refuse_foreign(self, route: Route, url: str, sender: str) -> None:
        domains = ", ".join(sorted(self.terms.domains)) or "no site"
        reason = f"{route.host} is not of this task's domains ({domains})"
        if sender and self._is_turning_away(sender, route.host):
            raise Obstructed(
                f"{route.host} can't be reached", f"{sender} sends visitors on to {url}, and {reason}", "blocked"
            )
        raise Refused(f"{route.host} can't be reached", reason)

    def _is_turning_away(self, sender: str, host: str) -> bool:
        """Whether a redirect is how the site treats such visitors: it leads away from the trial's start page, or to the
        same site under another country's domain. Otherwise it may be an ordinary link to another site."""
        if sender in self.terms.starts and self._sent_on.has_sent(sender):
            return True
        first, second = registrable(urlsplit(sender).hostname or ""), registrable(host)
        return bool(first and second) and first.partition(".")[0] == second.partition(".")[0]

    def note(self, route: Route, request: RequestHead, head: ResponseHead, entry: Entry) -> None:
        """Classify the head of a response: record redirects, obstacles and the wait that the site asks for.

        Browsers may show a resource that a page loaded in a tab without another request; the added ``Vary`` field
        prevents that.
        """
        head.fields = [*head.fields, _PURPOSES]
        known = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in head.fields)}
        page = resource_kind(request.method, request.fields) == "page"
        if page and 300 <= head.status < 400 and (to := known.get("location")):
            self._sent_on.note(entry.url, to)
        if head.status in (429, 503) and (wait := bot_walls.retry_after(known.get("retry-after", ""))):
            self.world.pace.hold(route.host, wait)
        if reason := bot_walls.refusal(head.status, known, page=page):
            entry.note_obstacle("blocked", reason)
        elif page and bot_walls.captcha_frame(entry.url):
            entry.note_obstacle("blocked", "a captcha")
        elif page and head.status >= 500:
            entry.note_obstacle("site", f"status {head.status}")


def _intercepted(what: str, url: str) -> Intercepted:
    return Intercepted(
        NOT_SENT,
        f"{what} {url} was not sent, for it may change something on a live site and the task does not allow it; "
        "nothing was changed there",
    )


class _WorldRoute(Route):
    """A host and port on the Internet. Each new connection uses an address that was checked for it."""

    is_live = True

    def __init__(self, guard: Guard, host: str, port: int, *, tls: bool) -> None:
        super().__init__(host, port, host, port, tls=tls, read=tls)
        self._guard = guard
        self.answer_within = guard.world.policy.answer_within

    def __str__(self) -> str:
        return f"{self.authority} (live)"

    def admit(self, request: RequestHead, path: str, unsafe: str) -> None:
        self._guard.judge(self, request, path, unsafe)

    def examines(self, request: RequestHead, path: str) -> bool:
        return self._guard.only_reads(self, request, path)

    def examine(self, request: RequestHead, path: str, body: bytes) -> None:
        self._guard.look_into(self, request, path, body)

    def receive_response_head(self, request: RequestHead, head: ResponseHead, entry: Entry) -> None:
        self._guard.note(self, request, head, entry)

    def fields(self, sent: Sequence[str]) -> Sequence[str]:
        agent = next((line.partition(":")[2].strip() for line in sent if line[:11].lower() == "user-agent:"), "")
        rest = (line for line in super().fields(sent) if line[:11].lower() != "user-agent:")
        return [*rest, f"User-Agent: {self._guard.world.user_agent(agent)}"]

    def take(self) -> UpstreamConnection | None:
        """Return None, because each request has to wait for its turn (`open_for`)."""
        return None

    async def open_for(self, request: RequestHead, path: str, timeout: float) -> UpstreamConnection:
        world, page = self._guard.world, resource_kind(request.method, request.fields) == "page"
        try:
            if page and self._guard.terms.robots == "obey":
                await world.check_robots(self.url, self.url + path)
            await world.wait_for_turn(self.host, page=page)
            bodiless = not (request.chunked or request.length or request.websocket)
            if bodiless and request.method in _IDEMPOTENT and (idle := super().take()) is not None:
                return idle
            return await self.connect(timeout)
        except Forbidden as error:
            raise self._guard.forbidden(self.host, f"requests to {self.host} are forbidden: {error}") from error

    async def connect(self, timeout: float, *, raw: bool = False) -> UpstreamConnection:
        async with asyncio.timeout(timeout):
            return await self._guard.world.connect(lambda: UpstreamConnection(self), self.host, self.port, tls=self.tls)
