"""What an archived site lacks: how its server says so, and how much it matters to who asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

__all__ = ["KEPT_BACK", "LACKING", "WRITES", "Lack", "is_navigation", "lack_of"]

LACKING = "Webarena-Archive-Lacks"
"""Field by which an archive's server tells the gateway that it has nothing. No answer of a site comes with it."""

KEPT_BACK = "Webarena-Archive-Kept-Back"
"""Field by which it tells that the guard of live sites kept the same from being sent while the archive was made."""

WRITES = "writes"
"""Value of that field for a request that asks for a change by more than its method: to be allowed to read is not enough
for it."""

Lack = Literal["", "page", "part", "extra"]
"""What was asked for in vain: a ``page`` to be shown; a ``part`` on which the page's working may depend (a script, a
style sheet, a frame, data); an ``extra`` that only decorates or reports (pictures, fonts, media, beacons). Empty:
nothing."""

_PARTS = frozenset(
    ("script", "style", "iframe", "frame", "object", "embed", "worker", "sharedworker", "websocket", "empty")
)  # fmt: skip
"""No service workers: pages work without, as in all browsers but those that agents drive by themselves."""


def lack_of(method: str, fields: Sequence[str]) -> Lack:
    """What a request was for, going by its field lines. Only secure contexts are told ``Sec-Fetch-*``; of others, what
    browsers accept tells.

    >>> lack_of("GET", ["Accept: text/html,application/xhtml+xml"]), lack_of("GET", ["Accept: image/avif,*/*"])
    ('page', 'extra')
    >>> lack_of("POST", ["Sec-Fetch-Dest: empty", "Sec-Fetch-Mode: no-cors"]), lack_of("GET", ["Accept: */*"])
    ('extra', 'part')
    """
    known = {name.lower(): value.strip().lower() for name, _, value in (field.partition(":") for field in fields)}
    accepts = known.get("accept", "*/*")
    to = known.get("sec-fetch-dest", "")
    if not to:
        return "page" if accepts.startswith("text/html") else "extra" if accepts.startswith("image/") else "part"
    if to == "document":
        return "page"
    # Beacons ask for no answer that a page could look at.
    beacon = to == "empty" and known.get("sec-fetch-mode") == "no-cors" and method == "POST"
    return "part" if to in _PARTS and not beacon else "extra"


def is_navigation(method: str, fields: Sequence[str]) -> bool:
    """Whether a browser asks for something to show, in a tab or a frame, whatever the method; not for a script.

    >>> is_navigation("POST", ["Sec-Fetch-Mode: cors", "Accept: text/html"])
    False
    >>> is_navigation("POST", ["Accept: text/html,*/*"])
    True
    """
    known = {name.lower(): value.strip().lower() for name, _, value in (field.partition(":") for field in fields)}
    return known.get("sec-fetch-mode", "navigate") == "navigate" and known.get("accept", "").startswith("text/html")
