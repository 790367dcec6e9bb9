"""Sharing of a browser connection between clients, with a fake browser."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from pytest_webarena.browser.driven.hub import Client, Hub


class FakeBrowser:
    """Answers every command; sessions are numbered."""

    def __init__(self) -> None:
        self.hub = Hub(self, self._before)
        self.said: list[Mapping[str, Any]] = []
        self.outcome = "result"

    async def _before(self, command: object) -> str:
        return ""

    async def send(self, message: Mapping[str, Any]) -> None:
        self.said.append(message)
        self.hub.handle_message({"id": message["id"], self.outcome: {"sessionId": f"s{len(self.said)}"}})

    @property
    def detached(self) -> list[str]:
        return [each["params"]["sessionId"] for each in self.said if each["method"] == "Target.detachFromTarget"]


def client(trusted: bool) -> tuple[Client, list[dict[str, Any]]]:
    received: list[dict[str, Any]] = []
    return Client(deliver=received.append, trusted=trusted), received


def test_dismissed_agents_are_detached_and_stay_detached() -> None:
    """Requests that they intercepted must be released before evidence is collected."""

    async def work() -> None:
        browser = FakeBrowser()
        hub = browser.hub
        harness, _ = client(trusted=True)
        agent, received = client(trusted=False)
        assert await hub.join(harness)
        assert await hub.join(agent)
        await hub.dismiss()
        assert browser.detached == [agent.root]
        sent_before = len(browser.said)
        await hub.command(agent, {"id": 1, "method": "Page.enable"})
        assert "not found" in received[0]["error"]["message"]
        assert not await hub.join(client(trusted=False)[0])
        assert len(browser.said) == sent_before
        await hub.command(harness, {"id": 2, "method": "Page.enable"})
        assert len(browser.said) == sent_before + 1

    asyncio.run(work())


def test_agent_joining_during_dismissal_is_detached() -> None:
    async def work() -> None:
        browser = FakeBrowser()
        late, _ = client(trusted=False)
        coming = asyncio.ensure_future(browser.hub.join(late))
        await browser.hub.dismiss()
        assert not await coming
        assert browser.detached in ([late.root], [])
        assert late.sessions == {}

    asyncio.run(work())


def test_agent_cannot_change_the_accept_header_of_a_page() -> None:
    async def work() -> None:
        browser = FakeBrowser()
        agent, received = client(trusted=False)
        assert await browser.hub.join(agent)
        asked = {"requestId": "r1", "resourceType": "Document", "request": {"headers": {"Accept": "text/html"}}}
        browser.hub.handle_message({"method": "Fetch.requestPaused", "params": asked, "sessionId": agent.root})
        assert received[0]["method"] == "Fetch.requestPaused"
        changed = {"requestId": "r1", "headers": [{"name": "Accept", "value": "image/png"}]}
        await browser.hub.command(agent, {"id": 1, "method": "Fetch.continueRequest", "params": changed})
        assert browser.said[-1]["params"]["headers"] == [{"name": "Accept", "value": "text/html"}]

    asyncio.run(work())


def test_accept_header_is_kept_after_a_refused_continue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With plain http, a tab would count as an image, which may come from any host."""
    monkeypatch.setattr(
        "pytest_webarena.browser.driven.cdp_session_scope._LET_GO", 0
    )  # nothing is remembered longer than needed

    async def work() -> None:
        browser = FakeBrowser()
        agent, _ = client(trusted=False)
        assert await browser.hub.join(agent)
        fields = {"headers": {"Accept": "text/html"}}
        paused = {"requestId": "r1", "resourceType": "Document", "request": fields}
        browser.hub.handle_message({"method": "Fetch.requestPaused", "sessionId": agent.root, "params": paused})

        async def go_on(outcome: str) -> list[Mapping[str, Any]]:
            browser.outcome = outcome
            params = {"requestId": "r1", "headers": [{"name": "Accept", "value": "image/png"}]}
            await browser.hub.command(agent, {"id": 1, "method": "Fetch.continueRequest", "params": params})
            return list(browser.said[-1]["params"]["headers"])

        for outcome in ("error", "error", "result"):
            assert await go_on(outcome) == [{"name": "Accept", "value": "text/html"}]
        assert await go_on("error") == [{"name": "Accept", "value": "image/png"}]

    asyncio.run(work())
