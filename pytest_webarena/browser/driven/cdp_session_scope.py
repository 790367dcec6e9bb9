"""Objects that one protocol session of an agent has seen; it can use these and no others.

The harness has scripts in the same documents that report input, and code run among them could forge any report. Their
world has a random name, but commands refer to contexts by numbers, which can be guessed. So only numbers that the
session has received are accepted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pytest_webarena.browser.observation.fast.worlds import WORLD
from pytest_webarena.browser.tabs.dom_events import BINDING

__all__ = ["CdpSessionScope"]

_CONTEXTS = ("contextId", "executionContextId", "uniqueContextId")
_PLACES = ("location", "start", "end")
_LET_GO = 10_000
"""Maximum number of answered requests that are remembered, because a redirect pauses the same request again."""
_ENDINGS = frozenset(("Fetch.continueRequest", "Fetch.fulfillRequest", "Fetch.failRequest"))


class CdpSessionScope:
    """Contexts, scripts and call frames that the session knows. It has no side effects except on its own state."""

    def __init__(self) -> None:
        self._contexts: set[object] = set()
        self._scripts: set[object] = set()
        self._calls: set[object] = set()
        self._accepts: dict[object, str] = {}
        """Accept fields of document requests that are, or were, paused for the session, by request."""
        self._answered: dict[object, None] = {}
        """Those of them that were answered, oldest first. Requests that are still paused are never removed."""

    def filter_event(self, method: str, params: Mapping[str, Any]) -> Literal["show", "hide", "resume"]:
        """Decide about an event: ``show`` or ``hide`` it; ``resume``: hide it and let the page continue."""
        match method:
            case "Runtime.executionContextCreated":
                context = params.get("context", {})
                if str(context.get("name")).startswith(WORLD):
                    return "hide"
                self._contexts |= {context.get("id"), context.get("uniqueId")}
            case "Runtime.bindingCalled":
                return "hide" if params.get("name") == BINDING else "show"
            case "Debugger.scriptParsed" | "Debugger.scriptFailedToParse":
                default = params.get("executionContextAuxData", {}).get("isDefault") is True
                if not default and params.get("executionContextId") not in self._contexts:
                    return "hide"
                self._scripts.add(params.get("scriptId"))
            case "Debugger.paused":
                calls = params.get("callFrames", ())
                if any(call.get("location", {}).get("scriptId") not in self._scripts for call in calls):
                    return "resume"
                self._calls = {call.get("callFrameId") for call in calls}
            case "Debugger.resumed":
                self._calls = set()
            case "Fetch.requestPaused" if params.get("resourceType") == "Document":
                self._note_paused(params)
        return "show"

    def _note_paused(self, params: Mapping[str, Any]) -> None:
        fields = params.get("request", {}).get("headers", {})
        request = params.get("requestId")
        self._accepts[request] = next((fields[name] for name in fields if name.lower() == "accept"), "")
        self._answered.pop(request, None)

    def with_browser_accept(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Restore in a command the Accept field of the browser, by which the gateway recognises documents.

        Plain http has no other sign to distinguish tabs from resources, and tabs may not go everywhere.
        """
        if method != "Fetch.continueRequest":
            return params
        accepts = self._accepts.get(str(params.get("requestId")), None)
        headers = params.get("headers")
        if accepts is None or not isinstance(headers, list):
            return params
        other_headers = [
            each for each in headers if not (isinstance(each, Mapping) and str(each.get("name")).lower() == "accept")
        ]
        return {**params, "headers": [*other_headers, {"name": "Accept", "value": accepts}]}

    def answered(self, method: str, result: Mapping[str, Any], *, request: str = "") -> None:
        """Note that a command of the session succeeded; ``request``: the paused request in it."""
        if method == "Page.createIsolatedWorld":
            self._contexts.add(result.get("executionContextId"))
        elif method in _ENDINGS and request in self._accepts:
            self._answered[request] = None
            if len(self._answered) > _LET_GO:
                first = next(iter(self._answered))
                del self._answered[first], self._accepts[first]

    def refuses(self, method: str, params: Mapping[str, Any]) -> str:
        """Return why a command can't be forwarded; empty if it can."""
        for name in _CONTEXTS:
            if params.get(name) is not None and not _in(params[name], self._contexts):
                return "Cannot find context with specified id"
        if method.startswith("Debugger.") and any(not _in(script, self._scripts) for script in _scripts(params)):
            return "No script for id"
        if params.get("callFrameId") is not None and not _in(params["callFrameId"], self._calls):
            return "Could not find call frame with given id"
        worlds = (params.get("worldName"), params.get("executionContextName"))
        if any(str(name).startswith(WORLD) for name in worlds) or params.get("name") == BINDING:
            return "This name is taken"
        return ""


def _scripts(params: Mapping[str, Any]) -> Iterator[object]:
    for part in (params, *(params.get(name) for name in _PLACES)):
        if isinstance(part, Mapping) and part.get("scriptId") is not None:
            yield part["scriptId"]


def _in(value: object, known: set[object]) -> bool:
    return isinstance(value, int | str) and value in known
