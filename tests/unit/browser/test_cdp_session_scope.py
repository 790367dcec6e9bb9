"""CDP session scope: an agent cannot see or use the harness's scripts in a document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pytest_webarena.browser.driven.cdp_session_scope import CdpSessionScope
from pytest_webarena.browser.driven.policy import Refuse, decide
from pytest_webarena.browser.observation.fast.worlds import WORLD
from pytest_webarena.browser.tabs.dom_events import BINDING

PAGE = {"id": 4, "uniqueId": "1.4", "name": "", "auxData": {"isDefault": True}}
OURS = {"id": 6, "uniqueId": "1.6", "name": WORLD, "auxData": {"isDefault": False}}


def script(id: str, context: int, *, default: bool) -> Mapping[str, Any]:
    return {"scriptId": id, "executionContextId": context, "executionContextAuxData": {"isDefault": default}}


def paused(*scripts: str) -> Mapping[str, Any]:
    return {"callFrames": [{"callFrameId": f"call{id}", "location": {"scriptId": id}} for id in scripts]}


@pytest.fixture
def scope() -> CdpSessionScope:
    scope = CdpSessionScope()
    assert scope.filter_event("Runtime.executionContextCreated", {"context": PAGE}) == "show"
    assert scope.filter_event("Runtime.executionContextCreated", {"context": OURS}) == "hide"
    reading = {"context": {**OURS, "name": f"{WORLD}-reading"}}
    assert scope.filter_event("Runtime.executionContextCreated", reading) == "hide"
    assert scope.filter_event("Debugger.scriptParsed", script("1", 4, default=True)) == "show"
    assert scope.filter_event("Debugger.scriptParsed", script("2", 6, default=False)) == "hide"
    return scope


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("Runtime.evaluate", {"contextId": 6}),
        ("Runtime.evaluate", {"uniqueContextId": "1.6"}),
        ("Runtime.evaluate", {"contextId": 7}),
        ("Runtime.evaluate", {"contextId": [4]}),
        ("Runtime.callFunctionOn", {"executionContextId": 6}),
        ("DOM.resolveNode", {"backendNodeId": 1, "executionContextId": 6}),
        ("Runtime.addBinding", {"name": "x", "executionContextId": 6}),
        ("Runtime.addBinding", {"name": "x", "executionContextName": WORLD}),
        ("Runtime.addBinding", {"name": BINDING}),
        ("Page.createIsolatedWorld", {"frameId": "F", "worldName": WORLD}),
        ("Page.createIsolatedWorld", {"frameId": "F", "worldName": f"{WORLD}-reading"}),
        ("Page.addScriptToEvaluateOnNewDocument", {"source": "", "worldName": WORLD}),
        ("Debugger.getScriptSource", {"scriptId": "2"}),
        ("Debugger.setScriptSource", {"scriptId": "2", "scriptSource": ""}),
        ("Debugger.setBreakpoint", {"location": {"scriptId": "2"}}),
        ("Debugger.getPossibleBreakpoints", {"start": {"scriptId": "2"}}),
        ("Debugger.evaluateOnCallFrame", {"callFrameId": "call2", "expression": ""}),
    ],
)
def test_commands_on_hidden_contexts_and_scripts_are_refused(
    scope: CdpSessionScope, method: str, params: dict[str, Any]
) -> None:
    assert scope.refuses(method, params)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("Runtime.evaluate", {"expression": "1"}),
        ("Runtime.evaluate", {"contextId": 4}),
        ("Runtime.evaluate", {"uniqueContextId": "1.4"}),
        ("Runtime.evaluate", {"contextId": 9}),
        ("Runtime.addBinding", {"name": "mine", "executionContextName": "my world"}),
        ("Page.createIsolatedWorld", {"frameId": "F", "worldName": "my world"}),
        ("Debugger.getScriptSource", {"scriptId": "1"}),
        ("Debugger.setBreakpoint", {"location": {"scriptId": "1"}}),
        ("Debugger.evaluateOnCallFrame", {"callFrameId": "call1", "expression": ""}),
        ("Debugger.enable", {}),
    ],
)
def test_commands_on_visible_contexts_and_scripts_are_allowed(
    scope: CdpSessionScope, method: str, params: dict[str, Any]
) -> None:
    scope.answered("Page.createIsolatedWorld", {"executionContextId": 9})
    assert scope.filter_event("Debugger.paused", paused("1")) == "show"
    assert scope.refuses(method, params) == ""


def test_pause_inside_harness_scripts_is_resumed(scope: CdpSessionScope) -> None:
    assert scope.filter_event("Debugger.paused", paused("2", "1")) == "resume"
    assert scope.refuses("Debugger.evaluateOnCallFrame", {"callFrameId": "call1"})
    assert scope.filter_event("Debugger.paused", paused("1")) == "show"
    assert scope.filter_event("Debugger.resumed", {}) == "show"
    assert scope.refuses("Debugger.evaluateOnCallFrame", {"callFrameId": "call1"})


def test_binding_calls_of_the_harness_are_hidden(scope: CdpSessionScope) -> None:
    assert scope.filter_event("Runtime.bindingCalled", {"name": BINDING, "payload": "{}"}) == "hide"
    assert scope.filter_event("Runtime.bindingCalled", {"name": "mine", "payload": "{}"}) == "show"


def test_heap_objects_are_refused() -> None:
    assert isinstance(decide("HeapProfiler.getObjectByHeapObjectId", {"objectId": "1"}), Refuse)
    assert isinstance(decide("HeapProfiler.addInspectedHeapObject", {"heapObjectId": "1"}), Refuse)


@pytest.mark.parametrize(("kind", "accepts"), [("Document", "text/html"), ("Image", "image/png")])
def test_intercepted_request_keeps_its_accept_header(scope: CdpSessionScope, kind: str, accepts: str) -> None:
    """With plain http, the gateway recognises pages only by their Accept header."""
    scope.filter_event(
        "Fetch.requestPaused",
        {"requestId": "r1", "resourceType": kind, "request": {"headers": {"accept": "text/html", "X-A": "1"}}},
    )
    given = [{"name": "accept", "value": "image/png"}, {"name": "X-A", "value": "2"}]
    made = scope.with_browser_accept("Fetch.continueRequest", {"requestId": "r1", "headers": given})
    assert {each["name"].lower(): each["value"] for each in made["headers"]} == {"accept": accepts, "x-a": "2"}
    assert scope.with_browser_accept("Fetch.continueRequest", {"requestId": "r1"}) == {"requestId": "r1"}


def wait(scope: CdpSessionScope, request: str) -> None:
    """Pause a document request for the session."""
    fields = {"headers": {"Accept": "text/html"}}
    scope.filter_event("Fetch.requestPaused", {"requestId": request, "resourceType": "Document", "request": fields})


def as_page(scope: CdpSessionScope, request: str) -> bool:
    """Return whether the request keeps its Accept header whatever the session sets."""
    picture = [{"name": "Accept", "value": "image/png"}]
    made = scope.with_browser_accept("Fetch.continueRequest", {"requestId": request, "headers": picture})
    return bool(made["headers"] == [{"name": "Accept", "value": "text/html"}])


def test_intercepted_page_keeps_its_accept_header_on_every_try(scope: CdpSessionScope) -> None:
    """A command that the browser refuses leaves the request paused."""
    wait(scope, "r1")
    assert as_page(scope, "r1")
    assert as_page(scope, "r1")
    scope.answered("Fetch.continueRequest", {}, request="r1")
    wait(scope, "r1")  # the same is stopped again by a redirect
    assert as_page(scope, "r1")


def test_paused_requests_are_never_evicted(scope: CdpSessionScope, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_webarena.browser.driven.cdp_session_scope._LET_GO", 2)
    for number in range(5):
        wait(scope, f"r{number}")
    assert all(as_page(scope, f"r{number}") for number in range(5))
    for number in range(4):
        scope.answered("Fetch.continueRequest", {}, request=f"r{number}")
    assert [as_page(scope, f"r{number}") for number in range(5)] == [False, False, True, True, True]
