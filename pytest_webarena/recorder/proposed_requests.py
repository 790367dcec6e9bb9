"""Proposes ``network`` checks from sent requests, for sites whose changes can't be determined."""

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
"""Maximum number of requests to propose, the last ones."""
_LONGEST = 100
_OF_THE_PAGE = re.compile(r"token|csrf|utf8|_method|nonce|password|commit|captcha", re.IGNORECASE)
"""Names of form fields that a page fills in itself, and of secrets."""


def writing_requests(requests: Sequence[RequestRecord]) -> tuple[RequestRecord, ...]:
    """Return the requests that may change something and were not refused."""
    return tuple(each for each in requests if each.method not in SAFE_METHODS and not each.refused)


def request_checks(requests: Sequence[RequestRecord], sites: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
    """Yield a description and the lines of a check for each request: method, address and form fields.

    A check asks for all fields that are not empty. The author removes those that were already filled in.
    """
    seen = set()
    for request in requests[-_MOST:]:
        place = relative(Goto(request.url.partition("?")[0]), sites)
        if not isinstance(place, Goto) or "://" in place.url or request.status is None or request.status >= 400:
            continue
        spec: dict[str, object] = {"method": request.method, "url": place.url}
        if lines := _fields(request):
            spec["body"] = {"includes": lines}
        if (key := repr(spec)) not in seen:
            seen.add(key)
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
