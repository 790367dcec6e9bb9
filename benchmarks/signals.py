"""Measures the cost of recording DOM events: the processor time of a step with and without, in alternating pairs.

    python benchmarks/signals.py [--pairs 40]

A step performs an action and observes the page, as in a trial. Three kinds on pages of about 70 and 2,000 nodes: a
click that changes nothing, 20 characters into a field, a click that reloads the page. One browser has both sessions.
Columns are processor milliseconds of all its processes, the driver's and this one: medians without and with recording,
the median difference of the pairs, and its 95 % interval (bootstrap), which is wide on a busy machine. Linux only.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from unittest.mock import patch
from urllib.parse import urlsplit

from observation_pages import page

from pytest_webarena.actions import Action, Click, Selector, Type
from pytest_webarena.browser.config import EngineConfig, SessionConfig
from pytest_webarena.browser.engine import BrowserEngine
from pytest_webarena.browser.session import Session
from pytest_webarena.signals import DomEvent

PAGES = {"70 nodes": "form", "2,000 nodes": "products"}
STEPS: dict[str, Callable[[], Action]] = {
    "click": lambda: Click(Selector("#bench-button")),
    "type": lambda: Type(Selector("#bench-field"), "twenty characters ok", clear=True),
    "go on": lambda: Click(Selector("#bench-link")),
}
ADDED = "<button id=bench-button type=button>B</button><input id=bench-field><a id=bench-link href=''>again</a>"

_START = Session.start


def main() -> int:
    """Prints a table of medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=40, help="measure this many pairs (default: %(default)s)")
    options = parser.parse_args()
    with serve() as base, BrowserEngine(EngineConfig()) as engine:
        print(f"{engine.version}; {os.cpu_count()} cores; load {os.getloadavg()[0]:.1f}; {options.pairs} pairs")
        print(f"{'':24}{'without':>10}{'with':>10}{'of pairs':>10}{'95 %':>18}   (processor milliseconds, medians)")
        for name, made in PAGES.items():
            with opened(engine, base, made, False) as without, opened(engine, base, made, True) as recorded:
                for kind, action in STEPS.items():
                    measured = [pair(without, recorded, action) for _ in range(options.pairs + 3)][3:]
                    off, on = (statistics.median(column) for column in zip(*measured, strict=True))
                    more = [b - a for a, b in measured]
                    low, high = interval(more)
                    print(
                        f"{name + ', ' + kind:24}{off * 1000:10.1f}{on * 1000:10.1f}"
                        f"{statistics.median(more) / off:+10.1%}{low / off:+9.1%}{high / off:+9.1%}"
                    )
                assert not any(isinstance(each, DomEvent) for each in without.signals.since())
                assert any(isinstance(each, DomEvent) for each in recorded.signals.since())
    return 0


@contextmanager
def opened(engine: BrowserEngine, base: str, made: str, listened: bool) -> Iterator[Session]:
    """A session on one page, with or without the recording of DOM events."""

    async def silent(session: Session, *, tab: bool = True) -> None:
        session.signals.dom_events = listened
        await _START(session, tab=tab)

    with patch.object(Session, "start", silent), engine.session(SessionConfig(proxy=base)) as session:
        session.open_tabs([f"http://bench.test/{made}"])
        session.observe()
        yield session


def pair(without: Session, recorded: Session, action: Callable[[], Action]) -> tuple[float, float]:
    """Returns the processor time in seconds of a step in each session, in random order."""
    found: dict[int, float] = {}
    for session in random.sample([without, recorded], 2):
        before = used()
        outcome = session.execute(action())
        session.observe()
        after = used()
        assert outcome.error == "", outcome.error
        found[id(session)] = sum(after[task] - before.get(task, 0) for task in after) / 1e9
    return found[id(without)], found[id(recorded)]


def interval(values: list[float]) -> tuple[float, float]:
    """Returns the 95 % interval of the median."""
    drawn = sorted(statistics.median(random.choices(values, k=len(values))) for _ in range(1000))
    return drawn[25], drawn[974]


def used() -> dict[str, int]:
    """Returns the nanoseconds that each thread of this process and its descendants has run."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    parents = {int(pid): int(parent) for pid, parent in (line.split() for line in listed.splitlines())}
    ours = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    found: dict[str, int] = {}
    for pid in ours:
        for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            try:
                found[str(task)] = int(task.read_text().split()[0])
            except OSError:
                continue
    return found


@contextmanager
def serve() -> Iterator[str]:
    """Serves the pages through a proxy that answers for any host name; yields its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            name = urlsplit(self.path).path.strip("/")
            body = page(name).replace("<main>", f"<main>{ADDED}").encode() if name in PAGES.values() else b""
            if ADDED.encode() not in body:
                body += ADDED.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


if __name__ == "__main__":
    sys.exit(main())
