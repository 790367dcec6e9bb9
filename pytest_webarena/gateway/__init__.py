"""Forward proxy that is the only network exit of a trial's browser.

It maps stable host names to leased replicas, refuses all other hosts, and records every request. It runs in the
broker's event loop. Each session has two loopback ports: one for the agent's browser, one for the harness's own
requests, which are recorded separately. `egress` has the browser settings that make the proxy the *only* exit.
Bytes travel through::

    session ─ listens; owns routes and log
    client ─── one browser connection: heads parsed (heads), refused (routes, pages) or started as an
    exchange ─ one request and its response, bodies followed (framing) and forwarded unchanged, over an
    upstream ─ connection from the route's pool
    authority ─ ends TLS for https hosts that are read, each with a certificate signed for this run
    tunnel ─── raw bytes both ways: WebSockets after their handshake, TLS sites that are not read

By design it does not look up names, cache, add ``Via`` or ``X-Forwarded-*`` (sites and records shall see what the
browser sent), repair malformed messages, or send anything twice, except an idempotent request without a body whose
pooled connection turned out to be closed.
"""
