"""Table of served addresses, with the reasons for refusing all others. Names are compared, never resolved."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Protocol
from urllib.parse import urlsplit

from pytest_webarena.gateway.archive_misses import ResourceKind
from pytest_webarena.gateway.heads import BadMessage
from pytest_webarena.gateway.hosted import AddressBook, HostedRoute, OwnAddressRoute
from pytest_webarena.gateway.obstacles import Obstacle
from pytest_webarena.gateway.redirect_sources import RedirectSources
from pytest_webarena.gateway.upstream import Allowed, Route, nothing_allowed

__all__ = ["Guarded", "Intercepted", "NotArchived", "Obstructed", "OtherHosts", "Refused", "RouteTable"]

_ABSOLUTE = re.compile(r"(?i:(https?))://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?([/?][^#]*)?")
_AUTHORITY = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)


class Refused(BadMessage):
    """A well-formed request for an address that is not served. ``title`` heads the page that explains it."""

    def __init__(self, title: str, reason: str) -> None:
        super().__init__(reason, 403)
        self.title = title


class Intercepted(Refused):
    """A request that may change a live site without permission. The gateway answers in the site's place."""


class Obstructed(Refused):
    """A request that could not be sent to a live site, through no fault of the trial; ``obstacle`` is the kind."""

    def __init__(self, title: str, reason: str, obstacle: Obstacle, status: int = 403) -> None:
        super().__init__(title, reason)
        self.status = status
        self.obstacle = obstacle


class NotArchived(Refused):
    """A request of an archived site's page for something that no archive has. ``resource_kind`` tells how much."""

    def __init__(self, reason: str, resource_kind: ResourceKind) -> None:
        super().__init__("Not archived", reason)
        self.status = 404
        self.resource_kind = resource_kind


class Guarded(Protocol):
    """Source of routes to hosts that no other route serves, such as guarded live sites."""

    def route(self, host: str, port: int) -> Route:
        """Return the one route to this host and port. `Refused` if no request to it is permitted."""


class OtherHosts(Protocol):
    """Source of routes to single hosts that no site serves and a catalogue names."""

    def route(self, host: str, port: int) -> Route | None:
        """Return the route to this host and port; None if the catalogue does not name it. `Refused` if it can't be
        requested by this browser."""


class RouteTable:
    """Mapping from host and port to route."""

    def __init__(self, own_addresses: Mapping[str, str]) -> None:
        """``own_addresses``: base URLs by the own addresses of hosted sites."""
        self._routes: dict[tuple[str, int], Route] = {}
        self.world: Guarded | None = None
        """Source of routes for hosts that are not in the table; None: they are refused."""
        self.other_hosts: OtherHosts | None = None
        """Source of routes for hosts that the catalogue names; it is asked before `world`."""
        self.live_routes: dict[tuple[str, int], Route] = {}
        """Routes that `other_hosts` and `world` have given, which are not listed."""
        self.addresses = AddressBook(own_addresses)
        """Names of sites that run elsewhere."""
        self.sent_on = RedirectSources()
        """Redirects of archived sites' pages."""
        self.allows: Allowed = nothing_allowed
        """Permission that the trial would have for requests to the archived sites if they were live."""

    def allowed(self, method: str, url: str) -> str:
        """Return what the current `allows` says."""
        return self.allows(method, url)

    def put(self, route: Route) -> Route | None:
        """Serve ``route`` from now on; return the route it replaces, if any."""
        before = self._routes.get((route.host, route.port))
        self._routes[route.host, route.port] = route
        return before

    def put_own_address(self, route: HostedRoute) -> None:
        """Redirect requests to a hosted site's own addresses to its name, unless another route serves them."""
        self._forget_own_address(route)
        for origin in self.addresses.origins_of(route.url):
            parts = urlsplit(origin)
            tls = parts.scheme == "https"
            key = parts.netloc.removesuffix(f":{parts.port}"), parts.port or (443 if tls else 80)
            own = self._routes.setdefault(key, OwnAddressRoute(*key, tls=tls, book=self.addresses))
            if isinstance(own, OwnAddressRoute):
                own.names[route.url] = route

    def _forget_own_address(self, route: Route) -> None:
        for key, known in list(self._routes.items()):
            if isinstance(known, OwnAddressRoute) and route.url in known.names:
                del known.names[route.url]
                if not known.names:
                    del self._routes[key]

    def drop(self, host: str) -> list[Route]:
        """Stop serving ``host`` on all ports; return the removed routes."""
        keys = [key for key in self._routes if key[0] == host]
        for key in keys:
            self._forget_own_address(self._routes[key])
        return [self._routes.pop(key) for key in keys]

    def has(self, host: str, port: int) -> bool:
        """Return whether a route exists for this host and port."""
        return (host, port) in self._routes

    def __iter__(self) -> Iterator[Route]:
        return iter(self._routes.values())

    def urls(self) -> list[str]:
        """Return the base URLs of all sites, sorted."""
        return sorted(route.url for route in self if not isinstance(route, OwnAddressRoute))

    def resolve(self, target: str, *, visits: bool = True) -> tuple[Route, str]:
        """Return route and path for a request target in absolute form. `Refused` or `BadMessage` for anything else.

        ``https://`` targets are for the harness, which is on this machine and needs no TLS to the gateway. Browsers
        open a tunnel instead.

        ``visits``: whether the request may start sites that are leased on their first visit.
        """
        match = _ABSOLUTE.fullmatch(target)
        if match is None:
            raise _not_absolute(target)
        scheme, host, port, path = match.groups()
        secure = scheme.lower() == "https"
        route = self._find(host, int(port) if port else 443 if secure else 80, visits)
        if route.tls and not secure:
            raise Refused(f"{route.authority} can't be reached", f"{route.url} is served by https only")
        if secure and not (route.read or route.secure):
            raise Refused(f"{route.authority} can't be reached", f"{route.url} can't be asked so")
        if path is None:
            path = "/"
        elif path[0] == "?":
            path = "/" + path
        return route, path

    def resolve_inside(self, route: Route, target: str, *, visits: bool = True) -> tuple[Route, str]:
        """Return route and path for a request inside a tunnel to ``route``, whose target is only a path."""
        if target[0] != "/":
            raise BadMessage(f"expected a path inside the tunnel to {route.authority}, found {target[:200]!r}")
        # The route is looked up again: the site may have been removed or moved to another replica since.
        return self._find(route.host, route.port, visits), target

    def resolve_connect(self, target: str, *, visits: bool = True) -> Route:
        """Return the route for the target of CONNECT."""
        match = _AUTHORITY.fullmatch(target)
        if match is None:
            raise BadMessage(f"expected host:port after CONNECT, found {target[:200]!r}")
        return self._find(match[1], int(match[2]), visits)

    def _find(self, host: str, port: int, visits: bool) -> Route:
        host = host.lower()
        route = self._routes.get((host, port))
        if route is not None:
            if route.arrival is not None and not visits:
                raise Refused(f"{host} can't be reached", f"{host} is not one of this task's sites, nor visited so far")
            return route
        if (host, port) in self.live_routes:
            return self.live_routes[host, port]
        if self.other_hosts is not None and (other := self.other_hosts.route(host, port)) is not None:
            self.live_routes[host, port] = other
            return other
        if self.world is not None:
            self.live_routes[host, port] = self.world.route(host, port)
            return self.live_routes[host, port]
        ports = sorted(route.port for route in self if route.host == host)
        if ports:
            served = " and ".join(map(str, ports))
            raise Refused(f"{host}:{port} can't be reached", f"port {port} of {host} is not served (port {served} is)")
        raise Refused(f"{host} can't be reached", f"{host} is not one of this task's sites")


def _not_absolute(target: str) -> BadMessage:
    if target.startswith("/") or target == "*":
        return BadMessage(
            "this is a forward proxy: expected an absolute address such as http://homepage.test/, "
            f"found {target[:200]!r}; set this address as the HTTP proxy of the browser instead of opening it"
        )
    match = _SCHEME.fullmatch(target)
    if match is None:
        return BadMessage(f"expected an address that starts with http://, found {target[:200]!r}")
    scheme, rest = match[1].lower(), match[2]
    if scheme not in ("http", "https"):
        host = re.split(r"[/?#]", rest, maxsplit=1)[0].rpartition("@")[2]
        return Refused(
            f"{host[:200]} can't be reached", f"{scheme}:// addresses are not served, only http:// and https://"
        )
    if "@" in re.split(r"[/?#]", rest, maxsplit=1)[0]:
        return BadMessage("found a user name in the address; that is not allowed in a request (RFC 9110 §4.2.4)")
    return BadMessage(f"expected http://host/path, found {target[:200]!r}")
