"""Performs a planned task with browser-use's actions and its session's element indexes, as a model would."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

os.environ |= {"ANONYMIZED_TELEMETRY": "false", "BROWSER_USE_SETUP_LOGGING": "false", "HOME": str(Path.cwd())}

from browser_use import BrowserSession, Tools

ROLE = re.compile(r'^role=(\w+)(?:\[name="((?:[^"\\]|\\.)*)"s?\])?$')
PATIENCE = 20
"""Seconds to wait for an element to appear."""
AT_ONCE = 3
"""How many of these seconds pass before it scrolls: a model is only shown what is near the viewport."""


class GaveUp(Exception):
    """A step can't be done with browser-use's actions."""


class Driver:
    """Carries out the steps of one plan."""

    def __init__(self, session: BrowserSession, sites: dict[str, str], start: list[str]) -> None:
        self.session = session
        self.sites = sites
        self.start = start
        self.tabs: list[str] = []
        self.tools = Tools()

    async def run(self, steps: list[dict[str, Any]]) -> str:
        """Carries out the steps and returns the answer."""
        tabs = sorted(await self.session.get_tabs(), key=lambda tab: place(tab.url, self.start))
        self.tabs = [tab.target_id for tab in tabs]
        await self.do("switch", {"tab_id": self.tabs[0][-4:]})
        for number, step in enumerate(steps):
            if step["kind"] == "stop":
                return str(step["answer"])
            try:
                for name, arguments in await self.calls(step):
                    await self.do(name, arguments)
            except Exception as error:
                raise GaveUp(f"step {number} of {len(steps)}, {step}: {error}") from error
            await asyncio.sleep(0.5)
            for tab in await self.session.get_tabs():  # browser-use switches to a tab that a click opens
                if tab.target_id not in self.tabs:
                    self.tabs.append(tab.target_id)
        return ""

    async def do(self, name: str, arguments: dict[str, Any]) -> None:
        """Carries out one of browser-use's actions."""
        result = await getattr(self.tools, name)(browser_session=self.session, **arguments)
        if result.error or "not available - page may have changed" in (result.extracted_content or ""):
            raise GaveUp(f"{name} {arguments}: {result.error or result.extracted_content}")

    async def calls(self, step: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        """Returns the actions a model would ask for to carry out the step."""
        kind = step["kind"]
        node = await self.find(step["target"]["selector"]) if step.get("target") else None
        at = {} if node is None else {"index": node.backend_node_id}
        if kind == "goto":
            site, _, path = step["url"].partition(":")
            return [("navigate", {"url": self.sites[site] + path if site in self.sites else step["url"]})]
        if kind == "tab_focus":
            return [("switch", {"tab_id": self.tabs[step["index"]][-4:]})]
        if kind == "type":
            writes = [("input", {**at, "text": step["text"], "clear": step["clear"]})] if at else []
            typed = writes or [("send_keys", {"keys": step["text"]})]
            return [*typed, ("send_keys", {"keys": "Enter"})] if step["enter"] else typed
        if kind == "press":
            clicks = [] if node is None or await self.focused(node) else [("click", at)]
            return [*clicks, ("send_keys", {"keys": step["keys"]})]
        if kind == "select":
            return [("select_dropdown", {**at, "text": option}) for option in step["options"]]
        if kind == "check":
            return [] if checked(node) == step["checked"] else [("click", at)]
        return [("go_back", {})] if kind == "go_back" else [("click", at)]

    async def find(self, selector: str) -> Any:
        """Returns the first matching element in the session's list of interactive elements."""
        began = time.monotonic()
        while (now := time.monotonic()) < began + PATIENCE:
            state = await self.session.get_browser_state_summary(include_screenshot=False)
            shown = await self.session.get_selector_map()
            parts = [await self.matching(part) for part in selector.split(" >> ")]
            for node in shown.values():
                if parts[-1](node) and within(node.parent_node, parts[:-1]):
                    return node
            if now > began + AT_ONCE and state.page_info is not None and state.page_info.pixels_below > 0:
                await self.do("scroll", {"down": True, "pages": 1.0})
            await asyncio.sleep(0.3)
        raise GaveUp(f"expected an element {selector}, found none")

    async def focused(self, node: Any) -> bool:
        """Returns whether the node already has the keyboard focus."""
        cdp = await self.session.get_or_create_cdp_session()
        found = await cdp.cdp_client.send.DOM.resolveNode(
            params={"backendNodeId": node.backend_node_id}, session_id=cdp.session_id
        )
        result = await cdp.cdp_client.send.Runtime.callFunctionOn(
            params={
                "objectId": found["object"]["objectId"],
                "functionDeclaration": "function () { return this === document.activeElement; }",
                "returnByValue": True,
            },
            session_id=cdp.session_id,
        )
        return result["result"].get("value") is True

    async def matching(self, part: str) -> Any:
        """Returns a function that tells whether a node matches one part of a selector."""
        if (role := ROLE.match(part)) is not None:
            return lambda node: (
                node.ax_node is not None
                and node.ax_node.role == role[1]
                and (role[2] is None or (node.ax_node.name or "").strip() == role[2])
            )
        cdp = await self.session.get_or_create_cdp_session()
        document = await cdp.cdp_client.send.DOM.getDocument(session_id=cdp.session_id)
        found = await cdp.cdp_client.send.DOM.querySelectorAll(
            params={"nodeId": document["root"]["nodeId"], "selector": part.removeprefix("css=")},
            session_id=cdp.session_id,
        )
        ids = set()
        for node_id in found["nodeIds"]:
            described = await cdp.cdp_client.send.DOM.describeNode(
                params={"nodeId": node_id}, session_id=cdp.session_id
            )
            ids.add(described["node"]["backendNodeId"])
        return lambda node: node.backend_node_id in ids


def place(url: str, start: list[str]) -> int:
    """Returns the index of the start page with this address, or else on the same site, since it may redirect."""
    site = url.split("/")[2]
    return start.index(url) if url in start else [each.split("/")[2] for each in start].index(site)


def checked(node: Any) -> bool:
    """Returns whether a checkbox or radio button is checked, according to its accessibility state."""
    properties = {each.name: each.value for each in (node.ax_node.properties if node.ax_node else None) or ()}
    return properties.get("checked") in (True, "true")


def within(node: Any, parts: list[Any]) -> bool:
    """Returns whether the node and its ancestors match the parts, from the last part outwards."""
    while node is not None and parts:
        if parts[-1](node):
            parts = parts[:-1]
        node = node.parent_node
    return not parts


async def solve(task: dict[str, Any]) -> str:
    """Carries out one task and returns its answer."""
    session = BrowserSession(cdp_url=task["cdp_url"])
    await session.start()
    plans = json.loads(Path("plans.json").read_text())
    try:
        return await Driver(session, task["sites"], task["start"]).run(plans[task["intent"]])
    finally:  # like browser-use's agent: else it takes the loop's end for a lost connection and reconnects for ever
        await session.kill()


try:
    answer = asyncio.run(solve(json.loads(sys.stdin.readline())))
except GaveUp as gave_up:
    sys.exit(f"gave up: {gave_up}")
print(json.dumps({"type": "answer", "answer": answer, "usage": {"calls": 0, "cost": 0}}), flush=True)
