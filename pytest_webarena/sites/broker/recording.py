"""Keeps what the sites of a run answered, as an archive: the traffic of all leases, the harness's own included."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from pytest_webarena.archives.bodies import codings_of, decoded
from pytest_webarena.archives.writing import WarcFile
from pytest_webarena.gateway.heads import header_pairs
from pytest_webarena.gateway.log_entry import SAFE_METHODS, Entry
from pytest_webarena.live import bot_walls
from pytest_webarena.sites.catalogues.live import LIVE
from pytest_webarena.sites.catalogues.manifest import Catalogue

__all__ = ["Recording"]

_log = logging.getLogger(__name__)


class Recording:
    """A new archive at ``path``, of the sites of ``catalogue``. `UsageError` when it can't be written."""

    def __init__(self, path: Path, catalogue: Catalogue) -> None:
        self._file = WarcFile(
            path,
            sites={
                name: {"url": site.url, "start": site.start, "user": site.default_user}
                for name, site in catalogue.sites.items()
            },
        )
        apps = catalogue.apps.values()
        self._abroad = any(app.backend == LIVE for app in apps)
        self._own = frozenset(site.host for app in apps if app.backend != LIVE for site in app.sites)
        self.problem = ""
        """Why not everything could be kept; empty while it could."""

    def keep(self, entry: Entry) -> None:
        """An exchange that is over. Only whole answers of sites are kept, no switches to other protocols."""
        # What its body alone kept back says nothing of others that are sent there.
        if entry.intercepted and not entry.by_body and not self.problem and (method := _written(entry)):
            self._write(lambda: self._file.add_kept_back(method=method, url=entry.url, time=entry.time))
        if entry.own or entry.refused or not entry.whole or entry.status in (None, 101, 206, 304) or self.problem:
            return
        if entry.obstacle:  # what turned a visitor away would turn away whoever visits the archive
            return
        sent = bytes(entry.body.data) if entry.body is not None else b""
        got = bytes(entry.reply.data) if entry.reply is not None else b""
        if len(sent) < entry.request_bytes or len(got) < entry.response_bytes or entry.method in ("CONNECT", "HEAD"):
            return
        abroad = self._abroad and urlsplit(entry.url).hostname not in self._own
        if abroad and (why := _wall(entry.response_head, got)):
            _log.info("%s is not kept: it is a wall (%s)", entry.url, why)
            return
        self._write(
            lambda: self._file.add(
                method=entry.method, url=entry.url, asked=entry.request_head, sent=sent, answered=entry.response_head,
                got=got, time=entry.time,
            )
        )  # fmt: skip

    def _write(self, add: Callable[[], object]) -> None:
        try:
            add()
        except OSError as error:
            self.problem = f"{self._file.path}: expected to write what sites answered, found: {error.strerror}"
            _log.error("%s", self.problem)

    def close(self) -> None:
        """No more."""
        self._file.close()


def _written(entry: Entry) -> str:
    """The method of a request that may write; empty for a GET in disguise: others at its address may only read."""
    if any(
        name.lower() == "upgrade" and value.lower() == "websocket" for name, value in header_pairs(entry.request_head)
    ):
        return "WEBSOCKET"
    return "" if entry.method in SAFE_METHODS else entry.method


def _wall(head: str, got: bytes) -> str:
    """The words by which a page that was answered shows itself to be a wall and nothing else; empty if it is none."""
    fields = header_pairs(head)
    kind = next((value for name, value in fields if name.lower() == "content-type"), "")
    if not kind.lower().startswith("text/html"):
        return ""
    try:
        return bot_walls.wall_of_page(decoded(got, codings_of(fields)).decode("utf-8", "replace"))
    except (ValueError, EOFError):
        return ""
