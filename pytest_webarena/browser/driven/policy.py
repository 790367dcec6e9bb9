"""Allow-list of protocol commands for self-driving agents; everything else is refused.

Protocol domains that read pages and act on them are allowed. Everything beyond the pages of the task is refused: other
contexts and their proxies, the browser's own settings, the disk, ports, extensions, pages that are not web pages, and
every way to expose the unfiltered protocol. A few commands that common clients require are acknowledged without an
effect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_webarena.browser.tabs.address_guard import allowed_in_tab

__all__ = ["Answer", "Decision", "Pass", "Refuse", "decide"]


@dataclass(frozen=True, slots=True)
class Pass:
    """Forward the command with these parameters."""

    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """Report success without doing anything."""

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
"""Page-level domains. Not included are ``SystemInfo``, which reveals the command line, ``Tethering``, which opens
ports, ``Extensions`` and ``PWA``, which load from disk or run programs, ``Tracing``, which records all contexts, and
any domain that is added in the future."""

_TARGET = frozenset(
    {
        "Target.activateTarget", "Target.attachToBrowserTarget", "Target.attachToTarget", "Target.autoAttachRelated",
        "Target.closeTarget", "Target.createTarget", "Target.detachFromTarget", "Target.getTargetInfo",
        "Target.getTargets", "Target.setAutoAttach", "Target.setDiscoverTargets",
    }
)  # fmt: skip
_BROWSER = frozenset(
    {
        "Browser.getVersion", "Browser.getWindowBounds", "Browser.getWindowForTarget", "Browser.grantPermissions",
        "Browser.resetPermissions", "Browser.setContentsSize", "Browser.setPermission", "Browser.setWindowBounds",
    }
)  # fmt: skip
_LARGEST_WINDOW = 10_000
"""Maximum length of a window's side in CSS pixels."""
_PERMISSIONS = frozenset(
    {
        "accelerometer", "backgroundfetch", "backgroundsync", "durablestorage", "geolocation", "gyroscope",
        "magnetometer", "notifications", "paymenthandler", "periodicbackgroundsync", "persistentstorage", "push",
        "screenwakelock", "sensors", "storageaccess", "toplevelstorageaccess", "wakelockscreen", "wakelocksystem",
    }
)  # fmt: skip
"""Permissions that may be granted, in lower case without dashes, because the protocol and the web spell them
differently. Devices of the machine (camera, microphone, screen, fonts, ports) and future permissions are excluded."""
_CLIPBOARD = frozenset({"clipboardread", "clipboardreadwrite", "clipboardsanitizedwrite", "clipboardwrite"})
"""Permissions without a window only: a headless browser has its own clipboard, others have the user's."""

_ANSWERED: Mapping[str, Mapping[str, Any]] = {
    "Browser.close": {},
    "Browser.setDownloadBehavior": {},
    "Page.setDownloadBehavior": {},
    "Target.getBrowserContexts": {"browserContextIds": []},
}
"""Commands that Playwright and Puppeteer send automatically. The harness keeps downloads; closing disconnects."""

_FILES = "it reads files of this machine"
_ONE_CONTEXT = (
    "there is one context, which is signed in and has the task's tabs; use it: browser.contexts[0] in "
    "Playwright, browser.defaultBrowserContext() in Puppeteer"
)
_OBJECTS = "it exposes objects of the harness's own scripts"
_REFUSED: Mapping[str, str] = {
    "DOM.getFileInfo": _FILES,
    "DOM.setFileInputFiles": _FILES,
    "Page.handleFileChooser": _FILES,
    "HeapProfiler.addInspectedHeapObject": _OBJECTS,
    "HeapProfiler.getObjectByHeapObjectId": _OBJECTS,
    "Page.crash": "it would end the page",
    "Page.addCompilationCache": "it replaces the site's scripts",
    "Runtime.terminateExecution": "it would stop the harness's scripts in the page",
    "Target.createBrowserContext": _ONE_CONTEXT,
    "Target.disposeBrowserContext": _ONE_CONTEXT,
    "Target.exposeDevToolsProtocol": "it exposes the unfiltered protocol to a page",
    "Target.sendMessageToTarget": "it bypasses the filter; attach with flatten: true",
    "Target.setRemoteLocations": "it connects the browser to another endpoint",
}


def decide(method: str, params: Mapping[str, Any], *, headed: bool = False) -> Decision:
    """Return whether a command is forwarded (perhaps with other parameters), acknowledged, or refused.

    ``headed``: whether the browser has a window on a person's screen.
    """
    if method in _ANSWERED:
        return Answer(_ANSWERED[method])
    if reason := _REFUSED.get(method):
        return Refuse(f"{method} is refused: {reason}")
    domain = method.partition(".")[0]
    if domain not in _DOMAINS and method not in _TARGET and method not in _BROWSER:
        return Refuse(f"{method} is refused: an agent may use only the pages of its task")
    if method in _BROWSER and (reason := _browser_refusal(method, params, headed=headed)):
        return Refuse(f"{method} is refused: {reason}")
    return _decide_by_params(method, params)


def _browser_refusal(method: str, params: Mapping[str, Any], *, headed: bool) -> str:
    """Return why a command to the browser would affect more than the task's pages; empty if it does not."""
    if method in ("Browser.grantPermissions", "Browser.setPermission"):
        return _permission_refusal(params, headed=headed)
    if method in ("Browser.setContentsSize", "Browser.setWindowBounds"):
        return _size_refusal(params)
    return ""


def _permission_refusal(params: Mapping[str, Any], *, headed: bool) -> str:
    """Return why the permissions must not be granted; empty if they may."""
    one, several = params.get("permission"), params.get("permissions")
    permissions = list(several) if isinstance(several, list) else []
    if isinstance(one, Mapping) and params.get("setting") == "granted":  # denials are harmless
        permissions.append(one.get("name"))
    allowed = _PERMISSIONS if headed else _PERMISSIONS | _CLIPBOARD
    refused = [str(name)[:40] for name in permissions if str(name).replace("-", "").lower() not in allowed]
    return f"{', '.join(refused)} would give pages access to this machine" if refused else ""


def _size_refusal(params: Mapping[str, Any]) -> str:
    """Return why a window must not get these bounds; empty if it may. Minimised windows draw nothing to capture."""
    bounds = params.get("bounds", params)
    if not isinstance(bounds, Mapping) or bounds.get("windowState") not in (None, "normal"):
        return "a window keeps its normal state; give it a width and a height"
    sides = [bounds[side] for side in ("width", "height") if bounds.get(side) is not None]
    if not all(isinstance(side, int | float) and 1 <= side <= _LARGEST_WINDOW for side in sides):
        return f"expected a width and a height from 1 to {_LARGEST_WINDOW}"
    return ""


def _decide_by_params(method: str, params: Mapping[str, Any]) -> Decision:
    """Decide about an allowed command by its parameters."""
    if method in ("Target.attachToTarget", "Target.setAutoAttach", "Target.autoAttachRelated"):
        if method != "Target.autoAttachRelated" and params.get("flatten") is not True:
            return Refuse(f"{method} is refused without flatten: true, because nested messages bypass the filter")
        return Pass(params)
    if method == "Target.createTarget":
        if params.get("browserContextId"):
            return Refuse(f"{method} is refused: there is one context; omit browserContextId")
        filtered = {key: value for key, value in params.items() if key not in ("forTab", "hidden")}
        return _if_web_address(method, {**filtered, "url": params.get("url") or "about:blank"}, "url")
    if method in ("Network.setExtraHTTPHeaders", "Fetch.continueRequest"):
        params = _without_fetch_metadata(params)
    if method in ("Page.navigate", "Network.loadNetworkResource", "Fetch.continueRequest"):
        return _if_web_address(method, params, "url")
    if method == "Input.dispatchDragEvent":
        data = params.get("data")
        if isinstance(data, Mapping) and data.get("files"):
            return Refuse(f"{method} is refused with files: {_FILES}")
    if "browserContextId" in params and params["browserContextId"] is not None:
        return Pass({key: value for key, value in params.items() if key != "browserContextId"})
    return Pass(params)


def _without_fetch_metadata(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the parameters without header fields ``Sec-Fetch-*``, which only the browser may set.

    It overwrites them in requests to secure hosts, but not in others.
    """
    match params.get("headers"):
        case Mapping() as fields:
            return {**params, "headers": {name: fields[name] for name in fields if not _is_fetch_metadata(name)}}
        case [*pairs]:
            filtered = [
                each for each in pairs if not (isinstance(each, Mapping) and _is_fetch_metadata(each.get("name")))
            ]
            return {**params, "headers": filtered}
    return params


def _is_fetch_metadata(name: object) -> bool:
    return str(name).strip().lower().startswith("sec-fetch-")


def _if_web_address(method: str, params: Mapping[str, Any], key: str) -> Decision:
    """Forward the command if the address in ``params[key]`` is a web address or missing; else refuse it."""
    url = params.get(key)
    if url is None:
        return Pass(params)
    # The browser ignores white space around an address and line ends in it, so they are removed before the check.
    plain = "".join(c for c in str(url) if c.isprintable()).strip()
    if plain == "" or not allowed_in_tab(plain) or plain.startswith(("blob:", "chrome-error:")):
        return Refuse(f"{method} to {plain[:100]!r} is refused: only http and https addresses can be opened")
    return Pass({**params, key: plain})
