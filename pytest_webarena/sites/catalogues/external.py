"""Sites that run elsewhere: their addresses on the command line, and which tasks must not use them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pytest_webarena.errors import UsageError

if TYPE_CHECKING:
    from pytest_webarena.sites.catalogues.manifest import AppManifest, Catalogue, SiteManifest
    from pytest_webarena.tasks.model import Task

__all__ = [
    "EXTERNAL",
    "hosted_app",
    "hosted_site",
    "parse_site_urls",
    "url_fault",
    "why_not_lent",
    "with_external_sites",
]

EXTERNAL = "external"
"""Name of the backend of such sites, and of the catalogue that has only such sites."""

_TIMEOUT = 60.0
_MISSPELLING_SIMILARITY = 0.85
"""Similarity, from 0 to 1, from which on one name counts as a misspelling of the other."""


def parse_site_urls(given: Iterable[str], source: str = "--site-url") -> dict[str, str]:
    """Parse ``shopping=http://host:7770`` and similar; returns addresses by site. Raises `UsageError`, which names the
    ``source``, for invalid ones."""
    urls: dict[str, str] = {}
    for text in given:
        name, equals, url = text.partition("=")
        if not equals or not name:
            raise UsageError(f"{source}: expected SITE=URL, e.g. shopping=http://127.0.0.1:7770, found {text!r}")
        if fault := url_fault(url):
            raise UsageError(f"{source} {name}: expected {fault}, found {url!r}")
        if urls.setdefault(name, url.rstrip("/")) != url.rstrip("/"):
            raise UsageError(f"{source} {name}: expected one address, found {urls[name]} and {url}")
    return urls


def url_fault(url: str) -> str:
    """Returns the form that a site's own address should have; empty when it has it."""
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        is_valid = False
    if not is_valid:
        return "an address that starts with http:// or https://"
    return "an address without user name, query and fragment" if "@" in url or parts.query or parts.fragment else ""


def with_external_sites(catalogue: Catalogue, urls: Mapping[str, str]) -> Catalogue:
    """Returns ``catalogue`` with some sites replaced by ones that run elsewhere.

    They keep the accounts, the login and the API access of the catalogue; their databases are not accessible. Unknown
    names become sites without accounts. An app that serves several sites keeps the others. Raises `UsageError` for a
    name that looks like a misspelling, because its tasks would run on the catalogue's own site.
    """
    if not urls:
        return catalogue
    for name in urls:
        if name not in catalogue.sites and (
            similar := get_close_matches(name, catalogue.sites, n=1, cutoff=_MISSPELLING_SIMILARITY)
        ):
            raise UsageError(
                f"--site-url {name}: expected a site of the catalogue {catalogue.name}, or a name unlike any of them, "
                f"found {name!r} (did you mean {similar[0]!r}?)"
            )
    apps: dict[str, AppManifest] = {}
    for app in catalogue.apps.values():
        kept_sites = tuple(site for site in app.sites if site.name not in urls)
        if kept_sites or not app.sites:
            apps[app.name] = replace(app, sites=kept_sites)
    for name, url in urls.items():
        known = catalogue.sites.get(name)
        app = external_app(name, url, known, catalogue.apps[known.app] if known else None)
        apps[app.name] = app
    return replace(catalogue, apps=apps)


def external_app(name: str, url: str, known: SiteManifest | None, app: AppManifest | None) -> AppManifest:
    """Returns the app of one site that runs elsewhere, with its data from a catalogue, if known."""
    from pytest_webarena.sites.catalogues.manifest import AppManifest, SiteManifest  # options are read without any

    label = f"{name}-external" if app is not None and app.name == name and len(app.sites) > 1 else name
    site = known or SiteManifest(name=name, host="", app=label)
    site = hosted_site(replace(site, app=label, port=0, base=""), [url])
    return AppManifest(
        name=label,
        backend=EXTERNAL,
        sites=(site,),
        users=app.users if app else {},
        login={name: replace(app.login[name], portable=True)} if app and name in app.login else {},
        read_only=app.read_only if app else False,
        reads=app.reads if app else (),
        max_replicas=1,
        spares=1,
        start_timeout=_TIMEOUT,
        digest=hashlib.sha256(f"{EXTERNAL} {url}".encode()).hexdigest()[:16],
    )


def hosted_app(app: AppManifest) -> AppManifest:
    """Returns an app that runs elsewhere with as many replicas as it has instances, all of which are kept ready."""
    instances = min(app.max_replicas or len(app.sites[0].hosted), len(app.sites[0].hosted))
    return replace(app, max_replicas=instances, spares=instances)


def hosted_site(site: SiteManifest, urls: Sequence[str]) -> SiteManifest:
    """Returns ``site`` as one that runs at ``urls``, one for each instance. Browsers see its ``host``, ``NAME.test`` if
    it has none, or its own address with `keep_address`."""
    addresses = tuple(f"{url.rstrip('/')}{'' if urlsplit(url).path.strip('/') else site.root}" for url in urls)
    first = urlsplit(addresses[0])
    if site.keep_address:
        return replace(site, hosted=addresses, host=first.hostname or "", base=addresses[0], https=False)
    host = site.host or f"{site.name.lower().replace('_', '-')}.test"
    return replace(site, hosted=addresses, host=host, root=first.path, https=first.scheme == "https")


def why_not_lent(catalogue: Catalogue, task: Task) -> str:
    """Returns why ``task`` must not run on sites that can't be reset; empty when it may.

    It may run if it changes nothing: if it has ``mutates: false``, or does not set it, has no set-up, and no check
    looks at a change.
    """
    sites = [site for site in task.sites if is_unreset(catalogue, site)]
    if not sites or task.mutates is False:
        return ""
    changes = task.mutates or task.setup or task.category == "content"
    if not changes:
        return ""
    return (
        f"changes {', '.join(sites)}, which can't be reset: the site is external; "
        "--allow-unreset runs such tasks anyway"
    )


def is_unreset(catalogue: Catalogue, site: str) -> bool:
    """Whether ``site`` is not reset after a trial although an agent could change it."""
    manifest = catalogue.sites.get(site)
    if manifest is None:
        return False
    app = catalogue.apps[manifest.app]
    return app.backend == EXTERNAL and not app.read_only and app.reset is None
