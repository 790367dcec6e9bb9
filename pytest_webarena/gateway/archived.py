"""Reader of the header fields by which an archive's server informs the gateway."""

from __future__ import annotations

from pytest_webarena.gateway.archive_misses import KEPT_BACK, LACKING, WRITES, resource_kind
from pytest_webarena.gateway.heads import RequestHead, ResponseHead
from pytest_webarena.gateway.log_entry import Entry
from pytest_webarena.gateway.upstream import Route

__all__ = ["note_archived"]


def note_archived(route: Route, request: RequestHead, path: str, head: ResponseHead, entry: Entry) -> None:
    """Remove the archive's own fields from ``head`` and record what they report in ``entry``.

    They report that the archive has no answer, so the response is not one of the site. Redirects of archived pages are
    noted, because an agent that follows one did not choose its target.
    """
    fields = [(name, value.strip()) for name, _, value in (field.partition(":") for field in head.fields)]
    archive_fields = {name: value for name, value in fields if name in (KEPT_BACK, LACKING)}
    role = resource_kind(request.method, request.fields)
    head.fields = [field for field in head.fields if field.partition(":")[0] not in archive_fields]
    if KEPT_BACK in archive_fields and not _is_let_through(route, request, path, archive_fields[KEPT_BACK]):
        reason = f"{entry.method} {entry.url} was not sent to the live site that is archived"
        entry.intercepted, entry.refused, entry.own = True, reason, reason
    elif archive_fields:
        entry.lacks = "extra" if route.unneeded else role
        entry.own = f"{entry.method} {entry.url} is not archived"
    elif role == "page" and 300 <= head.status < 400 and route.sent_on is not None:
        to = next((value for name, value in fields if name.lower() == "location"), "")
        route.sent_on.note(entry.url, to)


def _is_let_through(route: Route, request: RequestHead, path: str, kept: str) -> bool:
    """Return whether the live site's guard would have sent this request for the present trial.

    If so, the archive lacks the answer and the agent is not at fault.
    """
    allowed = route.allowed("WEBSOCKET" if request.websocket else request.method, route.url + path)
    return allowed == "write" or (allowed == "read" and kept != WRITES)
