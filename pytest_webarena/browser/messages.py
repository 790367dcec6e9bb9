"""Short messages from Playwright's errors, for agents and reports."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["first_line", "is_navigation_error", "is_readable", "net_error", "writable"]

_CALL = re.compile(r"^[A-Za-z]+\.[a-z_A-Z]+: ")
_NET = re.compile(r"net::(ERR_[A-Z_0-9]+)")

_FIREFOX = re.compile(r"Message: Error: (\w+) at |(NS_ERROR_\w+)")
_FIREFOX_NAMES = {
    "NS_ERROR_CONNECTION_REFUSED": "ERR_CONNECTION_REFUSED",
    "NS_ERROR_NET_EMPTY_RESPONSE": "ERR_EMPTY_RESPONSE",
    "NS_ERROR_NET_INTERRUPT": "ERR_CONNECTION_RESET",
    "NS_ERROR_NET_RESET": "ERR_CONNECTION_RESET",
    "NS_ERROR_PROXY_BAD_GATEWAY": "ERR_TUNNEL_CONNECTION_FAILED",
    "NS_ERROR_PROXY_CONNECTION_REFUSED": "ERR_PROXY_CONNECTION_FAILED",
    "NS_ERROR_PROXY_FORBIDDEN": "ERR_TUNNEL_CONNECTION_FAILED",
    "NS_ERROR_PROXY_NOT_IMPLEMENTED": "ERR_TUNNEL_CONNECTION_FAILED",
    "NS_ERROR_REDIRECT_LOOP": "ERR_TOO_MANY_REDIRECTS",
    "NS_ERROR_UNKNOWN_HOST": "ERR_NAME_NOT_RESOLVED",
    "connectionFailure": "ERR_CONNECTION_REFUSED",
    "deniedPortAccess": "ERR_UNSAFE_PORT",
    "dnsNotFound": "ERR_NAME_NOT_RESOLVED",
    "malformedURI": "ERR_INVALID_URL",
    "netInterrupt": "ERR_CONNECTION_RESET",
    "netReset": "ERR_CONNECTION_RESET",
    "nssBadCert": "ERR_CERT_AUTHORITY_INVALID",
    "nssFailure2": "ERR_SSL_PROTOCOL_ERROR",
    "proxyConnectFailure": "ERR_PROXY_CONNECTION_FAILED",
    "proxyResolveFailure": "ERR_PROXY_CONNECTION_FAILED",
    "redirectLoop": "ERR_TOO_MANY_REDIRECTS",
}
"""Chromium's names of Firefox's network errors, so that records and messages of both browsers are alike."""

_NET_WORDS = {
    "ERR_NAME_NOT_RESOLVED": "no such site",
    "ERR_CONNECTION_REFUSED": "the site refused the connection",
    "ERR_CONNECTION_RESET": "the site broke off the connection",
    "ERR_EMPTY_RESPONSE": "the site sent nothing",
    "ERR_PROXY_CONNECTION_FAILED": "this address can't be reached from here",
    "ERR_TUNNEL_CONNECTION_FAILED": "this address can't be reached from here",
    "ERR_TOO_MANY_REDIRECTS": "the site redirects in a loop",
    "ERR_INVALID_URL": "not a valid address",
    "ERR_UNSAFE_PORT": "this port can't be reached from here",
    "ERR_CERT_AUTHORITY_INVALID": "the site's certificate is not trusted",
}


_NAVIGATED = re.compile(
    r"context was destroyed|navigating|detached|Cannot find (default execution )?context|navigated or closed",
    re.IGNORECASE,
)


def is_navigation_error(error: BaseException) -> bool:
    """Return whether the page navigated during a call, so that the call itself was not wrong.

    >>> is_navigation_error(Exception("Page.evaluate: Execution context was destroyed, probably by a navigation"))
    True
    """
    return _NAVIGATED.search(str(error)) is not None


def first_line(error: BaseException) -> str:
    """Return the first line of an error, without Playwright's call prefix and call log.

    >>> first_line(Exception("Page.goto: net::ERR_FAILED at http://a.test/\\nCall log:\\n  - navigating"))
    'net::ERR_FAILED at http://a.test/'
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return _CALL.sub("", lines[0]) if lines else type(error).__name__


def net_error(error: BaseException) -> str:
    """Describe a failed navigation; empty if ``error`` is not a network error.

    >>> net_error(Exception("Page.goto: net::ERR_TOO_MANY_REDIRECTS at http://a.test/"))
    'the site redirects in a loop (ERR_TOO_MANY_REDIRECTS)'
    """
    match = _NET.search(str(error)) or _FIREFOX.search(str(error))
    if match is None:
        return ""
    code = match[match.lastindex or 1]
    code = _FIREFOX_NAMES.get(code, code)
    return f"{_NET_WORDS.get(code, 'the page could not be loaded')} ({code})"


def is_readable(text: str) -> bool:
    """Return whether a text has a character that people can read; fonts draw icons for those of private use.

    >>> is_readable(" *"), is_readable("\uf123 "), is_readable("\u200b")
    (True, False, False)
    """
    return any(unicodedata.category(char)[0] not in "CZ" for char in text)


def writable(text: str) -> str:
    """Return ``text`` in a form that can be written to a file: lone surrogates, which pages may contain, become ``?``.

    >>> writable("caf\\u00e9 \\ud83d")
    'café ?'
    """
    return text.encode("utf-8", "replace").decode("utf-8")
