"""One store per process: Django configured, warmed, and bound to one database file at a time."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_webarena.embedded.shop.identity import CUSTOMER, OWNER

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

__all__ = ["DATABASE_FILE", "configure", "create_app", "on_fork", "rebind"]

DATABASE_FILE = "main.sqlite3"
"""The only mutable file of the store, inside the data directory."""

_WARM_PATHS = {
    "": ("/", "/accounts/login/", "/dashboard/login/", "/static/oscar/css/styles.css", "/static/shop/shop.css"),
    CUSTOMER: (
        "/catalogue/", "/search/?q=lamp", "/catalogue/{slug}_{id}/", "/catalogue/{slug}_{id}/reviews/", "/offers/",
        "/about/", "/basket/", "/checkout/", "/accounts/profile/", "/accounts/orders/", "/accounts/orders/{order}/",
        "/accounts/wishlists/", "/accounts/addresses/",
    ),
    OWNER: (
        "/dashboard/", "/dashboard/orders/", "/dashboard/orders/{order}/", "/dashboard/catalogue/",
        "/dashboard/catalogue/products/{id}/", "/dashboard/catalogue/categories/", "/dashboard/users/",
        "/dashboard/reviews/", "/dashboard/offers/", "/dashboard/vouchers/", "/dashboard/vouchers/create/",
        "/dashboard/pages/", "/dashboard/reports/?report_type=best_sellers",
    ),
}  # fmt: skip
"""What the parent looks at before it forks, by user: compiled templates and loaded modules are then shared."""

_lock = threading.Lock()
_seen = threading.local()
_configured = False


def configure(database: Path) -> None:
    """Set Django up once and bind it to ``database``, which need not exist yet."""
    global _configured
    with _lock:
        if not _configured:
            os.environ["DJANGO_SETTINGS_MODULE"] = "pytest_webarena.embedded.shop.settings"
            _use_world_clock()
            import django

            with _absent("geopy", "django.contrib.postgres"):
                django.setup()
            from django.core.paginator import UnorderedObjectListWarning
            from django.core.signals import request_started

            # Some of Oscar's back-office lists have no order of their own; SQLite gives them that of the rows.
            warnings.filterwarnings("ignore", category=UnorderedObjectListWarning)
            request_started.connect(_drop_stale_connection, dispatch_uid="store-database")
            if hasattr(os, "register_at_fork"):
                os.register_at_fork(before=_close)  # SQLite connections must not be carried across a fork
            _configured = True
    _bind(database)


def create_app(data_dir: Path) -> WSGIApplication:
    """See `pytest_webarena.embedded.shop.create_app`."""
    configure(data_dir / DATABASE_FILE)
    from django.core.handlers.wsgi import WSGIHandler

    from pytest_webarena.embedded import clock
    from pytest_webarena.embedded.shop.media import Files

    app = Files(WSGIHandler())
    if os.environ.get("WEBARENA_WARM", "1") != "0":
        _warm(app)
    rebind(data_dir)
    clock.restart()  # for those who serve without a fork: warming up must not count as a visit
    return app


def rebind(data_dir: Path) -> None:
    """See `pytest_webarena.embedded.shop.rebind`."""
    configure(data_dir / DATABASE_FILE)


def on_fork(data_dir: Path) -> None:
    """See `pytest_webarena.embedded.shop.on_fork`."""
    from pytest_webarena.embedded import clock
    from pytest_webarena.embedded.shop.media import forget_uploads

    rebind(data_dir)
    forget_uploads()
    clock.restart()


def _use_world_clock() -> None:
    """Replace the clock before any model binds ``timezone.now`` as a default."""
    from django.utils import timezone

    from pytest_webarena.embedded import clock

    timezone.now = clock.now


@contextlib.contextmanager
def _absent(*modules: str) -> Iterator[None]:
    """Let these seem not to be installed: what we use looks for them, loads megabytes, and needs nothing of it here."""
    missing = [module for module in modules if module not in sys.modules]
    sys.modules.update(dict.fromkeys(missing))  # type: ignore[arg-type]  # None is how the import system is told
    try:
        yield
    finally:
        for module in missing:
            del sys.modules[module]


def _close() -> None:
    from django.db import connections

    for connection in connections.all(initialized_only=True):
        connection.close()


def _bind(database: Path) -> None:
    from django.db import connections

    _close()
    # Connections of threads to come read these settings; the ones made already hold the same mapping.
    connections.settings["default"]["NAME"] = str(database)
    for connection in connections.all(initialized_only=True):
        connection.settings_dict["NAME"] = str(database)


def _drop_stale_connection(**_: Any) -> None:
    """A kept connection is worth a millisecond per request, but must not outlive a replaced file."""
    from django.db import connection

    try:
        status = os.stat(connection.settings_dict["NAME"])
    except OSError:
        return
    identity = (connection.settings_dict["NAME"], status.st_dev, status.st_ino)
    if getattr(_seen, "identity", None) != identity:
        connection.close()
        _seen.identity = identity


def _warm(app: WSGIApplication) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("select id, slug from catalogue_product where parent_id is null order by id limit 1")
        number, slug = cursor.fetchone()
        cursor.execute("select number from order_order where user_id = 1 order by id limit 1")
        order = cursor.fetchone()[0]
    for username, paths in _WARM_PATHS.items():
        cookie = _session(username) if username else ""
        for path in paths:
            _visit(app, path.format(id=number, slug=slug, order=order), cookie)


def _session(username: str) -> str:
    """The cookie of somebody who signed in."""
    from django.conf import settings
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.auth.models import User
    from django.contrib.sessions.backends.signed_cookies import SessionStore

    user = User.objects.get(username=username)
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return f"{settings.SESSION_COOKIE_NAME}={session.session_key}"


def _visit(app: WSGIApplication, target: str, cookie: str) -> None:
    """GET ``target``. `RuntimeError` when the store can't show it: better now than in front of an agent."""
    path, _, query = target.partition("?")
    environ: WSGIEnvironment = {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": "localhost",
        "HTTP_COOKIE": cookie,
        "wsgi.url_scheme": "http",
        "wsgi.input": _Empty(),
        "wsgi.errors": _Empty(),
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }

    statuses: list[str] = []

    def start_response(status: str, *_: Any) -> Any:
        statuses.append(status)
        return lambda _data: None

    body = app(environ, _typed(start_response))
    try:
        for _ in body:
            pass
    finally:
        close = getattr(body, "close", None)
        if close is not None:
            close()
    if not statuses or statuses[-1] >= "4":
        raise RuntimeError(f"warming up, GET {target} answered {statuses[-1] if statuses else 'nothing'}")


def _typed(start_response: Any) -> StartResponse:
    response: StartResponse = start_response
    return response


class _Empty:
    """A request body and an error stream of nothing."""

    def read(self, *_: int) -> bytes:
        return b""

    def readline(self, *_: int) -> bytes:
        return b""

    def write(self, *_: str) -> None: ...

    def flush(self) -> None: ...
