"""Addresses of hosted sites from options and from the environment variables of WebArena and BrowserGym."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from pytest_webarena.errors import UsageError

__all__ = ["ENVIRONMENT", "FULL_RESET", "addresses_in", "environment_site_urls", "parse_site_urls"]

ENVIRONMENT = "env"
"""Value of ``--site-url`` that reads the environment."""

FULL_RESET = "full_reset"
"""Name for the address of BrowserGym's server that resets all sites at once; no site has it."""

_PREFIX = "WA_"
"""Prefix of BrowserGym's variables."""
_NONE = "PASS"
"""Value of WebArena's variables for a site that is not used."""
_SITES = ("shopping", "shopping_admin", "reddit", "gitlab", "wikipedia", "map", "homepage")
_FILE = ".env"


def parse_site_urls(given: Iterable[str], source: str = "--site-url") -> dict[str, str]:
    """Parse ``shopping=http://host:7770`` and similar; returns addresses by site, those of several instances with
    commas between them.

    ``env`` stands for the variables of WebArena and BrowserGym, in the environment and in ``.env``; addresses that are
    given otherwise replace theirs. Raises `UsageError`, which names the ``source``, for invalid ones.
    """
    urls: dict[str, str] = {}
    texts = list(given)
    for text in texts:
        if text == ENVIRONMENT:
            continue
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"{source}: expected SITE=URL, e.g. shopping=http://127.0.0.1:7770, found {text!r}")
        value = _checked(value, f"{source} {name}")
        if urls.setdefault(name, value) != value:
            raise UsageError(f"{source} {name}: expected one address, found {urls[name]} and {value}")
    return environment_site_urls(os.environ, Path(_FILE)) | urls if ENVIRONMENT in texts else urls


def addresses_in(value: str) -> list[str]:
    """Returns the addresses of a site's instances.

    >>> addresses_in("http://a:7770, http://b:7770/")
    ['http://a:7770', 'http://b:7770']
    """
    return [url.strip().rstrip("/") for url in value.split(",")]


def environment_site_urls(environment: Mapping[str, str], file: Path) -> dict[str, str]:
    """Returns the addresses that variables set, by site: ``SHOPPING`` (WebArena) or ``WA_SHOPPING`` (BrowserGym).

    Variables of the ``environment`` precede those of ``file``. Raises `UsageError` when there are none, or two
    variables disagree.
    """
    variables = {**_read(file), **environment}
    urls: dict[str, str] = {}
    for site in (*_SITES, FULL_RESET):
        values = {
            name: value
            for prefix in (_PREFIX, "")
            if (value := variables.get(name := prefix + site.upper(), "").strip()) and value != _NONE
        }
        if not values:
            continue
        checked = {name: _checked(value, f"the variable {name}") for name, value in values.items()}
        if len({*checked.values()}) > 1:
            found = " and ".join(f"{name}={value}" for name, value in checked.items())
            raise UsageError(f"--site-url=env: expected one address of {site}, found {found}; unset one of them")
        urls[site] = next(iter(checked.values()))
    if not set(urls) - {FULL_RESET}:
        raise UsageError(
            "--site-url=env: expected variables such as SHOPPING=http://host:7770 or WA_SHOPPING=…, in the environment "
            f"or in {file.absolute()}, found none"
        )
    return urls


def _read(file: Path) -> dict[str, str]:
    if not file.is_file():
        return {}
    try:
        from dotenv import dotenv_values
    except ImportError:
        raise UsageError(
            f"--site-url=env: expected python-dotenv, which reads {file.absolute()}, found none; "
            "pip install python-dotenv, or export the variables"
        ) from None
    return {name: value or "" for name, value in dotenv_values(file).items()}


def _checked(value: str, where: str) -> str:
    """Returns addresses in their common form. Raises `UsageError` for an invalid one."""
    for url in value.split(","):
        if fault := _fault(url.strip()):
            raise UsageError(f"{where}: expected {fault}, found {url!r}")
    return ",".join(addresses_in(value))


def _fault(url: str) -> str:
    """Returns the form that a site's own address should have; empty when it has it."""
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        is_valid = False
    if not is_valid:
        return "an address that starts with http:// or https://"
    return (
        "an address without user name, query and fragment"
        if "@" in parts.netloc or parts.query or parts.fragment
        else ""
    )
