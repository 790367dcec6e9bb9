"""Measures observations of WebArena's own harness for `observation`, controlled over stdin and stdout.

VENV/bin/python benchmarks/observation_webarena.py EXECUTABLE URL
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable

for site in ("REDDIT", "SHOPPING", "SHOPPING_ADMIN", "GITLAB", "WIKIPEDIA", "MAP", "HOMEPAGE"):
    os.environ.setdefault(site, "http://unused.test")  # the harness needs these when it is imported

from playwright.sync_api import sync_playwright  # noqa: E402
from webarena.browser_env.processors import (  # type: ignore[import-not-found]  # noqa: E402
    ImageObservationProcessor,
    TextObervationProcessor,
)

EXECUTABLE, START = sys.argv[1:]


def main() -> None:
    """Answers each line of input (a JSON object with ``url`` and ``rounds``) with one line of measurements."""
    began = time.perf_counter()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=EXECUTABLE, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": 1280, "height": 720}, device_scale_factor=1)
        page = context.new_page()
        client = context.new_cdp_session(page)
        client.send("Accessibility.enable")
        page.goto(START)
        size = {"width": 1280, "height": 720}
        text = TextObervationProcessor("accessibility_tree", True, size)
        image = ImageObservationProcessor("image")
        print(json.dumps({"reset": time.perf_counter() - began}), flush=True)
        for line in sys.stdin:
            order = json.loads(line)
            page.goto(order["url"])
            rounds = range(order["rounds"])
            found: dict[str, object] = {"text": [timed(lambda: text.process(page, client)) for _ in rounds]}
            found["screenshot"] = [timed(lambda: image.process(page, client)) for _ in rounds]
            print(json.dumps(found), flush=True)
        browser.close()


def timed(call: Callable[[], object]) -> float:
    """Returns the duration of a call in seconds."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
