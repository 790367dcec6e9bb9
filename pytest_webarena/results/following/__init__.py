"""Server that shows runs in the browser of this machine while they go on: ``webarena view --serve``.

It answers only GET, only on loopback, and only requests with its own host name, so that no foreign page can read it or
reach it by DNS rebinding. Pages show the current content of the run's folder; nothing is written there.
"""

from __future__ import annotations

import errno
import json
import mimetypes
import shutil
import tempfile
import threading
from collections.abc import Sequence
from http import HTTPStatus
from http.server import ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from pytest_webarena.errors import UsageError
from pytest_webarena.results.following.progress import Follower
from pytest_webarena.results.listing import RUNS, list_runs
from pytest_webarena.results.page_handler import PageHandler
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.results.self_contained_page import served
from pytest_webarena.results.viewer import PICTURE_BUDGET, write_view

__all__ = ["RunsServer", "default_folder"]

_PICTURES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".gif"})
_POLICY = "frame-ancestors 'none'"
"""Policy in addition to the one in a page's own head."""


class _NotThere(Exception):
    """Nothing exists at the requested address."""


class RunsServer(ThreadingHTTPServer):
    """Serve ``folder``'s runs and the ``named`` ones at `address` until `shutdown`; a context manager.

    ``folder`` need not exist yet. Raises `UsageError` when the port is taken or not available.
    """

    daemon_threads = True

    def __init__(self, folder: Path, *, port: int = 0, named: Sequence[Path] = ()) -> None:
        self._folder = folder
        self._named = [path.absolute() for path in named]
        self._followers: dict[Path, tuple[Follower, threading.Lock]] = {}
        self._lock = threading.Lock()
        self._views = Path(tempfile.mkdtemp(prefix="webarena-view-"))
        self._made: dict[Path, tuple[int, int]] = {}
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except (OSError, OverflowError) as error:
            shutil.rmtree(self._views, ignore_errors=True)
            taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
            raise UsageError(
                f"--port: expected a free port of 127.0.0.1 from 1 to 65535, found {port}, which "
                f"{'is taken' if taken else f'can not be had ({error})'}; leave it out and any free one is taken"
            ) from None

    @property
    def address(self) -> str:
        """Address of the list of runs; a run is at ``runs/<its folder's name>/`` below it."""
        return f"http://127.0.0.1:{self.server_port}/"

    def server_close(self) -> None:
        """Stop listening, and remove the generated pages."""
        super().server_close()
        shutil.rmtree(self._views, ignore_errors=True)

    def runs(self) -> dict[str, Path]:
        """Return the current runs by their names in addresses: the named ones first, then newest first."""
        found = {path.name: path for path in self._named}
        for run in list_runs(self._folder) if self._folder.is_dir() else ():
            found.setdefault(run.path.name, run.path)
        return found

    def listing(self) -> dict[str, Any]:
        """Return the data of the first page."""
        listed = {run.path: run for run in (list_runs(self._folder) if self._folder.is_dir() else ())}
        rows = []
        for name, path in self.runs().items():
            try:
                progress = self.progress(path)
            except UsageError as error:
                rows.append({"name": name, "problem": str(error)})
                continue
            rows.append({each: progress[each] for each in ("state", "started", "planned", "ended", "agents")})
            rows[-1] |= {"name": name, "when": listed[path].when if path in listed else ""}
        return {"folder": str(self._folder), "runs": rows}

    def progress(self, run: Path) -> dict[str, Any]:
        """Return the progress of a run."""
        follower, lock = self._follower(run)
        with lock:
            return follower.look()

    def view(self, run: Path) -> Path:
        """Return the file of the run's page with its filmstrips, regenerated when there are new records."""
        follower, lock = self._follower(run)
        with lock:
            follower.look()
            page = self._views / f"{len(str(run))}-{run.name}.html"
            if self._made.get(run) != follower.state or not page.exists():
                write_view(RunDir(run), page, picture_budget=PICTURE_BUDGET, seen_from=run)
                self._made[run] = follower.state
        return page

    def _follower(self, run: Path) -> tuple[Follower, threading.Lock]:
        with self._lock:
            return self._followers.setdefault(run, (Follower(run), threading.Lock()))


class _Handler(PageHandler):
    server: RunsServer

    def do_GET(self) -> None:
        """Answer with a page, with data or with a picture."""
        if self.headers.get("Host", "").rpartition(":")[0] not in ("127.0.0.1", "localhost"):
            self._send(HTTPStatus.FORBIDDEN, "text/plain", b"This server answers as 127.0.0.1 and localhost alone.\n")
            return
        try:
            self._answer([unquote(part) for part in urlsplit(self.path).path.split("/")[1:]])
        except (_NotThere, FileNotFoundError, ValueError):  # ValueError: not a valid path
            self._send(HTTPStatus.NOT_FOUND, "text/plain", b"There is no such run, or nothing of that name in it.\n")
        except UsageError as error:
            self._send(HTTPStatus.NOT_FOUND, "text/plain", f"{error}\n".encode())
        except OSError as error:
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, "text/plain", f"It can't be read: {error.strerror}\n".encode())

    def _answer(self, parts: list[str]) -> None:
        match parts:
            case [""]:
                self._page()
            case ["runs.json"]:
                self._json(self.server.listing())
            case ["runs", name]:
                self._run(name)
                self._redirect(f"/runs/{quote(name, safe='')}/")
            case ["runs", name, ""]:
                self._run(name)
                self._page()
            case ["runs", name, "progress.json"]:
                self._json(self.server.progress(self._run(name)))
            case ["runs", name, "view.html"]:
                page = self.server.view(self._run(name))
                self._send(HTTPStatus.OK, "text/html; charset=utf-8", page.read_bytes())
            case ["runs", name, "trials", *rest]:
                run = self._run(name)
                picture = run.joinpath("trials", *rest).resolve()
                if not picture.is_relative_to(run.resolve()) or picture.suffix not in _PICTURES:
                    raise _NotThere
                self._send(HTTPStatus.OK, mimetypes.guess_type(picture)[0] or "image/png", picture.read_bytes())
            case _:
                raise _NotThere

    def _run(self, name: str) -> Path:
        try:
            return self.server.runs()[name]
        except KeyError:
            raise _NotThere from None

    def _page(self) -> None:
        page = served(
            "webarena runs", files(__package__), scripts=["follow.js"], styles=["follow.css"], images="'self' data:"
        )
        self._send(HTTPStatus.OK, "text/html; charset=utf-8", page.encode())

    def _json(self, data: dict[str, Any]) -> None:
        self._send(HTTPStatus.OK, "application/json", json.dumps(data, default=str).encode())

    def _redirect(self, address: str) -> None:
        self.send_response(HTTPStatus.SEE_OTHER)
        self.send_header("Location", address)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _send(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Content-Security-Policy", _POLICY)
        self.end_headers()
        self.wfile.write(body)


def default_folder(start: Path) -> Path:
    """Return the folder of the runs of the project at ``start``, even if it does not exist yet."""
    for folder in (start, *start.parents):
        if (folder / RUNS).is_dir():
            return folder / RUNS
    return start / RUNS
