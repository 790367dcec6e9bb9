"""Sites that run elsewhere: their addresses on the command line, and which tasks must not use them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pytest_webarena.errors import UsageError
from pytest_webarena.own_addresses import OwnAddresses, origin_of
from pytest_webarena.sites.catalogues.running import HostedReset, HttpCall
from pytest_webarena.sites.catalogues.site_addresses import FULL_RESET, addresses_in

if TYPE_CHECKING:
    from pytest_webarena.sites.catalogues.manifest import AppManifest, Catalogue, SiteManifest
    from pytest_webarena.tasks.model import Task

__all__ = [
    "EXTERNAL",
    "hosted_app",
    "hosted_site",
    "untranslated_address",
    "why_not_lent",
    "with_distinct_addresses",
    "with_external_sites",
]

EXTERNAL = "external"
"""Name of the backend of such sites, and of the catalogue that has only such sites."""

_ADDRESS = re.compile(r"\{(?:url|host)(?::[A-Za-z0-9_-]+)?\}")
"""Placeholders of a reset that name the instance."""
_TIMEOUT = 60.0
_FULL_RESET_TIMEOUT = 900.0
"""Seconds for BrowserGym's reset of all sites, which takes five minutes or more."""
_TOGETHER = "hosted"
"""Name of the app of all sites that are reset together."""
_MISSPELLING_SIMILARITY = 0.85
"""Similarity, from 0 to 1, from which on one name counts as a misspelling of the other."""


def with_external_sites(catalogue: Catalogue, urls: Mapping[str, str]) -> Catalogue:
    """Returns ``catalogue`` with some sites replaced by ones that run elsewhere.

    They keep the accounts, the login and the API access of the catalogue; their databases are not accessible. Unknown
    names become sites without accounts. An app that serves several sites keeps the others. Raises `UsageError` for a
    name that looks like a misspelling, because its tasks would run on the catalogue's own site.
    """
    if not urls:
        return catalogue
    given, urls = urls, {name: url for name, url in urls.items() if name != FULL_RESET}
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
        if app.backend == EXTERNAL and app.sites and not kept_sites:
            apps[app.name] = _moved(app, urls)
        elif kept_sites or not app.sites:
            apps[app.name] = replace(app, sites=kept_sites)
    placed = {site.name for app in apps.values() for site in app.sites}
    for name, url in urls.items():
        if name in placed:
            continue
        known = catalogue.sites.get(name)
        app = external_app(name, url, known, catalogue.apps[known.app] if known else None)
        apps[app.name] = app
    if (server := given.get(FULL_RESET, "")) and (
        together := [app for app in apps.values() if app.backend == EXTERNAL and not app.read_only]
    ):
        apps = {name: app for name, app in apps.items() if app not in together}
        joined = _reset_together(together, server)
        apps[joined.name] = joined
    return replace(catalogue, apps=apps)


def _moved(app: AppManifest, urls: Mapping[str, str]) -> AppManifest:
    """Returns an app that runs elsewhere, at other addresses: a preview of another branch, for example.

    Raises `UsageError` if the numbers of instances differ, or if its reset would reach the old address.
    """
    sites = tuple(hosted_site(replace(site, base=""), addresses_in(urls[site.name])) for site in app.sites)
    given = ", ".join(f"{site.name}={urls[site.name]}" for site in sites)
    if len({len(site.hosted) for site in sites}) > 1:
        raise UsageError(f"--site-url {given}: expected equally many addresses of each site of {app.name}")
    if fixed := fixed_reset(app.reset):
        raise UsageError(
            f"--site-url {given}: expected {{url}} or {{host}} in the 'reset' of {app.name}, found {fixed!r}, which "
            "would reset another server than the one given"
        )
    digest = hashlib.sha256(f"{EXTERNAL} {app.digest} {given}".encode()).hexdigest()[:16]
    return hosted_app(replace(app, sites=sites, max_replicas=None, digest=digest))


def fixed_reset(reset: HostedReset | None) -> str:
    """Returns the first request or program of a reset that does not depend on the instance's address; empty if all
    do."""
    if reset is None:
        return ""
    calls = [each.url for each in (reset.http, reset.ready, reset.proof) if each is not None]
    texts = [*calls, *([" ".join(reset.run)] if reset.run else [])]
    return next((text for text in texts if not _ADDRESS.search(text)), "")


def external_app(name: str, url: str, known: SiteManifest | None, app: AppManifest | None) -> AppManifest:
    """Returns the app of one site that runs elsewhere, with its data from a catalogue, if known."""
    from pytest_webarena.sites.catalogues.manifest import AppManifest, SiteManifest  # options are read without any

    label = f"{name}-external" if app is not None and app.name == name and len(app.sites) > 1 else name
    site = known or SiteManifest(name=name, host="", app=label)
    site = hosted_site(replace(site, app=label, port=0, base=""), addresses_in(url))
    hosted = AppManifest(
        name=label,
        backend=EXTERNAL,
        sites=(site,),
        users=app.users if app else {},
        login={name: replace(app.login[name], portable=True)} if app and name in app.login else {},
        read_only=app.read_only if app else False,
        reads=app.reads if app else (),
        start_timeout=_TIMEOUT,
        digest=hashlib.sha256(f"{EXTERNAL} {url}".encode()).hexdigest()[:16],
    )
    return hosted_app(hosted)


def _reset_together(apps: Sequence[AppManifest], server: str) -> AppManifest:
    """Returns one app with the sites of all ``apps``, because BrowserGym's ``server`` resets them at once."""
    users = {name: account for app in apps for name, account in app.users.items()}
    instances = {len(site.hosted) for app in apps for site in app.sites}
    if instances != {1}:
        raise UsageError(f"{FULL_RESET}={server}: expected one address of each site, found several instances")
    digest = hashlib.sha256(" ".join(sorted(app.digest for app in apps)).encode()).hexdigest()[:16]
    reset = HostedReset(
        http=HttpCall(url=f"{server}/reset", method="GET", status=(200, 418)),  # 418: one is running
        ready=HttpCall(url=f"{server}/status", method="GET", includes="Ready for duty!"),
    )
    return hosted_app(
        replace(
            apps[0],
            name=_TOGETHER,
            sites=tuple(replace(site, app=_TOGETHER) for app in apps for site in app.sites),
            users=users,
            login={site: recipe for app in apps for site, recipe in app.login.items()},
            start_timeout=_FULL_RESET_TIMEOUT,
            reset=reset,
            digest=digest,
        )
    )


def hosted_app(app: AppManifest) -> AppManifest:
    """Returns an app that runs elsewhere with as many replicas as it has instances, all of which are kept ready."""
    instances = min(app.max_replicas or len(app.sites[0].hosted), len(app.sites[0].hosted))
    return replace(app, max_replicas=instances, spares=instances)


def hosted_site(site: SiteManifest, urls: Sequence[str]) -> SiteManifest:
    """Returns ``site`` as one that runs at ``urls``, one for each instance. Browsers see its ``host``, ``NAME.test`` if
    it has none, or its own address with `keep_address`."""
    addresses = tuple(f"{url.rstrip('/')}{'' if urlsplit(url).path.strip('/') else site.root}" for url in urls)
    if site.keep_address and len(addresses) > 1:
        raise UsageError(
            f"site {site.name}: expected one address, found {len(addresses)}: with 'keep_address' browsers visit the "
            "site's own address, which is another one for each instance; name one instance, or set "
            "'keep_address: false' in the catalogue"
        )
    first = urlsplit(addresses[0])
    if other := next((each for each in addresses if urlsplit(each).path != first.path), ""):
        raise UsageError(f"site {site.name}: expected instances with the path {first.path or '/'}, found {other}")
    start = site.start if site.start not in (site.root, "/") else first.path or "/"
    site = replace(site, hosted=addresses, start=start)
    if site.keep_address:
        return replace(site, host=first.hostname or "", base=addresses[0], https=False)
    host = site.host or f"{site.name.lower().replace('_', '-')}.test"
    return replace(site, host=host, root=first.path, https=first.scheme == "https")


def with_distinct_addresses(catalogue: Catalogue) -> Catalogue:
    """Returns ``catalogue``. Raises `UsageError` if an address is of two sites: which one it names is unknown."""
    known: dict[tuple[str, str], str] = {}
    for site in catalogue.sites.values():
        for own in site.hosted:
            key = origin_of(own), urlsplit(own).path
            if known.setdefault(key, site.name) != site.name:
                raise UsageError(f"sites {known[key]} and {site.name}: expected different addresses, found {own} twice")
    return catalogue


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
        f"changes {', '.join(sites)}, which can't be reset: add 'reset' to {_apps_of(catalogue, sites)} in the "
        "catalogue; --allow-unreset runs such tasks anyway"
    )


def _apps_of(catalogue: Catalogue, sites: Sequence[str]) -> str:
    names = dict.fromkeys(catalogue.sites[site].app for site in sites)
    return f"the app{'s' * (len(names) > 1)} {', '.join(names)}"


def untranslated_address(catalogue: Catalogue, task: Task) -> str:
    """Returns why ``task`` can't be judged on hosted sites, because it has an own address in a form that is not
    translated to the site's name; empty when it can be."""
    table = OwnAddresses(catalogue.own_addresses)
    found = table.untranslated((task.start, task.every_check, task.setup, task.solution or ()))
    if not found:
        return ""
    own_host = found.partition(":")[0].casefold()
    name = next((own for own in table.names if own_host in own.casefold()), "")
    site = next((site.name for site in catalogue.sites.values() if name in site.hosted), "")
    return (
        f"{task.location.path}:{task.location.line}: expected {site}:/path or an address with http://, found {found!r} "
        f"of the hosted site {site}, which can't be translated to the site's name; in selectors and scripts, match "
        "the path alone"
    )


def is_unreset(catalogue: Catalogue, site: str) -> bool:
    """Whether ``site`` is not reset after a trial although an agent could change it."""
    manifest = catalogue.sites.get(site)
    if manifest is None:
        return False
    app = catalogue.apps[manifest.app]
    return app.backend == EXTERNAL and not app.read_only and app.reset is None
