"""What our own small sites share: signed sessions, one SQLite connection per request, error pages.

A site is one Flask object per process, whatever the number of data directories: `Bound` tells it for
each request which one is meant, so that a forked replica needs nothing but another directory.
"""

from __future__ import annotations

import os
import re
import sqlite3
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from flask import Flask, g, has_request_context, render_template, request
from flask.sessions import SecureCookieSession, SessionInterface
from itsdangerous import BadSignature, URLSafeSerializer
from werkzeug.exceptions import HTTPException, InternalServerError, NotFound

from pytest_webarena.embedded import clock

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from flask import Response
    from flask.typing import ResponseReturnValue

__all__ = ["CONTENT_POLICY", "Bound", "data_dir", "database", "local", "new_site", "rebind", "timestamp", "write_seed"]

CONTENT_POLICY = "default-src 'self'; form-action 'self'; frame-ancestors 'none'"
"""What pages may load and do, where they say nothing else themselves."""

_DATA_DIR = "webarena.data_dir"
_DATABASE = "main.sqlite3"

_bound: WeakSet[Bound] = WeakSet()


class Bound:
    """A site over one data directory, as a WSGI callable."""

    def __init__(self, site: WSGIApplication, directory: Path) -> None:
        self._site = site
        self.directory = directory
        self.environment: dict[str, Any] = {}
        """Added to the environment of every request: settings of this copy of the site."""
        _bound.add(self)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        environ.update(self.environment)
        environ[_DATA_DIR] = self.directory
        return self._site(environ, start_response)


def rebind(directory: Path) -> None:
    """Point every copy of a site in this process at ``directory``: for a freshly forked replica."""
    for bound in _bound:
        bound.directory = directory
    clock.restart()


def data_dir() -> Path:
    """Data directory of the current request."""
    directory: Path = request.environ[_DATA_DIR]
    return directory


def database() -> sqlite3.Connection:
    """The request's connection; read-only unless the request's method may change things."""
    if "database" not in g:
        mode = "ro" if request.method in ("GET", "HEAD", "OPTIONS") else "rw"
        g.database = _connect(data_dir() / _DATABASE, mode)
    connection: sqlite3.Connection = g.database
    return connection


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=5)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys = ON")
    # The data is thrown away after the task; surviving a power cut is worth no waiting.
    connection.execute("PRAGMA synchronous = OFF")
    return connection


def write_seed(directory: Path, fill: Callable[[sqlite3.Connection], None]) -> None:
    """Make the pristine database of a site by ``fill`` and put it in place at once."""
    directory.mkdir(parents=True, exist_ok=True)
    target = directory / _DATABASE
    draft = directory / f".{_DATABASE}.{os.getpid()}-{threading.get_ident()}"
    draft.unlink(missing_ok=True)
    connection = sqlite3.connect(draft)
    try:
        connection.execute("PRAGMA synchronous = OFF")
        fill(connection)
        connection.commit()
        connection.execute("VACUUM")
    finally:
        connection.close()
    draft.replace(target)


def local(target: str, fallback: str = "") -> str:
    """``target`` when it is a path of this site, else ``fallback``: signing in must not send people elsewhere."""
    return target if re.match(r"/(?![/\\])[^\x00-\x1f\x7f]*\Z", target) else fallback


def timestamp() -> str:
    """The world's time as it is stored: ``2025-05-14T09:00:00``."""
    return clock.now().strftime("%Y-%m-%dT%H:%M:%S")


class _Sessions(SessionInterface):
    """The session lives in a signed cookie, so every replica accepts it and no reset ends it.

    Unlike Flask's own it carries no time: the same session is the same cookie, for good.
    """

    def __init__(self, cookie: str) -> None:
        self._cookie = cookie
        self._signer = URLSafeSerializer("every replica must accept this", salt=cookie)

    def open_session(self, app: Flask, request: Any) -> SecureCookieSession:
        value = request.cookies.get(self._cookie)
        if value is None:
            return SecureCookieSession()
        try:
            return SecureCookieSession(self._signer.loads(value))
        except BadSignature:
            return SecureCookieSession()

    def save_session(self, app: Flask, session: Any, response: Response) -> None:
        if not session.modified:
            return
        if session:
            value = self._signer.dumps(dict(session))
            response.set_cookie(self._cookie, str(value), httponly=True, samesite="Lax")
        else:
            response.delete_cookie(self._cookie, httponly=True, samesite="Lax")


def new_site(name: str, package: str) -> Flask:
    """A Flask object with the conventions of our own sites; ``package`` holds templates and static files.

    The templates must include ``error.html``, which is given ``code``, ``title`` and ``message``.
    """
    site = Flask(package)
    site.session_interface = _Sessions(f"{name}_session")
    site.config["MAX_CONTENT_LENGTH"] = 256 * 1024
    site.config["SEND_FILE_MAX_AGE_DEFAULT"] = 3600
    site.config["TEMPLATES_AUTO_RELOAD"] = False
    site.jinja_env.trim_blocks = True
    site.jinja_env.lstrip_blocks = True
    site.after_request(_harden)
    site.teardown_request(_disconnect)
    site.register_error_handler(HTTPException, _error_page)
    site.register_error_handler(OverflowError, _beyond_numbers)
    site.register_error_handler(Exception, _crash_page)
    site.add_url_rule("/healthz", "healthz", _healthz)
    return site


def _healthz() -> ResponseReturnValue:
    """Says whether the data is there; looks at neither session nor clock."""
    database().execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    return "ok\n", {"Content-Type": "text/plain; charset=utf-8"}


def _harden(response: Response) -> Response:
    if request.endpoint != "static":
        # Going back must show what is stored now, not what was stored then.
        response.headers.setdefault("Cache-Control", "no-store")
    response.headers.setdefault("Content-Security-Policy", CONTENT_POLICY)
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


def _disconnect(_error: BaseException | None) -> None:
    connection = g.pop("database", None)
    if connection is not None:
        connection.close()


_MESSAGES = {
    400: "The address or the form was not complete.",
    404: "There is nothing at this address. It may have been deleted, or the address has a slip in it.",
    405: "This address can't be used that way.",
    413: "That is more than can be sent at once.",
}


def _error_page(error: HTTPException) -> ResponseReturnValue:
    code = error.code or 500
    if code < 400:
        return error
    message = _MESSAGES.get(code, error.description or "")
    headers = {"Allow": ", ".join(error.valid_methods or ())} if code == 405 and hasattr(error, "valid_methods") else {}
    return render_template("error.html", code=code, title=error.name, message=message), code, headers


def _beyond_numbers(error: OverflowError) -> ResponseReturnValue:
    """An address named a row by a number that SQLite can't hold: there is none."""
    return _error_page(NotFound()) if "SQLite" in str(error) else _crash_page(error)


def _crash_page(error: Exception) -> ResponseReturnValue:
    if has_request_context():
        from flask import current_app

        current_app.logger.error("%s %s failed", request.method, request.path, exc_info=error)
    return _error_page(InternalServerError(description="Something went wrong on our side."))
