"""The parts of an address that WebCanvas' evaluators use: the whole, a parameter, host and path, and the site's
label."""

from __future__ import annotations

from urllib.parse import parse_qs, unquote, urlparse

__all__ = ["address_subject", "parameter", "site_label"]


def address_subject(url: str, match: str, key: str) -> str | None:
    """Returns what is compared with the reference: a parameter's value if there is a ``key``; else, for ``includes``,
    host, path and fragment, and for other matches the whole address. None if there is no such parameter.

    The compared text is percent-decoded once more than in the address, a parameter's value twice.

    >>> address_subject("https://shop.test/a%20b;v=1?q=x#top", "includes", "")
    'shop.test/a b#top'
    >>> address_subject("https://shop.test/?q=&q=50%2525", "exact", "q")
    '50%'
    """
    if key:
        subject = parameter(url, key)
        return None if subject is None else unquote(subject)
    if match != "includes":
        return unquote(url)
    try:
        parts = urlparse(url)
    except ValueError:
        return unquote(url)
    return unquote(parts.netloc + parts.path + (f"#{parts.fragment}" if parts.fragment else ""))


def parameter(url: str, key: str) -> str | None:
    """Returns the first value of a parameter that is not blank; None when there is none, or the address can't be
    parsed."""
    try:
        return parse_qs(urlparse(url).query)[key][0]
    except (ValueError, KeyError):
        return None


def site_label(url: str) -> str:
    """Returns the site's label in an address: the first part of its host, or the second if the host begins with
    ``www``.

    The host is used as written, including anything before an ``@``. Raises `ValueError` for invalid addresses.

    >>> [site_label(f"https://{host}/") for host in ("www.shop.test", "jobs.shop.test", "www.test", "localhost")]
    ['shop', 'jobs', '', '']
    """
    host = urlparse(url).netloc
    parts = host.split(".")
    if host.startswith("www"):
        return parts[1] if len(parts) > 2 else ""
    return parts[0] if len(parts) > 1 else ""
