"""What a self-driving agent may say to its browser: a list of what is allowed; everything else is refused.

Allowed are the protocol domains that look at pages and act on them. Kept back is whatever reaches past the pages of the
task: other contexts and their proxies, the browser's own settings, the disk, ports, extensions, pages that are not the
web's, and every way to hand the unfiltered protocol on. A few commands without which common clients refuse to work are
answered here, without an effect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_webarena.browser.tabs.address_guard import allowed_in_tab

__all__ = ["Answer", "Decision", "Pass", "Refuse", "decide"]


@dataclass(frozen=True, slots=True)
class Pass:
    """Hand the command on, with these parameters."""

    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """Say that it is done, and do nothing."""

    result: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer with an error."""

    reason: str


Decision = Pass | Answer | Refuse

_DOMAINS = frozenset(
    {
        "Accessibility", "Animation", "Audits", "CSS", "DOM", "DOMDebugger", "DOMSnapshot", "DOMStorage", "Debugger",
        "Emulation", "Fetch", "HeapProfiler", "IO", "IndexedDB", "Input", "Inspector", "LayerTree", "Log", "Media",
        "Network", "Overlay", "Page", "Performance", "PerformanceTimeline", "Profiler", "Runtime", "Schema", "Security",
        "ServiceWorker", "Storage", "WebAudio", "WebAuthn",
    }
)  # fmt: skip
"""Page-level domains. ``SystemInfo`` tells the command line, ``Tethering`` opens ports, ``Extensions`` and ``PWA`` load
from disk or run programs, ``Tracing`` records all contexts: those and whatever is invented next are not here."""

_TARGET = frozenset(
    {
        "Target.activateTarget", "Target.attachToBrowserTarget", "Target.attachToTarget", "Target.autoAttachRelated",
        "Target.closeTarget", "Target.createTarget", "Target.detachFromTarget", "Target.getTargetInfo",
        "Target.getTargets", "Target.setAutoAttach", "Target.setDiscoverTargets",
    }
)  # fmt: skip
_BROWSER = frozenset({"Browser.getVersion", "Browser.getWindowBounds", "Browser.getWindowForTarget"})

_ANSWERED: Mapping[str, Mapping[str, Any]] = {
    "Browser.close": {},
    "Browser.setDownloadBehavior": {},
    "Page.setDownloadBehavior": {},
    "Target.getBrowserContexts": {"browserContextIds": []},
}
"""Playwright and Puppeteer send these by themselves. Downloads are the harness's to receive; closing means leaving."""

_FILES = "it reads files of this machine"
_OBJECTS = "it hands out objects of the harness's own scripts"
_REFUSED: Mapping[str, str] = {
    "DOM.getFileInfo": _FILES,
    "DOM.setFileInputFiles": _FILES,
    "Page.handleFileChooser": _FILES,
    "HeapProfiler.addInspectedHeapObject": _OBJECTS,
    "HeapProfiler.getObjectByHeapObjectId": _OBJECTS,
    "Page.crash": "it would end the page",
    "Page.addCompilationCache": "it changes what the site's scripts are",
    "Runtime.terminateExecution": "it would stop the page's scripts, the harness's among them",
    "Target.createBrowserContext": "there is one context, the task's; use the default one",
    "Target.disposeBrowserContext": "there is one context, the task's; use the default one",
    "Target.exposeDevToolsProtocol": "it hands the unfiltered protocol to a page",
    "Target.sendMessageToTarget": "it goes around the filter; attach with flatten: true",
    "Target.setRemoteLocations": "it connects the browser to another endpoint",
}


def decide(method: str, params: Mapping[str, Any]) -> Decision:
    """What becomes of one command. Pure: whose session it goes to is the caller's matter."""
    if method in _ANSWERED:
        return Answer(_ANSWERED[method])
    if reason := _REFUSED.get(method):
        return Refuse(f"{method} is refused: {reason}")
    domain = method.partition(".")[0]
    if domain not in _DOMAINS and method not in _TARGET and method not in _BROWSER:
        return Refuse(f"{method} is refused: an agent may use the pages of its task and nothing else of the browser")
    return _checked(method, params)


def _checked(method: str, params: Mapping[str, Any]) -> Decision:
    """A command that is allowed unless its parameters lead elsewhere."""
    if method in ("Target.attachToTarget", "Target.setAutoAttach", "Target.autoAttachRelated"):
        if method != "Target.autoAttachRelated" and params.get("flatten") is not True:
            return Refuse(f"{method} is refused without flatten: true, for nested messages go around the filter")
        return Pass(params)
    if method == "Target.createTarget":
        if params.get("browserContextId"):
            return Refuse(f"{method} is refused: there is one context, the task's; leave browserContextId out")
        kept = {key: value for key, value in params.items() if key not in ("forTab", "hidden")}
        return _to_web(method, {**kept, "url": params.get("url") or "about:blank"}, "url")
    if method in ("Page.navigate", "Network.loadNetworkResource", "Fetch.continueRequest"):
        return _to_web(method, params, "url")
    if method == "Input.dispatchDragEvent":
        data = params.get("data")
        if isinstance(data, Mapping) and data.get("files"):
            return Refuse(f"{method} is refused with files: {_FILES}")
    if "browserContextId" in params and params["browserContextId"] is not None:
        return Pass({key: value for key, value in params.items() if key != "browserContextId"})
    return Pass(params)


def _to_web(method: str, params: Mapping[str, Any], key: str) -> Decision:
    """Only addresses of the web, wherever a tab is sent."""
    url = params.get(key)
    if url is None:
        return Pass(params)
    # The browser ignores white space around and line ends within an address, so they are no way past this.
    plain = "".join(c for c in str(url) if c.isprintable()).strip()
    if plain == "" or not allowed_in_tab(plain) or plain.startswith(("blob:", "chrome-error:")):
        return Refuse(f"{method} to {plain[:100]!r} is refused: only http and https addresses can be opened")
    return Pass({**params, key: plain})
