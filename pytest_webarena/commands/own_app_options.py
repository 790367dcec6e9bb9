"""Options of ``webarena init`` for an app that exists."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_webarena.errors import UsageError

__all__ = ["add_arguments", "is_wanted"]

_SOURCES = {"command": "app_command", "url": "url", "compose": "compose"}
"""Options that name an app, with the names of their values."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options for an app that exists."""
    group = parser.add_argument_group("an app that exists")
    group.add_argument(
        "--command", dest="app_command", metavar="TEXT", help="starts the app, with {port} and {data_dir}"
    )
    group.add_argument("--url", metavar="URL", help="where the app runs")
    group.add_argument(
        "--certificate-authority", type=Path, metavar="FILE", help="PEM file that verifies the URL's certificate"
    )
    group.add_argument("--compose", type=Path, metavar="FILE", help="Compose file of the app")
    group.add_argument("--name", default="app", metavar="NAME", help="name of its site (default: app)")
    group.add_argument("--start", default="", metavar="PATH", help="start page (default: /)")
    group.add_argument("--login", default="", metavar="PATH", help="page with the sign-in form (default: found)")
    group.add_argument(
        "--user", action="append", default=[], metavar="NAME:PASSWORD", help="account; $VARIABLE for a secret"
    )
    group.add_argument("--database", default="", metavar="FILE", help="SQLite file below {data_dir}")
    group.add_argument("--data", default="", metavar="DIR", help="initial content of {data_dir}")
    group.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="variable of the app")
    group.add_argument(
        "--service", action="append", default=[], metavar="NAME[:PORT]", help="Compose service with a site"
    )


def is_wanted(options: argparse.Namespace) -> bool:
    """Returns whether an app is named. Raises `UsageError` for options that do not fit together."""
    sources = [name for name, dest in _SOURCES.items() if getattr(options, dest) is not None]
    if len(sources) > 1:
        raise UsageError(f"expected one of --command, --url and --compose, found {' and '.join(sources)}")
    fitting = {"database": "command", "data": "command", "env": "command", "service": "compose"}
    for name, source in (fitting | {"certificate_authority": "url"}).items():
        if getattr(options, name) and sources != [source]:
            found = "none" if not sources else sources[0]
            raise UsageError(f"--{name.replace('_', '-')}: expected --{source} with it, found {found}")
    for name in ("start", "login", "user"):
        if getattr(options, name) and not sources:
            raise UsageError(f"--{name}: expected --command, --url or --compose with it, found none")
    return bool(sources)
