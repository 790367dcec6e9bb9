"""Limits and timeouts of a gateway."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pytest_webarena.gateway.log_entry import Entry

__all__ = ["GatewaySettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """Settings of a gateway. Sizes are in bytes, times in seconds. `Gateway` has the defaults."""

    body_limit: int
    """Size of each request body's start that the log keeps."""
    head_limit: int
    """Maximum size of the head of a request (431 beyond) or response (502 beyond)."""
    max_entries: int
    """Maximum number of requests in a session's log; further ones are only counted."""
    max_log_bytes: int
    """Maximum size of heads and bodies in a session's log; further requests are only counted."""
    connect_timeout: float
    response_timeout: float | None
    """Time until the head of the response (504 beyond); None waits as long as the browser does."""
    hold: float
    """Time that the first visit of a site waits for the site before the browser gets a page that says so and reloads.
    It is shorter than browsers' own timeout for pages."""
    keep: Callable[[Entry], None] | None
    """Receives each finished exchange with its bodies."""
    own_addresses: Mapping[str, str]
    certificates: Callable[[str], ssl.SSLContext]
    """Returns the server-side TLS context for a host."""
    linger: float
    """Time that a closed connection may still deliver the rest of an upload, which is dropped."""
