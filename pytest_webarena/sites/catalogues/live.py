"""Live sites in catalogues: the visit policy of their app, and the restrictions of trials."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pytest_webarena.errors import UsageError, closest
from pytest_webarena.sites.catalogues.manifest import AppManifest
from pytest_webarena.tasks.live_form import named_fault
from pytest_webarena.tasks.model import LiveTerms

if TYPE_CHECKING:
    from pytest_webarena.live.tunnelling import Proxy
    from pytest_webarena.live.visit_rules import Terms, VisitPolicy

__all__ = ["LIVE", "NOWHERE", "live_app", "manners_of", "proxy_of", "trial_terms"]

LIVE = "live"
"""Name of the backend of live sites, and of the catalogue with a site for any of them."""

NOWHERE = "https://live.invalid"
"""Placeholder address of a site that stands for the start addresses of its tasks."""

_LISTS = {"domains", "reads", "writes"}


@functools.cache
def _manners() -> Mapping[str, Any]:
    """Names and types of `VisitPolicy`'s fields."""
    from pytest_webarena.live.visit_rules import VisitPolicy  # late: most catalogues have no live sites

    return {field.name: field.type for field in fields(VisitPolicy)}


def live_app(app: AppManifest) -> AppManifest:
    """Returns an app of this backend in the form in which it runs: shared by all. Raises `UsageError` for invalid
    options."""
    manners_of(app)
    _terms(app)
    for site in app.sites:
        if not site.base.startswith(("http://", "https://")):
            raise _fault(app, f"a 'url' of the site {site.name}, such as https://www.example.com", "none")
    return replace(app, read_only=True, max_replicas=1, spares=0, ready=())


def manners_of(app: AppManifest) -> VisitPolicy:
    """Returns the app's visit policy. Raises `UsageError` for invalid options."""
    from pytest_webarena.live.visit_rules import VisitPolicy  # as in `_manners`

    options = app.options
    if unknown := sorted(set(options) - _LISTS - set(_manners())):
        known = {*_LISTS, *_manners()}
        raise UsageError(
            f"the app {app.name!r}, whose backend is 'live', has no option {unknown[0]!r}; {closest(unknown[0], known)}"
        )
    given: dict[str, Any] = {}
    for name, kind in _manners().items():
        if name not in options:
            continue
        value = options[name]
        if name == "robots":
            is_valid, expected = value in ("obey", "ignore"), "obey or ignore"
        elif kind == "float":
            is_valid, expected = (
                isinstance(value, int | float) and not isinstance(value, bool) and value > 0,
                "a number above 0",
            )
        else:
            is_valid = isinstance(value, str) and value.isascii() and value.isprintable()
            expected = "a text of plain characters"
        if not is_valid:
            raise _fault(app, f"{expected} in the option {name!r}", repr(value))
        given[name] = float(value) if kind == "float" else value
    manners = VisitPolicy(**given)
    proxy_of(app, manners)
    return manners


def proxy_of(app: AppManifest, manners: VisitPolicy) -> Proxy | None:
    """Returns the proxy for visits, if there is one. Raises `UsageError` for an invalid one."""
    if not manners.proxy:
        if manners.proxy_login:
            raise _fault(app, "the option 'proxy' with 'proxy_login'", "none")
        return None
    try:
        parts = urlsplit(manners.proxy)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or port is None or manners.proxy.rstrip("/") != f"http://{parts.netloc}" or "@" in parts.netloc:
        raise _fault(
            app,
            "http://host:port in the option 'proxy' (a login is in the environment variable that 'proxy_login' names)",
            "another form",  # not quoted, because it may contain a password
        )
    from pytest_webarena.live.tunnelling import Proxy  # as in `_manners`

    login = os.environ.get(manners.proxy_login, "") if manners.proxy_login else ""
    if manners.proxy_login and ":" not in login:
        found = "a text without ':'" if login else "none"
        raise _fault(app, f"user:password in the environment variable {manners.proxy_login} ('proxy_login')", found)
    return Proxy(host=host, port=port, login=login)


def _terms(app: AppManifest) -> LiveTerms:
    found: dict[str, tuple[str, ...]] = {}
    for name in _LISTS:
        value = app.options.get(name, [])
        value = [value] if isinstance(value, str) else value
        if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
            raise _fault(app, f"a list of texts in the option {name!r}", repr(value))
        for each in value:
            if name != "domains" and (expected := named_fault(each)):
                raise _fault(app, f"{expected} in the option {name!r}", repr(each))
        found[name] = tuple(value)
    return LiveTerms(**found, robots=manners_of(app).robots)


def _fault(app: AppManifest, expected: str, found: str) -> UsageError:
    return UsageError(f"the app {app.name!r}, whose backend is 'live': expected {expected}, found {found}")


def trial_terms(app: AppManifest, task: LiveTerms | None, starts: Mapping[str, Any] | list[str]) -> Terms:
    """Returns what a trial may do on an app's sites, given its task's terms and start addresses."""
    from pytest_webarena.live.visit_rules import terms_of  # as in `_manners`

    urls = [site.start_url for site in app.sites if site.url != NOWHERE]
    return terms_of(_terms(app), task, [*urls, *starts])
