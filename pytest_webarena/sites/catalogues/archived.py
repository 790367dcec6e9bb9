"""Archived sites in catalogues: the options of their app, and the catalogue made from an archive."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pytest_webarena.archives.files import identity, is_archive
from pytest_webarena.errors import UsageError
from pytest_webarena.sites.catalogues.manifest import Account, AppManifest, Catalogue, SiteManifest

if TYPE_CHECKING:
    from pytest_webarena.tasks.model import Task

__all__ = ["ARCHIVE", "account_mismatch", "archive_of", "archived_app", "archived_catalogue", "files_of", "unneeded_of"]

ARCHIVE = "archive"
"""Name of the backend of archived sites, and the prefix of ``--sites=archive:FILE``."""

_OPTIONS = {"files", "at", "unneeded"}
_HOST = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")


def archive_of(name: str) -> Path | None:
    """Returns the file that ``--sites`` names, if it is an archive: ``archive:shop.wacz``, ``shop.warc.gz``."""
    head, colon, rest = name.partition(":")
    if colon and head == ARCHIVE:
        return Path(rest).expanduser()
    return Path(name) if is_archive(name) else None


def files_of(app: AppManifest) -> tuple[list[Path], float | None]:
    """Returns an app's files, and the time to which captures should be closest. Raises `UsageError` for invalid
    options."""

    def fault(expected: str, found: object) -> UsageError:
        return UsageError(f"the app {app.name!r}, whose backend is 'archive': expected {expected}, found {found!r}")

    options = app.options
    if not isinstance(options, Mapping) or not options.get("files"):
        raise fault("'options: {files: FILE.warc.gz}'", options)
    if unknown := set(options) - _OPTIONS:
        raise fault("no options but 'files', 'at' and 'unneeded'", sorted(unknown)[0])
    files = [options["files"]] if isinstance(options["files"], str) else options["files"]
    if not isinstance(files, list | tuple) or not all(isinstance(file, str) and is_archive(file) for file in files):
        raise fault("files that end with .warc, .warc.gz or .wacz", options["files"])
    return [(app.folder / Path(file).expanduser()).absolute() for file in files], _moment(options.get("at"), fault)


def _moment(at: Any, fault: Any) -> float | None:
    """Returns the option ``at`` as a Unix time; None without it."""
    if at is None:
        return None
    if isinstance(at, datetime | date):  # YAML parses dates itself
        at = at.isoformat()
    try:
        moment = datetime.fromisoformat(str(at).replace("Z", "+00:00"))
    except ValueError:
        raise fault("a moment such as 2026-01-31 or 2026-01-31T12:00:00Z in 'at'", at) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def unneeded_of(app: AppManifest) -> tuple[str, ...]:
    """Returns hosts, with all subdomains, whose missing captures don't affect a verdict. Raises `UsageError` for
    invalid names."""
    named = app.options.get("unneeded", [])
    named = [named] if isinstance(named, str) else named
    if not isinstance(named, list | tuple) or not all(
        isinstance(each, str) and _HOST.fullmatch(each) for each in named
    ):
        raise UsageError(
            f"the app {app.name!r}, whose backend is 'archive': expected names of hosts such as ads.example.com in the "
            f"option 'unneeded', found {named!r}"
        )
    return tuple(named)


def account_mismatch(catalogue: Catalogue, task: Task) -> str:
    """Returns why an archive lacks what the user of ``task`` would see, because another account was archived; empty if
    none does."""
    for name, user in task.user.items():
        site = catalogue.sites.get(name)
        app = catalogue.apps[site.app] if site is not None else None
        if user and app is not None and app.backend == ARCHIVE and user not in app.users:
            users = ", ".join(app.users) or "a signed-out visitor"
            advice = "archive each account's tasks separately"
            return f"is for {user!r} on {name}, which was archived as seen by {users}: {advice}"
    return ""


def archived_app(app: AppManifest) -> AppManifest:
    """Returns an app of this backend as it runs: read-only, with a digest that identifies its files."""
    files, _ = files_of(app)
    unneeded_of(app)
    return replace(app, read_only=True, digest=f"{app.digest}-{identity(files)}"[:33])


def archived_catalogue(path: Path) -> Catalogue:
    """Returns a catalogue of an archive's sites: those that a recorded archive lists; else one for each host with a
    page, named after it with hyphens for dots. Raises `UsageError` when the archive can't be read, or has no page."""
    # Only --sites=archive:FILE reads archives here.
    from pytest_webarena.archives.reading import info_of
    from pytest_webarena.archives.writing import SITES

    path = path.absolute()
    sites_json = info_of(path).get(SITES)
    sites = _listed(path, sites_json) if sites_json else _found(path)
    if not sites:
        raise UsageError(f"{path}: expected an archive of web pages, found none in it")
    # The digest of a recorded archive does not depend on its path.
    digest = identity([path])
    app = AppManifest(
        name=ARCHIVE,
        backend=ARCHIVE,
        sites=tuple(sites),
        users={
            site.default_user: Account(username=site.default_user, password="") for site in sites if site.default_user
        },
        read_only=True,
        max_replicas=1,
        spares=0,
        folder=path.parent,
        options={"files": [path.name]},
        digest=digest,
    )
    return Catalogue(name=ARCHIVE, path=path, apps={ARCHIVE: app})


def _listed(path: Path, sites_json: str) -> list[SiteManifest]:
    try:
        known = {str(name): dict(site) for name, site in json.loads(sites_json).items()}
        return [
            SiteManifest(
                name=name,
                app=ARCHIVE,
                host=urlsplit(site["url"]).hostname or "",
                base=site["url"],
                root=urlsplit(site["url"]).path,
                start=site.get("start") or "/",
                default_user=site.get("user", ""),
            )
            for name, site in known.items()
        ]
    except (ValueError, TypeError, KeyError, AttributeError):
        raise UsageError(
            f"{path}: expected its sites as JSON in the first record, found {sites_json[:200]!r}"
        ) from None


def _found(path: Path) -> list[SiteManifest]:
    from pytest_webarena.archives.archive import Archive  # as in `archived_catalogue`

    first: dict[str, SiteManifest] = {}
    archive = Archive([path])
    archive.close()  # only its index is needed
    for capture in sorted(archive.captures(), key=lambda each: (each.time, each.offset)):
        if capture.method == "GET" and capture.status == 200 and capture.mime in ("text/html", "application/xhtml+xml"):
            parts = urlsplit(capture.url)
            host = parts.hostname or ""
            if host not in first:
                name = _NOT_IN_NAMES.sub("-", host).strip("-") or "site"
                start = capture.url.partition(parts.netloc)[2] or "/"
                base = f"{parts.scheme}://{parts.netloc}"
                first[host] = SiteManifest(name=name, app=ARCHIVE, host=host, base=base, start=start)
    return list({site.name: site for site in first.values()}.values())
