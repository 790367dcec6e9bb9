"""Frame chains: the owner of a cross-site frame is queried until the parent document responds."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.tabs import frame_chains
from pytest_webarena.browser.tabs.frame_chains import FrameChains
from pytest_webarena.signals import ElementRecord

ANSWERS: Mapping[str, Mapping[str, Any]] = {
    "Page.getFrameTree": {"frameTree": {"frame": {"id": "page"}, "childFrames": [{"frame": {"id": "inner"}}]}},
    "DOM.getFrameOwner": {"backendNodeId": 7},
    "DOM.resolveNode": {"object": {"objectId": "node"}},
    "Runtime.callFunctionOn": {},
}


class Browser:
    """Responds after the given faults."""

    def __init__(self, *faults: Exception | None) -> None:
        self.faults = list(faults)
        self.followed: list[tuple[str, int]] = []
        self._context = 0

    async def send(self, method: str, params: dict[str, Any]) -> object:
        return {}

    async def ask(self, method: str, params: dict[str, Any]) -> Mapping[str, Any]:
        if method == "DOM.getFrameOwner" and self.faults:
            fault = self.faults.pop(0)
            if fault is None:
                return {}  # a nested session reports a failure like this
            raise fault
        if method == "DOM.resolveNode":
            self._context = params["executionContextId"]
        if method == "Runtime.callFunctionOn":
            self.followed.append((params["arguments"][0]["value"], self._context))
        return ANSWERS[method]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_chains, "_AGAIN", (0.0, 0.0, 0.0))


@pytest.mark.parametrize("fault", [None, TimeoutError(), PlaywrightError("busy")])
def test_frame_owner_is_queried_again_after_a_fault(fault: Exception | None) -> None:
    browser = Browser(fault, fault, fault)
    chains = FrameChains("function")
    assert chains.note_listener("page", browser, 3) == []
    asyncio.run(chains.follow("inner", browser))
    assert browser.followed == [("inner", 3)]


def test_frame_owner_query_is_given_up_after_repeated_faults() -> None:
    browser = Browser(*[PlaywrightError("gone")] * 9)
    chains = FrameChains("function")
    chains.note_listener("page", browser, 3)
    asyncio.run(chains.follow("inner", browser))
    assert browser.followed == []
    assert len(browser.faults) == 5


def test_event_from_a_given_up_frame_restarts_the_query() -> None:
    browser = Browser(*[PlaywrightError("busy")] * 4)
    chains = FrameChains("function")
    chains.note_listener("page", browser, 3)
    chains.note_listener("inner", browser, 4)
    asyncio.run(chains.follow("inner", browser))
    assert browser.followed == []
    element = ElementRecord(tag="html", attributes={}, nth=1, children=1, nth_of_type=1, of_type=1, within="frame")
    assert chains.extend_chain("inner", (element,), False) == ((element,), False, "inner")
    asyncio.run(chains.follow_again("inner"))
    assert browser.followed == [("inner", 3)]


def test_frame_that_listens_before_its_parent_is_followed_later() -> None:
    browser = Browser()
    chains = FrameChains("function")
    asyncio.run(chains.follow("inner", browser))
    assert browser.followed == []
    assert chains.note_listener("other", browser, 2) == []
    ((frame, channel),) = chains.note_listener("page", browser, 3)
    asyncio.run(chains.follow(frame, channel))
    assert browser.followed == [("inner", 3)]
    assert chains.note_listener("page", browser, 4) == []
