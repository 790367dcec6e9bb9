"""Browser settings that make the gateway the only network exit.

The module is pure data for `browser.launching` and `browser.config`, and imports no browser. With Playwright::

    browser = await chromium.launch(
        proxy={"server": DENY_ALL_PROXY, "bypass": PROXY_BYPASS}, args=[*CHROMIUM_EGRESS_ARGS, …]
    )
    context = await browser.new_context(proxy={"server": f"http://127.0.0.1:{session.port}", "bypass": PROXY_BYPASS})

The proxy of the launch refuses everything. So a context without a proxy of its own, the default context and the
browser's own services reach nothing. Only a context that names its session's port reaches the sites routed there.
``tests/browser/test_gateway_browser.py`` proves each line with a real browser.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["CHROMIUM_EGRESS_ARGS", "DENY_ALL_PROXY", "FIREFOX_EGRESS_PREFS", "PROXY_BYPASS", "trust_arguments"]

DENY_ALL_PROXY = "http://127.0.0.1:1"
"""Proxy address that refuses every connection at once: only root could listen on port 1, and nothing does."""

PROXY_BYPASS = "<-loopback>"
"""Bypass list that removes Chromium's rule that localhost, 127.0.0.0/8, [::1] and link-local addresses use no proxy."""

CHROMIUM_EGRESS_ARGS = (
    # WebRTC sends UDP that bypasses HTTP proxies (STUN, TURN, peers); this allows only traffic through the proxy.
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    # Full Chrome reads this spelling, headless shell and content shell the one above.
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    # No name is ever looked up (prefetch, preconnect, the browser's services); proxies are given by address.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    # Update checks, variations, safe browsing … would fail at the deny-all proxy, but keep trying.
    "--disable-background-networking",
    # HTTP/3 and WebTransport are UDP.
    "--disable-quic",
)
"""Launch flags of Chromium. None is ``--disable-features``: only its last occurrence counts, and Playwright sets it."""

FIREFOX_EGRESS_PREFS: Mapping[str, bool | int | str] = {
    # Playwright sets the launch's proxy for http only; requests that belong to no page must fail by other ways, too.
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 1,
    "network.proxy.socks": "127.0.0.1",
    "network.proxy.socks_port": 1,
    "network.proxy.socks_remote_dns": True,
    # localhost, 127.0.0.0/8 and [::1] go through the proxy as well.
    "network.proxy.allow_hijacking_localhost": True,
    # Requests that the proxy refuses are not retried without it.
    "network.proxy.allow_bypass": False,
    "network.proxy.failover_direct": False,
    # No name is ever looked up, by any method; proxies are given by address.
    "network.dns.disabled": True,
    "network.dns.disablePrefetch": True,
    "network.trr.mode": 5,
    "network.http.speculative-parallel-limit": 0,
    "network.predictor.enabled": False,
    "network.prefetch-next": False,
    # WebRTC sends UDP that bypasses HTTP proxies; HTTP/3 and WebTransport are UDP.
    "media.peerconnection.ice.proxy_only": True,
    "network.http.http3.enable": False,
    "network.webtransport.enabled": False,
    # The browser's own services: settings, experiments, telemetry, updates, push, captive portals, lists of bad sites.
    # They would only fail at the deny-all proxy, but keep trying.
    "app.normandy.enabled": False,
    "app.update.disabledForTesting": True,
    "browser.contentblocking.report.lockwise.enabled": False,
    "browser.newtabpage.activity-stream.feeds.system.topstories": False,
    "browser.newtabpage.enabled": False,
    "browser.region.network.url": "",
    "browser.region.update.enabled": False,
    "browser.safebrowsing.blockedURIs.enabled": False,
    "browser.safebrowsing.downloads.enabled": False,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "browser.safebrowsing.update.enabled": False,
    "browser.search.update": False,
    "browser.topsites.contile.enabled": False,
    "datareporting.healthreport.uploadEnabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "dom.push.connection.enabled": False,
    "extensions.getAddons.cache.enabled": False,
    "extensions.systemAddon.update.enabled": False,
    "extensions.update.enabled": False,
    "geo.provider.network.url": "",
    "identity.fxaccounts.enabled": False,
    "messaging-system.rsexperimentloader.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "security.OCSP.enabled": 0,
    "services.settings.server": "data:,#remote-settings-dummy/v1",  # heeded with MOZ_REMOTE_SETTINGS_DEVTOOLS=1 only
    "toolkit.telemetry.enabled": False,
    "toolkit.telemetry.server": "",
    "toolkit.telemetry.unified": False,
}
"""Preferences of Firefox with the same effect; they override the user's."""


def trust_arguments(spki: str) -> tuple[str, ...]:
    """Return Chromium's launch flags that trust the run's authority (`authority.Authority.spki`); none without one.

    A context that ignores all certificate errors is no substitute: service workers fail there. Chromium applies the
    flag only with a profile directory of its own (``--user-data-dir``), which Playwright always passes.
    """
    return (f"--ignore-certificate-errors-spki-list={spki}",) if spki else ()
