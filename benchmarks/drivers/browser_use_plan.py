"""Does a planned task with browser-use's own actions, by the indexes that its session shows, as models say them."""

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
"""Seconds for an element to come up."""


class Driver:
    """Goes through the steps of one plan."""

    def __init__(self, session: BrowserSession, sites: dict[str, str], start: list[str]) -> None:
        self.session = session
        self.sites = sites
        self.start = start
        self.tabs: list[str] = []
        self.tools = Tools()

    async def run(self, steps: list[dict[str, Any]]) -> str:
        """The answer."""
        tabs = sorted(await self.session.get_tabs(), key=lambda tab: place(tab.url, self.start))
        self.tabs = [tab.target_id for tab in tabs]
        await self.tools.switch(browser_session=self.session, tab_id=self.tabs[0][-4:])
        for step in steps:
            if step["kind"] == "stop":
                return str(step["answer"])
            for name, arguments in await self.calls(step):
                said = await getattr(self.tools, name)(browser_session=self.session, **arguments)
                if said.error:
                    raise RuntimeError(f"{name} {arguments}: {said.error}")
            await asyncio.sleep(0.5)
        return ""

    async def calls(self, step: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        """What a model would say to have the step done."""
        kind = step["kind"]
        index = await self.index(step["target"]["selector"]) if step.get("target") else None
        if kind == "goto":
            site, _, path = step["url"].partition(":")
            return [("navigate", {"url": self.sites[site] + path if site in self.sites else step["url"]})]
        if kind == "tab_focus":
            return [("switch", {"tab_id": self.tabs[step["index"]][-4:]})]
        if kind == "type":
            writes = [("input", {"index": index, "text": step["text"], "clear": step["clear"]})]
            return [*writes, ("send_keys", {"keys": "Enter"})] if step["enter"] else writes
        if kind == "press":
            return [("click", {"index": index}), ("send_keys", {"keys": step["keys"]})]
        if kind == "select":
            return [("select_dropdown", {"index": index, "text": option}) for option in step["options"]]
        return [(kind if kind == "go_back" else "click", {} if kind == "go_back" else {"index": index})]

    async def index(self, selector: str) -> int:
        """Of the first element that matches, in the session's list of what can be acted on."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            await self.session.get_browser_state_summary(include_screenshot=False)
            shown = await self.session.get_selector_map()
            parts = [await self.matching(part) for part in selector.split(" >> ")]
            for index, node in shown.items():
                if parts[-1](node) and within(node.parent_node, parts[:-1]):
                    return int(index)
            await asyncio.sleep(0.3)
        raise RuntimeError(f"expected an element {selector}, found none")

    async def matching(self, part: str) -> Any:
        """Whether a node is what one part of a selector means."""
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
            told = await cdp.cdp_client.send.DOM.describeNode(params={"nodeId": node_id}, session_id=cdp.session_id)
            ids.add(told["node"]["backendNodeId"])
        return lambda node: node.backend_node_id in ids


def place(url: str, start: list[str]) -> int:
    """Which of the first pages is at this address, or on this site, where it may lead elsewhere."""
    site = url.split("/")[2]
    return start.index(url) if url in start else [each.split("/")[2] for each in start].index(site)


def within(node: Any, parts: list[Any]) -> bool:
    """Whether the parts, from the last on, are found outwards of the node."""
    while node is not None and parts:
        if parts[-1](node):
            parts = parts[:-1]
        node = node.parent_node
    return not parts


async def solve(task: dict[str, Any]) -> str:
    """Of one task, the answer."""
    session = BrowserSession(cdp_url=task["cdp_url"])
    await session.start()
    plans = json.loads(Path("plans.json").read_text())
    return await Driver(session, task["sites"], task["start"]).run(plans[task["intent"]])


answer = asyncio.run(solve(json.loads(sys.stdin.readline())))
print(json.dumps({"type": "answer", "answer": answer, "usage": {"calls": 0, "cost": 0}}), flush=True)
os._exit(0)  # its watchdogs would take their time
