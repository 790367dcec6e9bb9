"""Header fields that report that an archived site lacks an answer, and how much the gap matters to the request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

__all__ = ["KEPT_BACK", "LACKING", "WRITES", "ResourceKind", "is_browser_service", "is_navigation", "resource_kind"]

LACKING = "Webarena-Archive-Lacks"
"""Field by which an archive's server reports to the gateway that it has no answer. Answers of sites never have it."""

KEPT_BACK = "Webarena-Archive-Kept-Back"
"""Field by which the server reports that the guard of live sites did not send the request when the archive was made."""

WRITES = "writes"
"""Value of `KEPT_BACK` for a request that asks for a change by more than its method: a permission to read is too
weak."""

ResourceKind = Literal["", "page", "part", "extra"]
"""Kind of resource that is missing: a ``page``; a ``part`` that the page may need to work (a script, a style sheet, a
frame, data); an ``extra`` that only decorates or reports (pictures, fonts, media, beacons). Empty: nothing is
missing."""

_PARTS = frozenset(
    ("script", "style", "iframe", "frame", "object", "embed", "worker", "sharedworker", "websocket", "empty")
)  # fmt: skip
"""Values of ``Sec-Fetch-Dest`` that count as a ``part``. Service workers are excluded: pages work without them in every
browser except those that agents drive themselves."""


def resource_kind(method: str, fields: Sequence[str]) -> ResourceKind:
    """Return the kind of resource that a request with these field lines asks for.

    Browsers send ``Sec-Fetch-*`` to secure origins only; for others, the ``Accept`` field decides.

    >>> resource_kind("GET", ["Accept: text/html,application/xhtml+xml"]), resource_kind("GET", ["Accept: image/*,*/*"])
    ('page', 'extra')
    >>> resource_kind("POST", ["Sec-Fetch-Dest: empty", "Sec-Fetch-Mode: no-cors"])
    'extra'
    >>> resource_kind("GET", ["Accept: */*"])
    'part'
    """
    known = {name.lower(): value.strip().lower() for name, _, value in (field.partition(":") for field in fields)}
    accepts = known.get("accept", "*/*")
    to = known.get("sec-fetch-dest", "")
    if not to:
        return "page" if accepts.startswith("text/html") else "extra" if accepts.startswith("image/") else "part"
    if to == "document":
        return "page"
    # A page cannot read the response to a beacon.
    beacon = to == "empty" and known.get("sec-fetch-mode") == "no-cors" and method == "POST"
    return "part" if to in _PARTS and not beacon else "extra"


def is_browser_service(fields: Sequence[str]) -> bool:
    """Return whether the browser sent a request for its own services (autofill, hints, lists): no page requested it and
    none displays it.

    >>> is_browser_service(["Sec-Fetch-Site: none", "Sec-Fetch-Dest: empty"]), is_browser_service(["Accept: */*"])
    (True, False)
    """
    known = {name.lower(): value.strip().lower() for name, _, value in (field.partition(":") for field in fields)}
    return (known.get("sec-fetch-site"), known.get("sec-fetch-dest")) == ("none", "empty")


def is_navigation(method: str, fields: Sequence[str]) -> bool:
    """Return whether a browser requests a document for a tab or a frame, with any method, and not data for a script.

    >>> is_navigation("POST", ["Sec-Fetch-Mode: cors", "Accept: text/html"])
    False
    >>> is_navigation("POST", ["Accept: text/html,*/*"])
    True
    """
    known = {name.lower(): value.strip().lower() for name, _, value in (field.partition(":") for field in fields)}
    return known.get("sec-fetch-mode", "navigate") == "navigate" and known.get("accept", "").startswith("text/html")
