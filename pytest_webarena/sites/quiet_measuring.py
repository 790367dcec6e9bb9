"""Measures whether apps with the key ``quiet`` have no queued work after their start, as trials require."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_webarena.errors import WebArenaError
from pytest_webarena.sites.catalogues.manifest import AppManifest, Catalogue
from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
from pytest_webarena.sites.client.lease import BrokerClient
from pytest_webarena.sites.doctor import Diagnosis

__all__ = ["examine_quiet"]


def examine_quiet(
    catalogue: Catalogue, apps: Sequence[AppManifest], site_urls: Mapping[str, str]
) -> Iterator[Diagnosis]:
    """Start those of ``apps`` that have the key, or depend on one that has it; yields one diagnosis per app with it."""
    seen: set[str] = set()
    for app in apps:
        sites = [site.name for site in app.sites]
        waiting = [each for each in catalogue.apps_of(sites) if each.quiet is not None and each.name not in seen]
        if not sites or not waiting:
            continue
        seen |= {each.name for each in waiting}
        config = BrokerConfig(catalogue=catalogue.option, site_urls=site_urls, max_replicas=1)
        try:
            with (
                BrokerLauncher(config) as launcher,
                BrokerClient(launcher.address, name="webarena sites") as client,
                client.lease(sites, holder="webarena sites doctor", timeout=app.start_timeout) as lease,
            ):
                found = lease.wait_until_quiet(strict=True)
        except WebArenaError as error:
            text = f"whether it is quiet is unknown: {error}".splitlines()[0]
            yield Diagnosis(subject=app.name, state="failed", text=text, app=app.name)
            continue
        for each in found:
            text = f"not quiet without an agent: {each}" if each.busy else f"quiet {each.seconds:.1f} s after its start"
            yield Diagnosis(subject=each.app, state="failed" if each.busy else "ok", text=text, app=each.app)
