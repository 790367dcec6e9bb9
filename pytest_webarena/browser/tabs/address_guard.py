"""Addresses that a tab may show: web pages only. The gateway decides which sites they may reach."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urljoin, urlsplit

from pytest_webarena.text import shorten

__all__ = ["RefusedAddress", "allowed_in_tab", "failed_address", "resolve_address"]

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_HOST = re.compile(r"(localhost|\[[0-9a-f:]+\]|[\w-]+(\.[\w-]+)+)(:\d+)?([/?#].*)?", re.IGNORECASE)


_FAILED = ("about:neterror", "about:certerror")
"""Firefox's own pages for a failed navigation."""


class RefusedAddress(Exception):
    """A tab may not be sent to this address; the text says why."""


def allowed_in_tab(url: str) -> bool:
    """Return whether a tab may stay at ``url``, however it got there.

    >>> allowed_in_tab("http://shop.test/"), allowed_in_tab("file:///etc/passwd")
    (True, False)
    """
    scheme = url.partition(":")[0].lower()
    if scheme == "about":
        return url.lower().split("#")[0].split("?")[0] in ("about:blank", "about:srcdoc", *_FAILED)
    if scheme == "blob":
        return url.lower().startswith(("blob:http://", "blob:https://"))
    # Chromium's own page for a failed navigation has this address.
    return scheme in ("http", "https", "") or url.startswith("chrome-error://chromewebdata")


def failed_address(url: str) -> str:
    """Return the address that failed to load if ``url`` is Firefox's own error page, else ``url``.

    >>> failed_address("about:neterror?e=netReset&u=http%3A//shop.test/cart&c=UTF-8")
    'http://shop.test/cart'
    """
    page, _, query = url.partition("?")
    return parse_qs(query).get("u", [url])[0] if page in _FAILED else url


def resolve_address(url: str, base: str) -> str:
    """Return the full address of ``goto url`` in a tab at ``base``; `RefusedAddress` if it is invalid or not allowed.

    >>> resolve_address("/cart", "http://shop.test/item/4")
    'http://shop.test/cart'
    >>> resolve_address("shop.test/cart", "about:blank")
    'http://shop.test/cart'
    """
    url = "".join(character for character in url.strip() if character.isprintable())
    if not url:
        raise RefusedAddress("expected an address to go to, found none")
    if url.lower() == "about:blank":
        return "about:blank"
    scheme = _SCHEME.match(url)
    if scheme and not _HOST.fullmatch(url):
        if scheme[0].lower() not in ("http:", "https:"):
            raise RefusedAddress(f"{shorten(url, 100)} can't be opened: only http and https addresses can")
    elif url.startswith(("/", "?", "#")):
        if not base.lower().startswith(("http://", "https://")):
            raise RefusedAddress(f"{shorten(url, 100)} is no full address and the tab shows no site; give http://…")
        url = urljoin(base, url)
    elif _HOST.fullmatch(url):
        url = f"http://{url}"
    else:
        raise RefusedAddress(f"{shorten(url, 100)} is no address; give a full one (http://…) or a path (/…)")
    try:
        if not urlsplit(url).hostname:
            raise ValueError("no host name")
        _ = urlsplit(url).port
    except ValueError as error:
        raise RefusedAddress(f"{shorten(url, 100)} is no address: {error}") from error
    return url
