"""Compares lines of ``exact`` with ``compat`` to those of WebArena's harness, over a corpus of pages.

    python -m venv /tmp/upstream && /tmp/upstream/bin/pip install libwebarena==0.0.4
    python benchmarks/upstream_agreement.py /tmp/upstream/bin/python [--page] [--plain] [--show] [--no-sites] [NAME …]

Both read the same pages with the same browser, each in a fresh context. Lines are compared without their ids, which
upstream assigns again on each load. Upstream drops a text that is part of one of the three lines before, ids included,
so texts of digits may differ by ids; they are counted separately. The corpus is `static_pages`, and pages of the
embedded start page and store. Columns: lines of each, equal lines, seconds of each. ``--plain`` turns ``compat`` off,
which shows upstream's defects.
"""

from __future__ import annotations

import argparse
import difflib
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from static_pages import PAGES

from pytest_webarena.browser.config import EngineConfig, ObservationConfig, SessionConfig
from pytest_webarena.browser.engine import BrowserEngine

SIDE = Path(__file__).with_name("upstream_side.py")
SITE_PAGES = {
    "http://homepage.test": ["/", "/calculator", "/manuals", "/scratchpad", "/signin"],
    "http://shopping.test": ["/", "/catalogue/", "/search/?q=kettle", "/basket/", "/accounts/login/"],
}
_ID = re.compile(r"^(\t*)\[-?\d+\]")


class Pages:
    """Serves the corpus behind a loopback proxy, by host name."""

    def __init__(self, apps: Mapping[str, Any]) -> None:
        from werkzeug.test import Client

        clients = {host: Client(app, use_cookies=False) for host, app in apps.items()}
        turn = threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                base, status, kind = f"{parts.scheme}://{parts.netloc}", 200, "text/html; charset=utf-8"
                html = PAGES.get(parts.path[1:]) if parts.netloc == "pages.test" else None
                if base in clients:
                    with turn:
                        answer = clients[base].get(parts.path, query_string=parts.query, base_url=base)
                    body, status, kind = answer.data, answer.status_code, answer.headers["Content-Type"]
                else:
                    body, status = (f"<!doctype html>{html}".encode(), 200) if html else (b"", 404)
                self.send_response(status)
                if base in clients and "Location" in answer.headers:
                    self.send_header("Location", answer.headers["Location"])
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.proxy = f"http://127.0.0.1:{self._server.server_port}"


def site_apps(folder: Path) -> dict[str, Any]:
    """Returns the seeded embedded sites."""
    from pytest_webarena.embedded import homepage, shop

    made: dict[str, Any] = {}
    for host, module in (("http://homepage.test", homepage), ("http://shopping.test", shop)):
        data = folder / urlsplit(host).netloc
        data.mkdir()
        module.seed(data)
        made[host] = module.create_app(data)
    return made


def main() -> int:
    """Prints the agreement for each page and in total."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", help="interpreter of an environment with libwebarena")
    parser.add_argument("names", nargs="*", help="static pages (default: the whole corpus)")
    parser.add_argument("--page", action="store_true", help="read the whole page, not the viewport")
    parser.add_argument("--plain", action="store_true", help="turn compat off")
    parser.add_argument("--show", action="store_true", help="print the lines that differ")
    parser.add_argument("--no-sites", action="store_true", help="read only static pages")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="agreement-") as folder:
        sites = {} if options.no_sites or options.names else site_apps(Path(folder))
        pages = Pages(sites)
        urls = [f"http://pages.test/{name}" for name in options.names or PAGES]
        urls += [host + path for host in sites for path in SITE_PAGES[host]]
        return compare(urls, pages.proxy, options)


def compare(urls: list[str], proxy: str, options: argparse.Namespace) -> int:
    """Reads ``urls`` with both harnesses."""
    observation = ObservationConfig(
        extractor="exact", compat=not options.plain, link_urls=True, current_viewport_only=not options.page
    )
    with BrowserEngine(EngineConfig()) as engine:
        executable = engine.choice.executable or ""
        with engine.session(SessionConfig(proxy=proxy, observation=observation)) as session:
            ours = {}
            for url in urls:
                session.open_tabs([url])
                began = time.perf_counter()
                ours[url] = (session.observe().text, time.perf_counter() - began)
        print(f"{engine.version}; {'whole page' if options.page else 'viewport'}")
    mode = "page" if options.page else "viewport"
    side = subprocess.run(
        [options.python, SIDE, executable, proxy, mode, *urls], stdout=subprocess.PIPE, text=True, check=False
    )
    theirs = {answer["url"]: answer for answer in map(json.loads, side.stdout.splitlines())}
    print(f"{'page':<46} {'theirs':>6} {'ours':>6} {'same':>6}   s theirs  s ours")
    same_pages = same_lines = all_lines = by_ids = 0
    for url in urls:
        text, seconds = ours[url]
        if url not in theirs:
            print(f"{url:<46} upstream failed")
            continue
        left, right = lines(theirs[url]["text"]), lines(text)
        matches = difflib.SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks()
        same = sum(match.size for match in matches)
        same_pages += left == right
        by_ids += sum(
            bool(re.fullmatch(r"[-+]\t*\[#\] StaticText '\d+'", line))
            for line in difflib.unified_diff(left, right, lineterm="", n=0)
        )
        same_lines, all_lines = same_lines + same, all_lines + max(len(left), len(right))
        print(
            f"{url.removeprefix('http://'):<46} {len(left):>6} {len(right):>6} {same:>6}"
            f"   {theirs[url]['seconds']:>8.2f}  {seconds:>6.3f}{'' if left == right else '  *'}"
        )
        if options.show and left != right:
            print("\n".join(difflib.unified_diff(left, right, "upstream", "ours", lineterm="", n=1)))
    print(
        f"equal: {same_pages} of {len(urls)} pages, {same_lines} of {all_lines} lines; "
        f"{by_ids} of the others are digits that are part of an id"
    )
    return 0 if same_lines + by_ids == all_lines else 1


def lines(text: str) -> list[str]:
    """Returns the lines without ids."""
    return [_ID.sub(r"\1[#]", line) for line in text.split("\n")]


if __name__ == "__main__":
    sys.exit(main())
