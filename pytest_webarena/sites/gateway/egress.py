"""Browser settings that leave the gateway as the only way out.

Pure data: the browser room launches with it, nothing here imports a browser. With Playwright::

    browser = await chromium.launch(
        proxy={"server": DENY_ALL_PROXY, "bypass": PROXY_BYPASS}, args=[*CHROMIUM_EGRESS_ARGS, …]
    )
    context = await browser.new_context(proxy={"server": f"http://127.0.0.1:{session.port}", "bypass": PROXY_BYPASS})

The launch-level proxy refuses everything, so a context that was forgotten, the browser's own services and its
default context reach nothing; only a context that names its session's port gets out, and only to the sites
routed there. ``tests/browser/test_gateway_browser.py`` proves each line with a real browser.
"""

from __future__ import annotations

__all__ = ["CHROMIUM_EGRESS_ARGS", "DENY_ALL_PROXY", "PROXY_BYPASS"]

DENY_ALL_PROXY = "http://127.0.0.1:1"
"""A proxy that refuses the connection at once: only root could listen on port 1, and nothing does."""

PROXY_BYPASS = "<-loopback>"
"""Takes back Chromium's rule that localhost, 127.0.0.0/8, [::1] and link-local addresses bypass any proxy."""

CHROMIUM_EGRESS_ARGS = (
    # WebRTC sends UDP past HTTP proxies (STUN, TURN, peers); this allows only what goes through the proxy.
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    # Full Chrome reads this spelling, headless shell and content shell the one above.
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    # No name is ever looked up (prefetch, preconnect, the browser's services); proxies are given by address.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    # Update checks, variations, safe browsing …: they would only fail at the deny-all proxy, but keep trying.
    "--disable-background-networking",
    # HTTP/3 and WebTransport are UDP.
    "--disable-quic",
)
"""Launch flags; none is a ``--disable-features`` list, of which only the last counts, and Playwright passes one."""
