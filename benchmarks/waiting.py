"""Measures how long a step waits, and whether the observation shows its effect: ours, and fixed sleeps of others.

    python benchmarks/waiting.py [--repeats 5] [--only fetch]

Each scene is a page on a loopback server and one click. Ours is `Session.execute`, then `Session.observe`. A fixed
sleep is the same click by plain Playwright, the sleep, then an observation: 2.0 s (WebArena's ``sleep_after_execution``
in ``run.py``), 1.5 s (BrowserGym: 1.0 s ``slow_mo`` on the click and 0.5 s before the observation). "seen" counts the
repeats in which the observation showed the effect.
"""

from __future__ import annotations

import argparse
import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from pytest_webarena.actions import Action, Click, Noop, Selector
from pytest_webarena.browser.config import EngineConfig, SessionConfig
from pytest_webarena.browser.engine import BrowserEngine
from pytest_webarena.browser.session import Session

SLEEPS = {"WebArena 2.0 s": 2.0, "BrowserGym 1.5 s": 1.5}
CLICK = Click(Selector("css=button"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A page, and what a click on its button does."""

    name: str
    script: str
    """Runs when the button is clicked; its effect is the word EFFECT on the page."""
    unrest: str = ""
    """Runs as soon as the page is loaded."""
    action: Action = CLICK

    @property
    def html(self) -> str:
        return (
            "<title>Scene</title><button>Go</button><p id=p>-</p><p id=q>-</p>"
            f"<script>{self.unrest}; document.querySelector('button').onclick = () => {{ {self.script} }}</script>"
        )


SHOW = "p.textContent = 'EFFECT'"
ANIMATION = "setInterval(() => q.style.left = Math.random() + 'px', 16)"


def after(*delays: int) -> str:
    """Returns a script that shows the effect after a sequence of fetches, which take ``delays`` milliseconds each."""
    fetches = "".join(f".then(() => fetch('/late?ms={ms}'))" for ms in delays)
    return f"Promise.resolve(){fetches}.then(() => {SHOW})"


SCENES = (
    Scene(name="no-op", script="", action=Noop()),
    Scene(name="at once", script=SHOW),
    *(Scene(name=f"fetch {ms} ms", script=after(ms)) for ms in (50, 150, 300, 600, 1000, 1500, 2200)),
    Scene(name="two fetches of 400 ms in a row", script=after(400, 400)),
    Scene(name="debounce 300 ms, then fetch 300 ms", script=f"setTimeout(() => {{ {after(300)} }}, 300)"),
    Scene(name="page that takes 800 ms", script="location = '/late?ms=800&body=EFFECT'"),
    Scene(name="page that takes 2.5 s", script="location = '/late?ms=2500&body=EFFECT'"),
    Scene(name="live: animation", script=SHOW, unrest=ANIMATION),
    Scene(name="live: animation, fetch 600 ms", script=after(600), unrest=ANIMATION),
    Scene(name="live: polling", script=SHOW, unrest="setInterval(() => fetch('/poll?ms=20'), 100)"),
    Scene(name="live: polling, fetch 600 ms", script=after(600), unrest="setInterval(() => fetch('/poll'), 100)"),
    Scene(name="live: long poll", script=SHOW, unrest="(async () => { while (true) await fetch('/late?ms=5000') })()"),
    Scene(name="live: event stream", script=SHOW, unrest="new EventSource('/late?ms=60000')"),
    Scene(name="live: clock of timers", script=SHOW, unrest="(function tick() { setTimeout(tick, 50) })()"),
)


class Site:
    """Serves the scenes; it is also a proxy, so that sessions reach it under any host name."""

    def __init__(self) -> None:
        site = self
        self.html = ""
        self.over = threading.Event()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                query = parse_qs(parts.query)
                if parts.path == "/late":
                    site.over.wait(float(query["ms"][0]) / 1000)
                body = (site.html if parts.path == "/" else f"<p>{query.get('body', ['-'])[0]}</p>").encode()
                try:
                    self.send_response(200)
                    self.send_header("Content-Type", "text/html")
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    self.close_connection = True

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.proxy = f"http://127.0.0.1:{self.server.server_port}"

    def close(self) -> None:
        self.over.set()
        self.server.shutdown()


def ours(session: Session, scene: Scene, repeats: int) -> tuple[list[float], list[float], int]:
    """Returns the seconds of the steps and of the observations after them, and how often an observation had the
    effect."""
    steps, looks, seen = [], [], 0
    for number in range(repeats + 1):
        if number == 0 or "location" in scene.script:
            session.open_tabs(["http://scene.test/"])
        else:
            session.read_page(open=None, locate="js=p.textContent = '-'")
        session.observe()
        began = time.perf_counter()
        outcome = session.execute(scene.action)
        acted = time.perf_counter()
        observation = session.observe()
        looked = time.perf_counter()
        assert not outcome.error, outcome.error
        if number:  # the first round only warms the page up, like earlier steps of a trial
            steps.append(acted - began)
            looks.append(looked - acted)
            seen += "EFFECT" in observation.text
    return steps, looks, seen


def asleep(session: Session, scene: Scene, seconds: float, repeats: int) -> int:
    """Returns how often the effect is there after a click by plain Playwright and a sleep."""
    seen = 0
    for _ in range(repeats):
        session.open_tabs(["http://scene.test/"])
        page = session._tabs.current.page

        async def click(page: Any = page) -> None:
            await page.click("button", no_wait_after=True)

        session._engine.run(click(), timeout=10, what="clicking")
        time.sleep(seconds)
        content: Callable[[], Any] = page.content
        try:
            seen += "EFFECT</p>" in session._engine.run(content(), timeout=3, what="looking")
        except Exception:  # a page that is navigating can't be read: no effect yet
            continue
    return seen


def main() -> None:
    """Prints the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--repeats", type=int, default=5, help="repeat each scene this often (default: %(default)s)")
    options.add_argument("--only", default="", help="run scenes whose name contains this")
    options.add_argument("--no-sleeps", action="store_true", help="skip the fixed sleeps")
    given = options.parse_args()
    site = Site()
    sleeps = {} if given.no_sleeps else SLEEPS
    print(f"{'scene':36} {'step ms':>8} {'waited':>7} {'look ms':>8} {'seen':>5}", end="")
    print("".join(f"   {name:>16} {'seen':>5}" for name in sleeps))
    with BrowserEngine(EngineConfig()) as engine, engine.session(SessionConfig(proxy=site.proxy)) as session:
        for scene in SCENES:
            if given.only not in scene.name:
                continue
            site.html = scene.html
            steps, looks, seen = ours(session, scene, given.repeats)
            step, look = statistics.median(steps) * 1000, statistics.median(looks) * 1000
            shown = "" if scene.name == "no-op" else f"{seen}/{given.repeats}"
            waited = f"{(step - look) / 1000:.2f} s" if scene.name != "no-op" else ""
            print(f"{scene.name:36} {step:8.0f} {waited:>7} {look:8.0f} {shown:>5}", end="", flush=True)
            for seconds in sleeps.values():
                if scene.name == "no-op":
                    print(f"   {seconds:14.1f} s {'':>5}", end="")
                else:
                    times = min(2, given.repeats)
                    found = asleep(session, scene, seconds, times)
                    print(f"   {seconds:14.1f} s {found:>3}/{times}", end="", flush=True)
            print()
            if scene.name == "no-op":
                print(f"    a no-op step with its observation costs {(step + look) / look:.2f} x the observation")
    site.close()


if __name__ == "__main__":
    main()
