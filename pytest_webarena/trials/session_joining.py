"""Joins the signed-in states of several sites for one browser, and finds cookies that these sites would share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pytest_webarena.browser.login import verify_together
from pytest_webarena.errors import SiteError
from pytest_webarena.sites.client.visitor import is_this_machine

if TYPE_CHECKING:
    from pytest_webarena.browser.engine import BrowserEngine
    from pytest_webarena.sites.protocol.messages import SiteAccess

__all__ = ["AccountState", "cookies_at", "is_of", "join", "paths_elsewhere", "prove", "shared_cookies"]

State = Mapping[str, Any]
"""A storage state of Playwright."""
Jar = Sequence[Mapping[str, Any]]
"""The cookies of a storage state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountState:
    """A site, an account, and a state that signs the account in."""

    site: SiteAccess
    user: str
    state: State


def join(states: Iterable[State]) -> dict[str, Any]:
    """One state with the cookies and the local storage of all ``states``."""
    found = list(states)
    return {
        "cookies": [cookie for state in found for cookie in state.get("cookies", ())],
        "origins": [origin for state in found for origin in state.get("origins", ())],
    }


def paths_elsewhere(began: Jar, now: Jar, url: str) -> list[str]:
    """Paths of the site at ``url`` for which its cookies have changed since the jar ``began``, in order.

    Includes the site's root if there is any, because cookies of longer paths may hide those of the root.
    """
    root, host = urlsplit(url).path or "/", urlsplit(url).hostname or ""
    before, after = (
        {(each["name"], each["value"], each["domain"], each["path"]) for each in jar if _is_sent(each, host)}
        for jar in (began, now)
    )
    changed = {root if _matches(path, root) else path for *_, path in before ^ after}
    return sorted({root, *filter(lambda path: _matches(root, path), changed)}) if changed else []


def cookies_at(jar: Jar, url: str, path: str) -> list[Mapping[str, Any]]:
    """The cookies that browsers send to an address at ``path`` of the site at ``url``, in their order."""
    site = urlsplit(url)
    host = site.hostname or ""
    safe = site.scheme == "https" or is_this_machine(host)
    sent = [
        each
        for each in jar
        if _is_sent(each, host) and _matches(each["path"], path) and (safe or not each.get("secure"))
    ]
    return sorted(sent, key=lambda each: -len(each["path"]))


def is_of(cookie: Mapping[str, Any], host: str) -> bool:
    """Whether a stored cookie belongs to ``host`` or to a parent domain."""
    return f".{host}".endswith(f".{cookie['domain'].removeprefix('.')}")


def _matches(path: str, address: str) -> bool:
    """Whether a cookie with ``path`` is sent to ``address``, by the rules of RFC 6265."""
    return address == path or (address.startswith(path) and (path.endswith("/") or address[len(path)] == "/"))


def shared_cookies(visits: Sequence[AccountState], sites: Iterable[SiteAccess]) -> tuple[str, ...]:
    """Names of cookies that sign in to one site and that browsers also send to another one; ports make no difference.

    Empty when every site has a host of its own and no cookie is for several hosts, so that nothing can conflict.
    """
    hosts = {site.name: urlsplit(site.url).hostname or "" for site in sites}
    found = {
        str(cookie.get("name", ""))
        for visit in visits
        for cookie in visit.state.get("cookies", ())
        if any(_is_sent(cookie, host) for name, host in hosts.items() if name != visit.site.name)
    }
    return tuple(sorted(found))


def prove(
    engine: BrowserEngine,
    visits: Sequence[AccountState],
    sites: Iterable[SiteAccess],
    state: State,
    *,
    proxy: str | None,
    shared: Sequence[str],
) -> dict[str, Any]:
    """Verify that ``state`` signs all visitors in at the same time; return the state afterwards.

    Raises `SiteError` with the cookies that the sites share, and a remedy.
    """
    visited = {visit.site.name for visit in visits}
    sign_ins = [
        (visit.site.login, visit.site.users[visit.user], visit.site.url)
        for visit in visits
        if visit.site.login is not None
    ]
    others = [site for site in sites if site.name not in visited]
    try:
        return verify_together(engine, sign_ins, others=[site.start for site in others], proxy=proxy, state=state)
    except SiteError as error:
        names = [f"{visit.site.name} ({visit.site.url})" for visit in visits]
        names += [f"{site.name} ({site.url})" for site in others]
        last = visits[-1].site.name
        raise SiteError(
            f"the sign-ins do not work together in one browser: {error}\n"
            f"Cookies belong to a host, whatever the port, so {' and '.join(names)} share {', '.join(shared)}. Give "
            f"each site a host name of its own, as in --site-url {last}=http://{last}.example:8080, or have tasks "
            f"visit one of them signed out (user: {{{last}: ''}})."
        ) from error


def _is_sent(cookie: Mapping[str, Any], host: str) -> bool:
    """Whether a browser sends the cookie to ``host``; a domain cookie begins with a dot."""
    domain = str(cookie.get("domain") or urlsplit(str(cookie.get("url", ""))).hostname or "").lower()
    return bool(host) and (host == domain.removeprefix(".") or (domain.startswith(".") and host.endswith(domain)))
