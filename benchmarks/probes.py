"""Measures the cost of a page that a check opens: a context of the harness, with copied storage.

    python benchmarks/probes.py [--looks 20]

Columns are median milliseconds: a page load by the agent (for comparison), a check with one page, and a check with
three pages in a shared context. Rows: an agent's context with cookies only, and with 100 entries of local storage.
"""

from __future__ import annotations

import argparse
import statistics
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pytest_webarena.actions import Goto
from pytest_webarena.browser.config import SessionConfig
from pytest_webarena.browser.engine import BrowserEngine
from pytest_webarena.browser.session import Session

FILL = "<script>for (let i = 0; i < 100; i++) localStorage['key' + i] = 'x'.repeat(100)</script>"


class _Site(BaseHTTPRequestHandler):
    """A server that answers for any host with a small page; it is the browser's proxy as well."""

    def do_GET(self) -> None:
        body = (f"<title>x</title><p>text</p>{FILL if self.path.endswith('/fill') else ''}").encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Set-Cookie", "session=abc; Path=/")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _median(looks: int, look: Callable[[], object]) -> float:
    look()
    seconds = []
    for _ in range(looks):
        began = time.perf_counter()
        look()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds) * 1000


def _pages(session: Session, count: int) -> None:
    # Versions without own pages don't have this block.
    with getattr(session, "own_pages", nullcontext)():
        for _ in range(count):
            assert session.read_page(open="http://a.test/", locate="css=p").texts == ("text",)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--looks", type=int, default=20, help="measure this many checks (default: %(default)s)")
    options = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    proxy = f"http://127.0.0.1:{server.server_port}"
    with BrowserEngine() as engine:
        for name, start in (("cookies only", "http://a.test/"), ("and local storage", "http://a.test/fill")):
            with engine.session(SessionConfig(proxy=proxy)) as session:
                session.open_tabs([start])
                loads = _median(options.looks, lambda: session.execute(Goto("http://a.test/")))
                one = _median(options.looks, lambda: _pages(session, 1))
                three = _median(options.looks, lambda: _pages(session, 3))
            print(f"{name:18} page load {loads:5.0f} ms   one page {one:5.0f} ms   three pages {three:5.0f} ms")
    server.shutdown()


if __name__ == "__main__":
    main()
