"""What an agent's session may use of the documents that the harness has scripts in."""

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
def sight() -> CdpSessionScope:
    sight = CdpSessionScope()
    assert sight.told("Runtime.executionContextCreated", {"context": PAGE}) == "show"
    assert sight.told("Runtime.executionContextCreated", {"context": OURS}) == "hide"
    reading = {"context": {**OURS, "name": f"{WORLD}-reading"}}
    assert sight.told("Runtime.executionContextCreated", reading) == "hide"
    assert sight.told("Debugger.scriptParsed", script("1", 4, default=True)) == "show"
    assert sight.told("Debugger.scriptParsed", script("2", 6, default=False)) == "hide"
    return sight


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
def test_what_it_was_not_shown_it_can_not_use(sight: CdpSessionScope, method: str, params: dict[str, Any]) -> None:
    assert sight.refuses(method, params)


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
def test_what_it_was_shown_it_can(sight: CdpSessionScope, method: str, params: dict[str, Any]) -> None:
    sight.answered("Page.createIsolatedWorld", {"executionContextId": 9})
    assert sight.told("Debugger.paused", paused("1")) == "show"
    assert sight.refuses(method, params) == ""


def test_a_page_that_stops_among_the_harness_s_scripts_goes_on(sight: CdpSessionScope) -> None:
    assert sight.told("Debugger.paused", paused("2", "1")) == "resume"
    assert sight.refuses("Debugger.evaluateOnCallFrame", {"callFrameId": "call1"})
    assert sight.told("Debugger.paused", paused("1")) == "show"
    assert sight.told("Debugger.resumed", {}) == "show"
    assert sight.refuses("Debugger.evaluateOnCallFrame", {"callFrameId": "call1"})


def test_what_the_harness_is_told_is_told_to_nobody_else(sight: CdpSessionScope) -> None:
    assert sight.told("Runtime.bindingCalled", {"name": BINDING, "payload": "{}"}) == "hide"
    assert sight.told("Runtime.bindingCalled", {"name": "mine", "payload": "{}"}) == "show"


def test_objects_of_all_scripts_are_not_handed_out() -> None:
    assert isinstance(decide("HeapProfiler.getObjectByHeapObjectId", {"objectId": "1"}), Refuse)
    assert isinstance(decide("HeapProfiler.addInspectedHeapObject", {"heapObjectId": "1"}), Refuse)


@pytest.mark.parametrize(("kind", "accepts"), [("Document", "text/html"), ("Image", "image/png")])
def test_a_page_that_is_intercepted_is_still_asked_for_as_a_page(
    sight: CdpSessionScope, kind: str, accepts: str
) -> None:
    """The gateway has nothing else to know it by where a host speaks plain http."""
    sight.told(
        "Fetch.requestPaused",
        {"requestId": "r1", "resourceType": kind, "request": {"headers": {"accept": "text/html", "X-A": "1"}}},
    )
    given = [{"name": "accept", "value": "image/png"}, {"name": "X-A", "value": "2"}]
    made = sight.faithful("Fetch.continueRequest", {"requestId": "r1", "headers": given})
    assert {each["name"].lower(): each["value"] for each in made["headers"]} == {"accept": accepts, "x-a": "2"}
    assert sight.faithful("Fetch.continueRequest", {"requestId": "r1"}) == {"requestId": "r1"}


def wait(sight: CdpSessionScope, request: str) -> None:
    """A document's request waits for the session."""
    fields = {"headers": {"Accept": "text/html"}}
    sight.told("Fetch.requestPaused", {"requestId": request, "resourceType": "Document", "request": fields})


def as_page(sight: CdpSessionScope, request: str) -> bool:
    """Whether it is asked for as a page, whatever the session says."""
    picture = [{"name": "Accept", "value": "image/png"}]
    made = sight.faithful("Fetch.continueRequest", {"requestId": request, "headers": picture})
    return bool(made["headers"] == [{"name": "Accept", "value": "text/html"}])


def test_a_page_is_asked_for_as_one_however_often_the_session_tries(sight: CdpSessionScope) -> None:
    """What the browser refuses leaves the request where it was."""
    wait(sight, "r1")
    assert as_page(sight, "r1")
    assert as_page(sight, "r1")
    sight.answered("Fetch.continueRequest", {}, request="r1")
    wait(sight, "r1")  # the same is stopped again by a redirect
    assert as_page(sight, "r1")


def test_of_pages_that_were_intercepted_none_that_waits_is_forgotten(
    sight: CdpSessionScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_webarena.browser.driven.cdp_session_scope._LET_GO", 2)
    for number in range(5):
        wait(sight, f"r{number}")
    assert all(as_page(sight, f"r{number}") for number in range(5))
    for number in range(4):
        sight.answered("Fetch.continueRequest", {}, request=f"r{number}")
    assert [as_page(sight, f"r{number}") for number in range(5)] == [False, False, True, True, True]
