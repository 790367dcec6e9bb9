"""The store: storefront and back office on django-oscar, one app on one SQLite file.

The fork server calls `create_app` once, then `on_fork` in every child with the child's own data
directory. Django is imported inside the functions only: importing this package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path
    from wsgiref.types import WSGIApplication

__all__ = ["create_app", "on_fork", "rebind", "seed"]


def create_app(data_dir: Path) -> WSGIApplication:
    """The store as a WSGI callable on the database in ``data_dir``, loaded and warmed up.

    ``WEBARENA_WARM=0`` in the environment leaves the warming out: for a process that serves a single visitor.
    Settings are process-wide: a second call binds the same store to another directory.
    """
    from pytest_webarena.embedded.shop import runtime

    return runtime.create_app(data_dir)


def seed(data_dir: Path) -> None:
    """Put a pristine store into ``data_dir`` (made if missing); built once, then copied from a cache."""
    from pytest_webarena.embedded.shop import prebuilt

    prebuilt.seed(data_dir)


def rebind(data_dir: Path) -> None:
    """Point the store of this process at the database in ``data_dir``; open connections are dropped."""
    from pytest_webarena.embedded.shop import runtime

    runtime.rebind(data_dir)


def on_fork(data_dir: Path) -> None:
    """Called in a forked child before it serves: its own database, nothing shared with the parent."""
    from pytest_webarena.embedded.shop import runtime

    runtime.on_fork(data_dir)
