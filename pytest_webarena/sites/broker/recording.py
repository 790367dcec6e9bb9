"""Records the responses of a run's sites as an archive: the traffic of all leases, including the harness's own."""

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
    """A new archive at ``path`` of the sites of ``catalogue``. Raises `UsageError` when it can't be written."""

    def __init__(self, path: Path, catalogue: Catalogue) -> None:
        self._file = WarcFile(
            path,
            sites={
                name: {"url": site.url, "start": site.start, "user": site.default_user}
                for name, site in catalogue.sites.items()
            },
        )
        apps = catalogue.apps.values()
        self._has_live = any(app.backend == LIVE for app in apps)
        self._own = frozenset(site.host for app in apps if app.backend != LIVE for site in app.sites)
        self.problem = ""
        """Why recording is incomplete; empty while it is complete."""

    def keep(self, entry: Entry) -> None:
        """Record a completed exchange. Only complete responses of sites are kept, no protocol upgrades."""
        # A request blocked only for its body does not imply that others to the address are blocked.
        if entry.intercepted and not entry.by_body and not self.problem and (method := _written(entry)):
            self._write(lambda: self._file.add_withheld(method=method, url=entry.url, time=entry.time))
        if entry.own or entry.refused or not entry.whole or entry.status in (None, 101, 206, 304) or self.problem:
            return
        if entry.obstacle:  # a page that blocked a visitor would block every visitor of the archive
            return
        sent = bytes(entry.body.data) if entry.body is not None else b""
        got = bytes(entry.reply.data) if entry.reply is not None else b""
        if len(sent) < entry.request_bytes or len(got) < entry.response_bytes or entry.method in ("CONNECT", "HEAD"):
            return
        is_live = self._has_live and urlsplit(entry.url).hostname not in self._own
        if is_live and (why := _block_page_text(entry.response_head, got)):
            _log.info("%s is not kept: it is a wall (%s)", entry.url, why)
            return
        self._write(
            lambda: self._file.add(
                method=entry.method, url=entry.url, request_head=entry.request_head, request_body=sent,
                response_head=entry.response_head,
                response_body=got, time=entry.time,
            )
        )  # fmt: skip

    def _write(self, add: Callable[[], object]) -> None:
        try:
            add()
        except OSError as error:
            self.problem = f"{self._file.path}: expected to write what sites answered, found: {error.strerror}"
            _log.error("%s", self.problem)

    def close(self) -> None:
        """Close the archive."""
        self._file.close()


def _written(entry: Entry) -> str:
    """Returns the method of a request that may write; empty for an overridden GET, because others at its address may
    only read."""
    if any(
        name.lower() == "upgrade" and value.lower() == "websocket" for name, value in header_pairs(entry.request_head)
    ):
        return "WEBSOCKET"
    return "" if entry.method in SAFE_METHODS else entry.method


def _block_page_text(head: str, got: bytes) -> str:
    """Returns the text by which a page is recognised as a bot wall; empty if it is none."""
    fields = header_pairs(head)
    kind = next((value for name, value in fields if name.lower() == "content-type"), "")
    if not kind.lower().startswith("text/html"):
        return ""
    try:
        return bot_walls.wall_of_page(decoded(got, codings_of(fields)).decode("utf-8", "replace"))
    except (ValueError, EOFError):
        return ""
