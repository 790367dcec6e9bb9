"""Part of ``webarena sites doctor``: which other hosts the pages of sites need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_webarena.errors import WebArenaError
from pytest_webarena.sites.catalogues.live import LIVE

if TYPE_CHECKING:
    from pytest_webarena.sites.catalogues.manifest import AppManifest, Catalogue
    from pytest_webarena.sites.doctor import Diagnosis

__all__ = ["examine_other_hosts"]


def examine_other_hosts(
    catalogue: Catalogue, apps: Sequence[AppManifest], site_urls: Mapping[str, str], *, executable: str | None = None
) -> Iterator[Diagnosis]:
    """Start each of ``apps`` and yield what its pages need of hosts that no key names; nothing for complete pages."""
    from pytest_webarena.browser.config import EngineConfig
    from pytest_webarena.browser.engine import BrowserEngine
    from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
    from pytest_webarena.sites.client.lease import BrokerClient
    from pytest_webarena.sites.doctor import Diagnosis
    from pytest_webarena.trials.host_visits import examine_hosts

    config = BrokerConfig(catalogue=catalogue.option, site_urls=site_urls, max_replicas=1)
    with BrokerLauncher(config) as launcher, BrokerClient(launcher.address, name="webarena sites") as client:
        for app in apps:
            if not app.sites or app.backend == LIVE:
                continue
            names = [site.name for site in app.sites]
            try:
                with client.lease(names, holder="webarena sites doctor", timeout=app.start_timeout) as lease:
                    trust = lease.trust.spki if lease.trust is not None else ""
                    with BrowserEngine(EngineConfig(executable=executable, trust=trust)) as engine:
                        yield from examine_hosts(engine, lease)
            except WebArenaError as error:
                text = f"which other hosts its pages need is unknown: {error}".splitlines()[0]
                yield Diagnosis(subject=app.name, state="note", text=text)
