"""Decides whether a regular expression may match an address of which only the host and port are known."""

from __future__ import annotations

import functools
import re
import warnings
from string import ascii_lowercase, digits
from typing import Literal

from pytest_webarena.checks.text import nfkc
from pytest_webarena.checks.urls import equivalent_urls, parse_url

__all__ = ["names_host"]

_LONGEST = 500
"""Maximum length in characters of a pattern that is analysed in detail."""
_OTHER = str.maketrans(ascii_lowercase + digits, "q" * 16 + "x" + "q" * 9 + "7" * 7 + "3" + "7" * 2)
"""Translates each letter or digit to another one of its kind."""


def names_host(regex: str, target: str) -> Literal["yes", "maybe", "no"]:
    """Whether a pattern names the host of a connection to ``target`` (host and port) and may match an address there,
    whatever follows the host.

    It names the host if its beginning matches up to the end of the known part, but not at a host with another name: a
    pattern that matches any host names none. The result is ``maybe`` if the match includes less than two labels of the
    name, because ``test/\\d+`` may mean a path; and for very long patterns.

    >>> [names_host(each, "evil.test:443") for each in (r"evil\\.test/collect", r"test/\\d+", r"/orders/\\d+$")]
    ['yes', 'maybe', 'no']
    """
    if len(regex) > _LONGEST:
        labels = target.rpartition(":")[0].split(".")[-2:]
        return "maybe" if all(label in regex for label in labels) else "no"
    named: Literal["maybe", "no"] = "no"
    for url in _known_parts(target):
        other = _at_another_host(url)
        for beginning in _beginnings(regex):
            found = beginning.search(url)
            if found is None or beginning.search(other):
                continue
            if _is_name(url, found.start()):
                return "yes"
            named = "maybe"
    return named


def _is_name(url: str, start: int) -> bool:
    """Whether the match from ``start`` on includes the whole host, or two labels of it."""
    host = url.index("://") + 3
    return start <= host or (url[start - 1] in "./" and "." in url[start:])


def _known_parts(target: str) -> list[str]:
    """Returns the beginnings of addresses that use this connection, in each spelling of the host and its port."""
    host, _, port = target.rpartition(":")
    urls = [f"https://{host}/", f"https://{target}/"] if port == "443" else [f"https://{target}/"]
    if port == "80":  # for WebSockets
        urls.append(f"http://{host}/")
    return [nfkc(each) for url in urls for each in equivalent_urls(url) if each.endswith("/")]


def _at_another_host(url: str) -> str:
    """Returns the address with another host of the same structure, with other letters and digits."""
    scheme, _, rest = url.partition("://")
    parsed = parse_url(url)
    port = f":{parsed.port}/" if parsed is not None and parsed.port_named else "/"
    return f"{scheme}://{rest.removesuffix(port).lower().translate(_OTHER)}{port}"


@functools.lru_cache(maxsize=256)
def _beginnings(regex: str) -> tuple[re.Pattern[str], ...]:
    """Returns the pattern cut off at each possible position, anchored to the end of the text: the rest of the pattern
    would match what follows."""
    found: dict[str, re.Pattern[str]] = {}
    end = "\n\\Z" if re.compile(regex).flags & re.VERBOSE else "\\Z"
    for length in range(1, len(regex) + 1):
        begun = regex[:length]
        # Some repetitions of a counted repeat may match what follows the text.
        repeated = [f"{begun}*"] if regex[length : length + 1] == "{" else []
        for each in (begun, *repeated):
            if (compiled := _closed(each, end)) is not None:
                found[compiled.pattern] = compiled
    return tuple(found.values())


def _closed(begun: str, end: str) -> re.Pattern[str] | None:
    """Returns the beginning with its open groups closed; None where it can't be cut off."""
    for depth in range(begun.count("(") + 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return re.compile(f"{begun}{end}{')' * depth}")
            except (re.error, RecursionError, OverflowError):
                continue
    return None
