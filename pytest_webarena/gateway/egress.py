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

from collections.abc import Mapping

__all__ = ["CHROMIUM_EGRESS_ARGS", "DENY_ALL_PROXY", "FIREFOX_EGRESS_PREFS", "PROXY_BYPASS", "trust_arguments"]

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

FIREFOX_EGRESS_PREFS: Mapping[str, bool | int | str] = {
    # Playwright gives the launch's proxy for http only; what is not a page's own has to fail on any other way as well.
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 1,
    "network.proxy.socks": "127.0.0.1",
    "network.proxy.socks_port": 1,
    "network.proxy.socks_remote_dns": True,
    # localhost, 127.0.0.0/8 and [::1] go through the proxy as well.
    "network.proxy.allow_hijacking_localhost": True,
    # What the proxy does not take is not tried without it.
    "network.proxy.allow_bypass": False,
    "network.proxy.failover_direct": False,
    # No name is ever looked up, by whatever means; proxies are given by address.
    "network.dns.disabled": True,
    "network.dns.disablePrefetch": True,
    "network.trr.mode": 5,
    "network.http.speculative-parallel-limit": 0,
    "network.predictor.enabled": False,
    "network.prefetch-next": False,
    # WebRTC sends UDP past HTTP proxies; HTTP/3 and WebTransport are UDP.
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
"""Preferences of Firefox that do the same; they win over the user's."""


def trust_arguments(spki: str) -> tuple[str, ...]:
    """Launch flags of Chromium by which it trusts the run's authority (`authority.Authority.spki`); none without one.

    Not a context that ignores all errors of certificates: service workers fail there. Heeded only where the browser has
    a profile directory of its own (``--user-data-dir``), which Playwright always gives it.
    """
    return (f"--ignore-certificate-errors-spki-list={spki}",) if spki else ()
