"""What was sent, as checks ``network``: for sites of which nobody can tell what was changed in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from pytest_webarena.actions import Goto
from pytest_webarena.checks.bodies import header, read_body
from pytest_webarena.evidence import RequestRecord
from pytest_webarena.gateway.log_entry import SAFE_METHODS
from pytest_webarena.recorder.selector_proving import relative
from pytest_webarena.suites.writing import yaml_lines

__all__ = ["request_checks", "writing_requests"]

_MOST = 5
"""Requests that are told, the last ones."""
_LONGEST = 100
_OF_THE_PAGE = re.compile(r"token|csrf|utf8|_method|nonce|password|commit|captcha", re.IGNORECASE)
"""Fields that a page has put into its form for itself, and secrets."""


def writing_requests(requests: Sequence[RequestRecord]) -> tuple[RequestRecord, ...]:
    """Those that may change something, and were passed on."""
    return tuple(each for each in requests if each.method not in SAFE_METHODS and not each.refused)


def request_checks(requests: Sequence[RequestRecord], sites: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
    """Each in words, and as lines of a check: method, address, and what was in the fields of its form.

    Of what a form holds, a check asks for all that is not empty: its author takes out what was there before.
    """
    told = set()
    for request in requests[-_MOST:]:
        place = relative(Goto(request.url.partition("?")[0]), sites)
        if not isinstance(place, Goto) or "://" in place.url or request.status is None or request.status >= 400:
            continue
        spec: dict[str, object] = {"method": request.method, "url": place.url}
        if lines := _fields(request):
            spec["body"] = {"includes": lines}
        if (key := repr(spec)) not in told:
            told.add(key)
            yield f"{request.method} to {place.url} is sent", yaml_lines([{"network": spec}])


def _fields(request: RequestRecord) -> list[str]:
    if not request.request_body or "form" not in header(request, "content-type"):
        return []
    text, unread = read_body(request)
    found = []
    for line in [] if unread else text.splitlines():
        name, _, value = line.partition("=")
        if value.strip() and len(line) <= _LONGEST and not _OF_THE_PAGE.search(name):
            found.append(line)
    return found
