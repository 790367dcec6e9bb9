"""Limits and deadlines of a gateway."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass

from pytest_webarena.gateway.log_entry import Entry

__all__ = ["GatewaySettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """Sizes in bytes, times in seconds. The defaults are `Gateway`'s."""

    body_limit: int
    """How much of each request body the log keeps."""
    head_limit: int
    """Largest head of a request (431 beyond) or response (502 beyond)."""
    max_entries: int
    """Requests a session's log keeps; further ones are only counted."""
    max_log_bytes: int
    """Heads and bodies a session's log keeps; further requests are only counted."""
    connect_timeout: float
    response_timeout: float | None
    """Until the head of the response (504 beyond); None waits as long as the browser does."""
    hold: float
    """How long the first visit of a site waits for the site, before the browser is shown a page that says so and that
    asks again. Less than browsers wait for a page."""
    keep: Callable[[Entry], None] | None
    """Hears of each exchange that is over, bodies and all."""
    certificates: Callable[[str], ssl.SSLContext]
    """What ends TLS for a host."""
    linger: float
    """How long a closed connection may still deliver the rest of an upload that is thrown away."""
