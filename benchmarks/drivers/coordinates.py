"""Performs a planned task like a vision agent: clicks at points of the viewport and typed keys.

Playwright's locators replace the model for finding elements; every action uses mouse and keyboard.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Error, Locator, Page, sync_playwright

WHERE = """element => {
    element.scrollBehavior = 'auto';
    const box = [...element.getClientRects()].find(each => each.width && each.height);
    if (!box) return null;
    const left = Math.max(box.left, 0), right = Math.min(box.right, innerWidth);
    const x = (left + right) / 2, y = box.top + Math.min(box.height, innerHeight) / 2;
    let hit = document.elementFromPoint(x, y);
    while (hit && hit.shadowRoot?.elementFromPoint(x, y)) hit = hit.shadowRoot.elementFromPoint(x, y);
    const same = hit && (element.contains(hit) || hit.contains(element) || hit.closest('label')?.control === element);
    return {x, y, left: box.left, seen: y > 0 && y < innerHeight, free: Boolean(same), height: innerHeight};
}"""
CHOICE = """(element, wanted) => {
    const can = [...element.options].filter(option => !option.disabled);
    const named = option => [option.label.trim(), option.value].includes(wanted);
    return [can.findIndex(option => option.selected), can.findIndex(named)];
}"""
PATIENCE = 15_000
"""Milliseconds to wait for an element to appear."""


class Driver:
    """Carries out the steps of one plan."""

    def __init__(self, tabs: list[Page], sites: dict[str, str]) -> None:
        self.page = tabs[0]
        self.tabs = tabs
        self.sites = sites

    def run(self, steps: list[dict[str, Any]]) -> str:
        """Carries out the steps and returns the answer."""
        for step in steps:
            if step["kind"] == "stop":
                return str(step["answer"])
            getattr(self, step["kind"])(step)
            self.rest()
            for opened in [page for page in self.page.context.pages if page not in self.tabs]:
                self.tabs.append(opened)
                self.page = opened
                self.rest()
        return ""

    def rest(self) -> None:
        """Waits until the page has settled after an action."""
        time.sleep(0.3)
        try:
            self.page.wait_for_load_state("networkidle", timeout=PATIENCE)
        except Error as error:  # the page never becomes idle
            print(error, file=sys.stderr)

    def find(self, step: dict[str, Any]) -> Locator:
        found = self.page.locator(step["target"]["selector"]).first
        found.wait_for(timeout=PATIENCE)
        return found

    def point(self, found: Locator) -> tuple[float, float]:
        """Returns where to click, after scrolling with the wheel until the element is there."""
        place = found.evaluate(WHERE)
        for _ in range(20):
            if place["seen"] and place["free"]:
                break
            self.page.mouse.move(4, place["height"] / 2)
            self.page.mouse.wheel(0, place["y"] - place["height"] / 2)
            time.sleep(0.2)
            last, place = place, found.evaluate(WHERE)
            if abs(place["y"] - last["y"]) < 1:
                break
        if not place["seen"]:  # a container around it scrolls
            found.scroll_into_view_if_needed()
            place = found.evaluate(WHERE)
        return place["x"], place["y"]

    def click(self, step: dict[str, Any]) -> None:
        self.page.mouse.click(*self.point(self.find(step)), button=step["button"], click_count=step["count"])

    def type(self, step: dict[str, Any]) -> None:
        keyboard = self.page.keyboard
        if step["target"]:
            found = self.find(step)
            x, y = self.point(found)
            if found.evaluate("element => element.type") == "date":
                self.page.mouse.click(found.evaluate(WHERE)["left"] + 12, y)
                year, month, day = step["text"].split("-")
                keyboard.type(month + day + year)  # in the order that the field shows them
                return
            self.page.mouse.click(x, y)
            if step["clear"]:
                keyboard.press("Control+A")
                if not step["text"]:
                    keyboard.press("Delete")
            else:
                keyboard.press("Control+End")
        keyboard.type(step["text"])
        if step["enter"]:
            keyboard.press("Enter")

    def press(self, step: dict[str, Any]) -> None:
        if step["target"]:
            found = self.find(step)
            if not found.evaluate("element => element === document.activeElement"):
                self.page.mouse.click(*self.point(found))
        self.page.keyboard.press(step["keys"])

    def select(self, step: dict[str, Any]) -> None:
        found = self.find(step)
        self.page.mouse.click(*self.point(found))
        for option in step["options"]:
            self.page.keyboard.type(option)  # typing in a list jumps to the option that begins so
            self.page.keyboard.press("Enter")
            now, wanted = found.evaluate(CHOICE, option)
            for _ in range(abs(wanted - now)):
                self.page.keyboard.press("ArrowDown" if wanted > now else "ArrowUp")

    def check(self, step: dict[str, Any]) -> None:
        found = self.find(step)
        if found.is_checked() != step["checked"]:
            self.page.mouse.click(*self.point(found))

    def hover(self, step: dict[str, Any]) -> None:
        self.page.mouse.move(*self.point(self.find(step)))

    def goto(self, step: dict[str, Any]) -> None:
        site, _, path = step["url"].partition(":")
        url = self.sites[site] + path if site in self.sites else step["url"]
        try:
            self.page.goto(url)
        except Error as error:
            if "interrupted" not in error.message:
                raise
            self.rest()  # an earlier click led to a navigation, late
            self.page.goto(url)

    def go_back(self, step: dict[str, Any]) -> None:
        self.page.go_back()

    def new_tab(self, step: dict[str, Any]) -> None:
        self.page.context.new_page()

    def tab_focus(self, step: dict[str, Any]) -> None:
        self.page = self.tabs[step["index"]]
        self.page.bring_to_front()


def place(url: str, start: list[str]) -> int:
    """Returns the index of the start page with this address, or else on the same site, since it may redirect."""
    site = url.split("/")[2]
    return start.index(url) if url in start else [each.split("/")[2] for each in start].index(site)


def main() -> None:
    """Carries out one task of the line protocol."""
    task = json.loads(sys.stdin.readline())
    plans = json.loads(Path("plans.json").read_text())
    with sync_playwright() as playwright:
        context = playwright.chromium.connect_over_cdp(task["cdp_url"]).contexts[0]
        tabs = sorted(context.pages, key=lambda page: place(page.url, task["start"]))  # clients see tabs in any order
        answer = Driver(tabs, task["sites"]).run(plans[task["intent"]])
    print(json.dumps({"type": "answer", "answer": answer, "usage": {"calls": 0, "cost": 0}}), flush=True)


main()
