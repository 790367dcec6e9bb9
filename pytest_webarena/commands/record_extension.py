"""``webarena tasks record --extension``: which sites a person's own browser can be recorded on, and at what address."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pytest_webarena.errors import UsageError
from pytest_webarena.own_addresses import OwnAddresses
from pytest_webarena.recorder.extension.serving import ExtensionOptions
from pytest_webarena.sites.catalogues.live import LIVE, NOWHERE

if TYPE_CHECKING:
    from pytest_webarena.sites.catalogues.manifest import Catalogue, SiteManifest
    from pytest_webarena.tasks import Task

__all__ = ["extension_options", "site_of_address"]


def extension_options(folder: Path, task: Task, catalogue: Catalogue) -> ExtensionOptions:
    """Return what the extension in ``folder`` is written for. `UsageError` for sites that only the harness's browser
    can visit, and for a task without a first page."""
    for name in task.sites:
        site = catalogue.site(name)
        backend = catalogue.apps[site.app].backend
        if backend != LIVE and not site.hosted:
            raise UsageError(
                f"--extension: expected sites at addresses of their own, found {name}, which runs only here "
                f"(backend {backend}); use --serve without --extension"
            )
    start = _start(task, catalogue)
    origins = [
        *(origin for name in task.sites for origin in _origins(catalogue.site(name), catalogue)),
        *(_domain(each.path) for each in task.start if "://" in each.path),
    ]
    return ExtensionOptions(
        folder=folder,
        sites={name: catalogue.site(name).url for name in task.sites},
        start=start,
        origins=origins,
        named=OwnAddresses(catalogue.own_addresses).named,
    )


def site_of_address(address: str, catalogue: Catalogue) -> str:
    """Return the site that an address belongs to, or the site that stands for any; empty if there is none.

    Sites at longer addresses come first, because one site may be below another.
    """
    own = [(url, name) for name, site in catalogue.sites.items() for url in (site.url, *site.hosted)]
    for url, name in sorted(own, key=lambda each: -len(each[0])):
        if f"{address}/".startswith((f"{url}/", f"{url}?", f"{url}#")):
            return name
    return next((name for name, site in catalogue.sites.items() if site.url == NOWHERE), "")


def _start(task: Task, catalogue: Catalogue) -> str:
    """Return the own address of the first page."""
    first = task.start[0] if task.start else None
    if first is not None and "://" in first.path:
        return first.path
    site = catalogue.site(first.site if first is not None else task.sites[0])
    if site.url == NOWHERE:
        raise UsageError(f"--extension: expected the address of the first page, found only {site.name}")
    base = site.hosted[0] if site.hosted else site.url
    parts = urlsplit(base)
    path = first.path if first is not None and first.path else ""
    return f"{base}{path}" if path else f"{parts.scheme}://{parts.netloc}{site.start}"


def _origins(site: SiteManifest, catalogue: Catalogue) -> Sequence[str]:
    if site.hosted:
        return site.hosted
    return [_domain(site.url)] if site.url != NOWHERE and _is_live(site.name, catalogue) else []


def _is_live(name: str, catalogue: Catalogue) -> bool:
    return catalogue.apps[catalogue.site(name).app].backend == LIVE


def _domain(address: str) -> str:
    """Return the domain on which a trial's tabs may go, as for trials on live sites."""
    from pytest_webarena.live.domains import registrable  # late: an extra installs its list

    host = urlsplit(address).hostname or ""
    domain = registrable(host)
    return f".{domain}" if domain and not domain.replace(".", "").isdigit() and ":" not in domain else address
