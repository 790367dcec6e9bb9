"""What checks may ask of a running trial: pages, databases and APIs of the leased sites."""

from __future__ import annotations

import http.client
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pytest_webarena.errors import SiteError, TaskError, closest

if TYPE_CHECKING:
    from pytest_webarena.browser.session import PageReading, Session
    from pytest_webarena.sites.backends.base import Rows
    from pytest_webarena.sites.client import Lease

__all__ = ["LiveTrial", "absolute_url"]

_API_TIMEOUT = 30.0


def absolute_url(sites: Mapping[str, str], site: str, path: str) -> str:
    """``path`` on ``site``; a full address stays what it is. `TaskError` for a site that is not leased."""
    if "://" in path or path.startswith("about:"):
        return path
    if site not in sites:
        raise TaskError(f"expected a site of this task, found {site!r}; {closest(site, sites)}")
    return sites[site] + (path if path.startswith("/") else f"/{path}")


class LiveTrial:
    """A session and its lease, as checks see them (`checks.Live`)."""

    def __init__(self, session: Session, lease: Lease | None) -> None:
        self._session = session
        self._lease = lease
        self.sites: dict[str, str] = {name: site.url for name, site in lease.sites.items()} if lease else {}

    def start(self, site: str) -> str:
        """The address where a visit to ``site`` begins."""
        return self._leased(site).sites[site].start

    def read_page(self, *, open: str | None, locate: str | None, prepare: Sequence[str] = ()) -> PageReading:
        """Read the current tab, or ``open`` in a fresh one; ``/path`` is on the task's first site."""
        url = absolute_url(self.sites, next(iter(self.sites), ""), open) if open else None
        return self._session.read_page(open=url, locate=locate, prepare=prepare)

    def query(self, site: str, sql: str, *, database: str = "") -> Rows:
        """Run a read-only statement in the database of ``site`` (the first site's when empty)."""
        site = site or next(iter(self.sites), "")
        return self._leased(site).query(site, sql, database=database)

    def fetch(
        self,
        site: str,
        path: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: str | None = None,
    ) -> tuple[int, str]:
        """Call a site's API through the lease's gateway, with the session's cookies; status and text of the answer."""
        site = site or next(iter(self.sites), "")
        lease = self._leased(site)
        url = absolute_url(self.sites, site, path)
        proxy = urlsplit(lease.proxy)
        sent = {**_cookie_header(self._session.storage_state(), url), **(headers or {})}
        connection = http.client.HTTPConnection(proxy.hostname or "127.0.0.1", proxy.port, timeout=_API_TIMEOUT)
        try:
            connection.request(method, url, body=body.encode() if body is not None else None, headers=sent)
            response = connection.getresponse()
            return response.status, response.read().decode("utf-8", "replace")
        except (OSError, http.client.HTTPException) as error:
            raise SiteError(f"{method} {url}: expected an answer within {_API_TIMEOUT:g} s, found {error!r}") from error
        finally:
            connection.close()

    def account(self, site: str) -> tuple[str, str] | None:
        """Name and password of who administers ``site``; None when the catalogue names nobody for it."""
        sites = self._lease.sites if self._lease is not None else {}
        for name in (site, f"{site}_admin"):
            if name in sites:
                for account in sites[name].users.values():
                    if account.role == "admin" or name != site:
                        return account.username, account.password
        return None

    def _leased(self, site: str) -> Lease:
        if self._lease is None or site not in self._lease.sites:
            raise TaskError(f"expected a site of this task, found {site!r}; {closest(site, self.sites)}")
        return self._lease


def _cookie_header(state: Mapping[str, Any], url: str) -> dict[str, str]:
    """The cookies that a browser in this state would send to ``url``."""
    parts = urlsplit(url)
    host, path = parts.hostname or "", parts.path or "/"
    cookies = [
        f"{cookie['name']}={cookie['value']}"
        for cookie in state.get("cookies", ())
        if _domain_matches(cookie["domain"], host) and path.startswith(cookie["path"])
    ]
    return {"Cookie": "; ".join(cookies)} if cookies else {}


def _domain_matches(domain: str, host: str) -> bool:
    return host == domain.lstrip(".") or (domain.startswith(".") and host.endswith(domain))
