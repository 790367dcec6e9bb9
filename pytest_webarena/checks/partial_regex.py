"""Whether a regular expression may be found in an address of which only the host and port are known."""

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
"""Characters of a pattern that is looked at in detail."""
_OTHER = str.maketrans(ascii_lowercase + digits, "q" * 16 + "x" + "q" * 9 + "7" * 7 + "3" + "7" * 2)
"""To each letter or digit another one of its kind."""


def names_host(regex: str, target: str) -> Literal["yes", "maybe", "no"]:
    """Whether a pattern names the host of a connection to ``target`` (host and port) and may be found in an address
    there, whatever follows the host.

    It names the host if its beginning, found up to the end of the known part, is not found so at a host with another
    name: a pattern that any host matches is meant for none in particular. It is open where the match has less of the
    name than two labels, as ``test/\\d+`` may mean a path; and of very long patterns.

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
    """Whether from ``start`` on there is the whole host, or two labels of it."""
    host = url.index("://") + 3
    return start <= host or (url[start - 1] in "./" and "." in url[start:])


def _known_parts(target: str) -> list[str]:
    """How addresses begin that need this connection, in each spelling of the host and its port."""
    host, _, port = target.rpartition(":")
    urls = [f"https://{host}/", f"https://{target}/"] if port == "443" else [f"https://{target}/"]
    if port == "80":  # of a WebSocket
        urls.append(f"http://{host}/")
    return [nfkc(each) for url in urls for each in equivalent_urls(url) if each.endswith("/")]


def _at_another_host(url: str) -> str:
    """The same with another host that has as many labels, as long, of letters or digits as its own."""
    scheme, _, rest = url.partition("://")
    parsed = parse_url(url)
    port = f":{parsed.port}/" if parsed is not None and parsed.port_named else "/"
    return f"{scheme}://{rest.removesuffix(port).lower().translate(_OTHER)}{port}"


@functools.lru_cache(maxsize=256)
def _beginnings(regex: str) -> tuple[re.Pattern[str], ...]:
    """The pattern cut off at each place where it can be, to be found at the end of a text: what the rest of it looks
    for is then in what follows the text."""
    found: dict[str, re.Pattern[str]] = {}
    end = "\n\\Z" if re.compile(regex).flags & re.VERBOSE else "\\Z"
    for length in range(1, len(regex) + 1):
        begun = regex[:length]
        # Of what is to be repeated a number of times, some repetitions may follow the text.
        repeated = [f"{begun}*"] if regex[length : length + 1] == "{" else []
        for each in (begun, *repeated):
            if (compiled := _closed(each, end)) is not None:
                found[compiled.pattern] = compiled
    return tuple(found.values())


def _closed(begun: str, end: str) -> re.Pattern[str] | None:
    """It with its open groups closed; None where it can't be cut off there."""
    for depth in range(begun.count("(") + 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return re.compile(f"{begun}{end}{')' * depth}")
            except (re.error, RecursionError, OverflowError):
                continue
    return None
