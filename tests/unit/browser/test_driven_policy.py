"""CDP commands that a self-driving agent may send."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_webarena.browser.driven.policy import Answer, Pass, Refuse, decide
from tests.cases import each_case


@each_case(
    ("method", "params"),
    [
        ("Page.navigate", {"url": "http://shop.test/"}),
        ("Page.navigate", {"url": "about:blank"}),
        ("Page.captureScreenshot", {}),
        ("Runtime.evaluate", {"expression": "1"}),
        ("Input.dispatchMouseEvent", {"type": "mousePressed", "x": 1, "y": 2}),
        ("DOM.getDocument", {}),
        ("Target.setAutoAttach", {"autoAttach": True, "flatten": True}),
        ("Target.attachToTarget", {"targetId": "A", "flatten": True}),
        ("Browser.getVersion", {}),
        ("Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "notifications"]}),
        ("Browser.grantPermissions", {"permissions": ["geolocation"], "origin": "http://shop.test"}),
        ("Browser.setPermission", {"permission": {"name": "clipboard-read"}, "setting": "granted"}),
        ("Browser.setPermission", {"permission": {"name": "camera"}, "setting": "denied"}),
        ("Browser.resetPermissions", {}),
        ("Browser.setContentsSize", {"windowId": 1, "width": 800, "height": 600}),
        ("Browser.setWindowBounds", {"windowId": 1, "bounds": {"windowState": "normal"}}),
        ("Fetch.continueRequest", {"requestId": "1"}),
        ("Input.dispatchDragEvent", {"data": {"items": []}}),
    ],
)
def test_page_commands_pass(method: str, params: dict[str, Any]) -> None:
    assert decide(method, params) == Pass(params)


@each_case(
    ("method", "params"),
    [
        ("Target.createBrowserContext", {"proxyServer": "http://evil.test"}),
        ("Target.disposeBrowserContext", {"browserContextId": "A"}),
        ("Target.exposeDevToolsProtocol", {"targetId": "A"}),
        ("Target.sendMessageToTarget", {"message": "{}"}),
        ("Target.attachToTarget", {"targetId": "A"}),
        ("Target.setAutoAttach", {"autoAttach": True, "flatten": False}),
        ("Target.openDevTools", {"targetId": "A"}),
        ("Target.createTarget", {"url": "file:///etc/passwd"}),
        ("Target.createTarget", {"url": "http://shop.test/", "browserContextId": "A"}),
        ("Browser.getBrowserCommandLine", {}),
        ("Browser.crash", {}),
        ("Browser.grantPermissions", {"permissions": ["geolocation", "videoCapture"]}),
        ("Browser.grantPermissions", {"permissions": ["madeUpLater"]}),
        ("Browser.setPermission", {"permission": {"name": "camera"}, "setting": "granted"}),
        ("Browser.setWindowBounds", {"windowId": 1, "bounds": {"windowState": "minimized"}}),
        ("Browser.setContentsSize", {"windowId": 1, "width": 0, "height": 500}),
        ("Browser.setContentsSize", {"windowId": 1, "width": 800, "height": 10**6}),
        ("Browser.setDockTile", {}),
        ("SystemInfo.getInfo", {}),
        ("SystemInfo.getProcessInfo", {}),
        ("Tethering.bind", {"port": 9}),
        ("Extensions.loadUnpacked", {"path": "/tmp"}),
        ("PWA.launch", {}),
        ("Tracing.start", {}),
        ("FileSystem.getDirectory", {}),
        ("DOM.setFileInputFiles", {"files": ["/etc/passwd"]}),
        ("DOM.getFileInfo", {}),
        ("Input.dispatchDragEvent", {"data": {"files": ["/etc/passwd"]}}),
        ("Fetch.continueRequest", {"requestId": "1", "url": "file:///etc/passwd"}),
        ("Network.loadNetworkResource", {"url": "file:///etc/passwd"}),
        ("Page.crash", {}),
        ("Something.new", {}),
        ("nonsense", {}),
        ("", {}),
    ],
)
def test_browser_level_commands_are_refused(method: str, params: dict[str, Any]) -> None:
    assert isinstance(decide(method, params), Refuse)


@each_case(
    "url",
    [
        "file:///etc/passwd", "FILE:///etc/passwd", " file:///etc/passwd", "fi\nle:///etc/passwd", "\x01file:///etc",
        "chrome://version", "chrome-error://chromewebdata/", "devtools://devtools/bundled/inspector.html",
        "view-source:http://shop.test/", "javascript:alert(1)", "data:text/html,x", "about:version", "blob:file:///x",
        "chrome-extension://abc/x.html", "ftp://shop.test/", "filesystem:http://shop.test/x", "/etc/passwd",
    ],
)  # fmt: skip
def test_navigation_to_other_schemes_is_refused(url: str) -> None:
    assert isinstance(decide("Page.navigate", {"url": url}), Refuse)


@pytest.mark.parametrize("method", ["Browser.setDownloadBehavior", "Page.setDownloadBehavior", "Browser.close"])
def test_download_and_close_commands_are_answered_without_effect(method: str) -> None:
    assert decide(method, {"behavior": "allow", "downloadPath": "/tmp"}) == Answer({})


def test_other_browser_contexts_are_hidden() -> None:
    assert decide("Target.getBrowserContexts", {}) == Answer({"browserContextIds": []})
    assert decide("Storage.getCookies", {"browserContextId": "A"}) == Pass({})


def test_clipboard_permission_is_refused_in_a_headed_browser() -> None:
    asked = {"permissions": ["clipboardReadWrite", "notifications"]}
    refused = decide("Browser.grantPermissions", asked, headed=True)
    assert isinstance(refused, Refuse)
    assert "clipboardReadWrite would" in refused.reason
    assert decide("Browser.grantPermissions", {"permissions": ["notifications"]}, headed=True) == Pass(
        {"permissions": ["notifications"]}
    )


def test_create_context_error_names_the_existing_context() -> None:
    refused = decide("Target.createBrowserContext", {})
    assert isinstance(refused, Refuse)
    assert "browser.contexts[0]" in refused.reason


@pytest.mark.parametrize(
    ("method", "given", "kept"),
    [
        ("Network.setExtraHTTPHeaders", {"sec-fetch-dest": "image", "X-A": "1"}, {"X-A": "1"}),
        (
            "Fetch.continueRequest",
            [{"name": "Sec-Fetch-Dest", "value": "image"}, {"name": "X-A", "value": "1"}, "odd"],
            [{"name": "X-A", "value": "1"}, "odd"],
        ),
    ],
)
def test_fetch_metadata_headers_cannot_be_forged(method: str, given: Any, kept: Any) -> None:
    """With plain http, a forged destination would let a tab open hosts that only subresources may use."""
    assert decide(method, {"headers": given}) == Pass({"headers": kept})
