"""Which leases need a browser that can trust the run's certificate authority."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_webarena.errors import BrowserError
from pytest_webarena.sites.catalogues.manifest import AppManifest, SiteManifest

__all__ = ["is_ours", "require_trust"]


def is_ours(site: SiteManifest) -> bool:
    """Whether it is an https site with a certificate of the run's authority."""
    return site.url.startswith("https:") and not (site.hosted and site.base)


def require_trust(sites: Sequence[SiteManifest], apps: Iterable[AppManifest]) -> None:
    """Raise `BrowserError` if a browser that can't trust the run's authority could not visit ``sites`` of ``apps``: the
    gateway would have to show its own certificate, or to read or change requests by https."""
    if names := [site.name for site in sites if is_ours(site)]:
        raise BrowserError(
            f"{', '.join(names)}: expected Chromium, for the site comes by https with a certificate of this run "
            "alone, found a browser that can't trust it for one run; run without --browser, or with "
            "--browser=chromium"
        )
    if names := [site.name for site in sites if site.http_credentials and site.url.startswith("https:")]:
        raise BrowserError(
            f"{', '.join(names)}: expected Chromium, for only it lets the gateway add 'http_credentials' to "
            "requests by https; run without --browser, or with --browser=chromium"
        )
    for app in apps:
        if app.certificate_authority and (kept := [site.name for site in sites if site.base and site.app == app.name]):
            raise BrowserError(
                f"{kept[0]}: expected Chromium, for only it can trust the 'certificate_authority' of {app.name} for "
                "one run; run without --browser, or with --browser=chromium"
            )
        if named := [entry for entry in (*app.loads, *app.sign_in_hosts) if not entry.startswith("http:")]:
            raise BrowserError(
                f"{app.name}: expected Chromium, for only it lets the gateway read requests by https to {named[0]}, "
                "found another browser; run without --browser, or with --browser=chromium"
            )
