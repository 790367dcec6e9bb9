"""Playwright for Python. The program has packages of its own: nothing of pytest-webarena is imported."""

import json
import sys

from playwright.sync_api import sync_playwright

task = json.loads(sys.stdin.readline())
with sync_playwright() as playwright:
    browser = playwright.chromium.connect_over_cdp(task["cdp_url"])
    page = browser.contexts[0].pages[0]  # the task's own context: signed in, at the start page
    page.get_by_label("Text").fill("Enamel, at most 60 crowns.")
    page.get_by_role("button", name="Save note").click()
    answer = page.get_by_role("article").get_by_role("heading").inner_text()
print(json.dumps({"type": "answer", "answer": answer, "usage": {"calls": 0, "cost": 0}}), flush=True)
