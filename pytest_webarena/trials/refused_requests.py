"""Replaces refused connections in the gateway's record by the requests that the browser reports for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_webarena.evidence import RequestRecord
from pytest_webarena.gateway.log import as_tunnel

__all__ = ["with_browsers_record"]

_CLOCKS = 0.1
"""Maximum difference between the clocks of session and gateway, in seconds."""
_LATE = 60.0
"""Maximum time in seconds until a browser reports a failure."""


def with_browsers_record(
    requests: Sequence[RequestRecord], failed: Sequence[RequestRecord]
) -> tuple[RequestRecord, ...]:
    """``requests`` of the gateway, with each refused connection replaced by the request in ``failed`` that it was for.

    The browser opens one connection per request, so each request explains one connection: the last one before its
    failure. A connection without an explanation remains a ``CONNECT``, because its purpose is unknown.
    """
    joined = list(requests)
    open_ends: dict[str, list[int]] = {}
    for index, request in enumerate(joined):
        # An accepted connection is refused later when browser and gateway do not agree on TLS.
        if request.method == "CONNECT" and request.refused and request.status != 200:
            open_ends.setdefault(request.url, []).append(index)
    for known in failed:
        tunnels = open_ends.get(as_tunnel(known.url), [])
        explained = [i for i in tunnels if -_CLOCKS <= known.time - joined[i].time <= _LATE]
        if explained:
            index = max(explained, key=lambda i: joined[i].time)
            tunnels.remove(index)
            refused = joined[index]
            joined[index] = replace(known, time=refused.time, status=refused.status, refused=refused.refused)
    return tuple(joined)
