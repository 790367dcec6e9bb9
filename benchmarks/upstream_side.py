"""Reads pages with WebArena's own harness for `upstream_agreement`, in its own environment.

    VENV/bin/python benchmarks/upstream_side.py EXECUTABLE PROXY viewport|page URL …

Prints one JSON line per page.
"""

from __future__ import annotations

import json
import os
import sys
import time

for site in ("REDDIT", "SHOPPING", "SHOPPING_ADMIN", "GITLAB", "WIKIPEDIA", "MAP", "HOMEPAGE"):
    os.environ.setdefault(site, "http://unused.test")  # the harness needs these when it is imported

from playwright.sync_api import sync_playwright  # noqa: E402
from webarena.browser_env.processors import TextObervationProcessor  # type: ignore[import-not-found]  # noqa: E402


def main() -> None:
    """Reads each page as the original harness does."""
    executable, proxy, mode, *urls = sys.argv[1:]
    size = {"width": 1280, "height": 720}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=executable, args=["--no-sandbox"], proxy={"server": proxy, "bypass": "<-loopback>"}
        )
        context = browser.new_context(viewport=size, device_scale_factor=1, reduced_motion="reduce", locale="en-US")  # type: ignore[arg-type]
        page = context.new_page()
        client = context.new_cdp_session(page)
        client.send("Accessibility.enable")
        processor = TextObervationProcessor("accessibility_tree", mode == "viewport", size)
        for url in urls:
            page.goto(url)
            began = time.perf_counter()
            text = processor.process(page, client)
            print(json.dumps({"url": url, "text": text, "seconds": time.perf_counter() - began}), flush=True)
        browser.close()


if __name__ == "__main__":
    main()
