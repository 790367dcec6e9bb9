"""The only way out of a task's browser: stable host names in, leased replicas behind, all else refused and recorded.

A forward HTTP proxy in the broker's event loop, two loopback ports per session: one for the agent's browser, one for
what the harness itself asks of the sites, which is recorded apart. Which browser settings make it the
*only* way out stands in `egress`. Bytes travel through::

    session ─ listens; owns routes and log
    client ─── one browser connection: heads parsed (heads), refused (routes, pages) or started as an
    exchange ─ one request and its response, bodies followed (framing) and passed on unchanged, over an
    upstream ─ connection from the route's pool
    authority ─ ends TLS for https hosts that are read, each with a certificate of the run's own
    tunnel ─── raw bytes both ways: WebSockets after their handshake, TLS sites that are passed on

What it does not do, on purpose: look up names, cache, add ``Via`` or ``X-Forwarded-*`` (sites and
records shall see what the browser sent), repair malformed messages, or send anything twice except an idempotent
request without a body whose pooled connection turned out to be closed.
"""
