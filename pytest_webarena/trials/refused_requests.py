"""Joins connections that the gateway refused with the browser's own record of what they were for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_webarena.evidence import RequestRecord
from pytest_webarena.gateway.log import as_tunnel

__all__ = ["with_browsers_record"]

_CLOCKS = 0.1
"""Seconds by which the clocks of session and gateway may differ."""
_LATE = 60.0
"""Seconds after which a browser has long reported a failure."""


def with_browsers_record(
    requests: Sequence[RequestRecord], failed: Sequence[RequestRecord]
) -> tuple[RequestRecord, ...]:
    """``requests`` of the gateway, with each refused connection as the request that the browser reports in ``failed``.

    The browser opens one connection for each such request, so each explains one of them: the last one before the
    failure. A connection that none explains stays a ``CONNECT``: nobody knows what it was for.
    """
    joined = list(requests)
    open_ends: dict[str, list[int]] = {}
    for index, request in enumerate(joined):
        # An accepted one is refused later where browser and gateway don't agree on TLS.
        if request.method == "CONNECT" and request.refused and request.status != 200:
            open_ends.setdefault(request.url, []).append(index)
    for known in failed:
        left = open_ends.get(as_tunnel(known.url), [])
        explained = [i for i in left if -_CLOCKS <= known.time - joined[i].time <= _LATE]
        if explained:
            index = max(explained, key=lambda i: joined[i].time)
            left.remove(index)
            refused = joined[index]
            joined[index] = replace(known, time=refused.time, status=refused.status, refused=refused.refused)
    return tuple(joined)
