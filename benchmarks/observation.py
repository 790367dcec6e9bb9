"""Measures the cost of an observation: ours, BrowserGym's, WebArena's own, and the raw protocol, on the same pages.

    python benchmarks/observation.py [--peers browsergym,webarena] [--pages form,products,…] [--rounds 7] [--no-memory]

All use the same browser executable on one machine, page by page, one after the other. The peers are installed from PyPI
into their own environments below ``--cache`` on first use, since they pin old releases of Playwright. Their code is
unmodified except for the browser launch. Cells are medians in milliseconds, with the minimum in parentheses: on a busy
machine compare the minimum. Linux only (memory is read from /proc).

The row ``text`` is `Session.observe` with tab titles for ours, what a text-only agent needs for BrowserGym (mark, tree,
unmark, flatten), and the text processor, viewport only, for WebArena's harness, which takes minutes on the large pages
and runs only one to three rounds there.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from observation_pages import PAGES, page
from throughput import pss

from pytest_webarena.actions import Noop
from pytest_webarena.browser.config import Deadlines, EngineConfig, ObservationConfig, SessionConfig
from pytest_webarena.browser.engine import BrowserEngine
from pytest_webarena.browser.session import Session

HERE = Path(__file__).parent
PEERS = {
    "browsergym": ("browsergym-core==0.14.3", "observation_browsergym.py"),
    "webarena": ("libwebarena==0.0.4", "observation_webarena.py"),
}
SLOW = {"heavy5k": 3, "heavy20k": 1}
"""How often the original harness is measured on slow pages."""
PATIENT = Deadlines(step=120.0, hang=60.0, navigation=60.0)
BARE_WALK = """() => {
  const walker = document.createTreeWalker(document.documentElement, 5), range = document.createRange(), shown = [];
  let count = 0;
  for (let node; (node = walker.nextNode()); count++) {
    if (node.nodeType === 3) range.selectNodeContents(node);
    const box = (node.nodeType === 1 ? node : range).getBoundingClientRect();
    if (!(box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight)) continue;
    shown.push(node.localName || node.data);
  }
  return count + "\\n" + shown.join("\\n");
}"""

Times = list[float]


def main() -> int:
    """Prints tables of times, ratios and memory."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", default="", help="peers: browsergym, webarena, separated by commas")
    parser.add_argument("--pages", default=",".join(PAGES), help="pages, separated by commas")
    parser.add_argument("--rounds", type=int, default=7, help="measure this many rounds (default: %(default)s)")
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path.home() / ".cache" / "pytest-webarena" / "peers",
        help="folder of the environments of peers",
    )
    parser.add_argument("--no-memory", action="store_true", help="skip the memory of another session")
    parser.add_argument("--json", type=Path, help="write all measurements to this file")
    options = parser.parse_args()
    wanted = [name for name in options.peers.split(",") if name]
    pythons = {name: environment(options.cache, PEERS[name][0]) for name in wanted}
    found: dict[str, Any] = {}
    with serve() as base, BrowserEngine(EngineConfig(deadlines=PATIENT)) as engine:
        executable = engine.choice.executable or ""
        print(f"{engine.version}; {os.cpu_count()} cores; load {os.getloadavg()[0]:.1f} at the start")
        peers = {name: Peer(pythons[name], PEERS[name][1], executable, base) for name in wanted}
        for name in options.pages.split(","):
            url = f"{base}/{name}"
            found[name] = measure_ours(engine, url, options.rounds)
            for label, peer in peers.items():
                rounds = min(options.rounds, SLOW.get(name, options.rounds)) if label == "webarena" else options.rounds
                found[name] |= {f"{label}: {what}": times for what, times in peer.measure(url, rounds).items()}
            report(name, found[name])
        for peer in peers.values():
            peer.close()
        found["context"] = measure_context(engine, f"{base}/form", options.rounds)
        print(f"new context with login state, tab and page: {shown(found['context'])} ms")
        if not options.no_memory:
            measure_memory(base, executable, pythons.get("browsergym"))
        print(f"load {os.getloadavg()[0]:.1f} at the end")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))
    return 0


@contextmanager
def serve() -> Iterator[str]:
    """Serves the pages on a loopback port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.rsplit("/", 1)[1]  # used both as a server and as a proxy
            body = page(name).encode() if name in PAGES else b""
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def environment(cache: Path, requirement: str) -> Path:
    """Returns the Python of an environment that has ``requirement``; the environment is made on first use."""
    folder = cache / requirement.replace("==", "-")
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        print(f"installing {requirement} into {folder} …", flush=True)
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-q", requirement], check=True)
        (folder / "ready").touch()
    return python


class Peer:
    """Another harness in its own process, which measures page by page."""

    def __init__(self, python: Path, script: str, executable: str, base: str) -> None:
        command = [python, "-W", "ignore", HERE / script, executable, f"{base}/form"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self._process.pid
        self._answer()

    def measure(self, url: str, rounds: int) -> dict[str, Times]:
        """Returns the times in seconds, by what was measured."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"url": url, "rounds": rounds}) + "\n")
        self._process.stdin.flush()
        return {what: times for what, times in self._answer().items() if isinstance(times, list)}

    def close(self) -> None:
        """Closes its input and waits for it to end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                answer: dict[str, Any] = json.loads(line)
                return answer
        raise SystemExit(f"a peer ended with {self._process.wait()}")


@contextmanager
def opened(engine: BrowserEngine, url: str, **observation: Any) -> Iterator[Session]:
    """A session that shows ``url``. The server of the pages also serves as its proxy."""
    config = SessionConfig(proxy=url.rsplit("/", 1)[0], observation=ObservationConfig(**observation), deadlines=PATIENT)
    with engine.session(config) as session:
        session.open_tabs([url])
        yield session


def timed(call: Callable[[], object]) -> float:
    """Returns the duration of a call in seconds."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def measure_ours(engine: BrowserEngine, url: str, rounds: int) -> dict[str, Any]:
    """Returns the times in seconds, by what was measured, and the number of the page's nodes."""
    found: dict[str, Any] = {}
    for label, observation in {
        "fast": {"extractor": "fast"},
        "fast, whole page": {"extractor": "fast", "current_viewport_only": False},
        "exact": {"extractor": "exact"},
    }.items():
        with opened(engine, url, **observation) as session:
            if label == "fast":
                found |= new_pages(engine, session, url, rounds)
            session.observe()
            found[label] = [timed(session.observe) for _ in range(rounds)]
            if label == "fast":
                found["fast: no-op step"] = [timed(lambda: step(session)) for _ in range(rounds)]
                found["our screenshot"] = [timed(session.screenshot) for _ in range(rounds)]
                found |= raw(engine, session, rounds)
    return found


def new_pages(engine: BrowserEngine, session: Session, url: str, rounds: int) -> dict[str, Times]:
    """Measures the first observation of a new page and the first bare walk through one, in turn.

    Neither finds anything that is already compiled.
    """
    found: dict[str, Times] = {"fast, new page": [], "raw: bare walk, new page": []}
    for _ in range(rounds):
        session.open_tabs([url])
        found["fast, new page"].append(timed(session.observe))
        session.open_tabs([url])
        found["raw: bare walk, new page"].append(timed(lambda: walk(engine, session)))
    return found


def walk(engine: BrowserEngine, session: Session) -> Any:
    """Walks through all nodes of the page and reads their positions, which is the least that an observation needs."""
    parameters = {"expression": f"({BARE_WALK})()", "returnByValue": True}
    send = session._tabs.current.send("Runtime.evaluate", parameters, seconds=60)
    return engine.run(send, timeout=60, what="Runtime.evaluate")["result"]["value"]


def step(session: Session) -> None:
    """Takes the smallest possible step."""
    session.execute(Noop())
    session.observe()


def raw(engine: BrowserEngine, session: Session, rounds: int) -> dict[str, Any]:
    """Measures the protocol itself through the same driver and tab, which is the lower bound for these calls."""
    tab = session._tabs.current

    def call(method: str, **parameters: Any) -> Any:
        return engine.run(tab.send(method, parameters, seconds=60), timeout=60, what=method)

    calls: dict[str, Callable[[], object]] = {
        "raw: bare walk in the page": lambda: walk(engine, session),
        "raw: full AX tree": lambda: call("Accessibility.getFullAXTree"),
        "raw: AX tree + snapshot": lambda: (
            call("Accessibility.getFullAXTree"),
            call("DOMSnapshot.captureSnapshot", computedStyles=[]),
        ),
        "raw: screenshot": lambda: call("Page.captureScreenshot", format="jpeg", quality=80, optimizeForSpeed=True),
    }
    found: dict[str, Any] = {"nodes": int(walk(engine, session).split("\n")[0])}
    for label, run in calls.items():
        found[label] = [timed(run) for _ in range(rounds)]
    return found


def shown(times: Times) -> str:
    """Returns the median and the minimum in milliseconds."""
    return f"{1000 * statistics.median(times):,.1f} ({1000 * min(times):,.1f})"


def ratio(slow: Times, quick: Times) -> str:
    """Returns how many times as long the slow one takes, by medians and by minimums."""
    return f"{statistics.median(slow) / statistics.median(quick):,.1f} ({min(slow) / min(quick):,.1f})"


def report(name: str, found: dict[str, Any]) -> None:
    """Prints everything measured on one page."""
    print(f"\n{name}: {found['nodes']:,} nodes")
    for label, times in found.items():
        if isinstance(times, list):
            print(f"  {label:<28} {shown(times):>22} ms   n={len(times)}")
    fast, exact = found["fast"], found["exact"]
    ratios = {
        "BrowserGym text / fast": ("browsergym: text", fast),
        "BrowserGym everything / fast": ("browsergym: everything", fast),
        "WebArena text / fast": ("webarena: text", fast),
        "BrowserGym text / exact": ("browsergym: text", exact),
        "WebArena text / exact": ("webarena: text", exact),
        "raw AX tree / fast": ("raw: full AX tree", fast),
    }
    for label, (slow, quick) in ratios.items():
        if slow in found:
            print(f"  {label:<28} {ratio(found[slow], quick):>22} times")
    for label, ours, bound in (
        ("fast / bare walk", "fast", "raw: bare walk in the page"),
        ("fast / bare walk, new page", "fast, new page", "raw: bare walk, new page"),
        ("exact / AX + snapshot", "exact", "raw: AX tree + snapshot"),
        ("no-op step / observation", "fast: no-op step", "fast"),
        ("screenshot / raw", "our screenshot", "raw: screenshot"),
    ):
        print(f"  {label:<28} {ratio(found[ours], found[bound]):>22} times")
    sys.stdout.flush()


def measure_context(engine: BrowserEngine, url: str, rounds: int) -> Times:
    """Returns the seconds to open a signed-in context: cookies and local storage of three sites, a tab, an empty
    page."""
    sites = [f"http://{name}.test" for name in ("shopping", "gitlab", "reddit")]
    state = {
        "cookies": [
            {
                "name": f"session{number}", "value": "x" * 64, "domain": site.partition("//")[2], "path": "/",
                "expires": -1, "httpOnly": True, "secure": False, "sameSite": "Lax",
            }
            for site in sites
            for number in range(4)
        ],
        "origins": [{"origin": site, "localStorage": [{"name": "token", "value": "y" * 64}]} for site in sites[:1]],
    }  # fmt: skip

    def fresh() -> float:
        config = SessionConfig(proxy=url.rsplit("/", 1)[0], storage_state=state, deadlines=PATIENT)
        began = time.perf_counter()
        with engine.session(config):
            return time.perf_counter() - began

    fresh()
    return [fresh() for _ in range(rounds)]


def measure_memory(base: str, executable: str, browsergym: Path | None) -> None:
    """Measures the memory of one more session, in the same browser and in another worker, and of one more BrowserGym
    environment."""
    print("\nmemory, MiB PSS of all processes, each session showing the products page")
    engine = BrowserEngine(EngineConfig())
    sessions = []
    sizes = []
    with engine:
        for _ in range(3):
            manager = opened(engine, f"{base}/products", extractor="fast")
            sessions.append(manager)
            manager.__enter__().observe()
            sizes.append(tree_pss(os.getpid()))
        for manager in sessions:
            manager.__exit__(None, None, None)
    print(f"  ours, one more session in the same browser   {(sizes[-1] - sizes[0]) / 2:8.0f}")
    worker = [sys.executable, HERE / "observation.py", "--worker", f"{base}/products"]
    sizes = sizes_of([worker, worker, worker])
    print(
        f"  ours, one more worker (process and browser)  {(sizes[-1] - sizes[0]) / 2:8.0f}   the first: {sizes[0]:.0f}"
    )
    if browsergym is not None:
        command = [browsergym, HERE / PEERS["browsergym"][1], executable, f"{base}/products"]
        sizes = sizes_of([command, command, command])
        more = (sizes[-1] - sizes[0]) / 2
        print(f"  BrowserGym, one more environment             {more:8.0f}   the first: {sizes[0]:.0f}")


def sizes_of(commands: list[list[Any]]) -> list[float]:
    """Returns the memory in MiB after each further command has started and reported that it is ready."""
    running: list[subprocess.Popen[str]] = []
    sizes = []
    try:
        for command in commands:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            running.append(process)
            assert process.stdout is not None
            process.stdout.readline()
            sizes.append(sum(tree_pss(each.pid) for each in running))
    finally:
        for process in running:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(60)
    return sizes


def tree_pss(root: int) -> float:
    """Returns the proportional set size of a process and its descendants in MiB."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                continue
            parents.setdefault(parent, []).append(int(entry.name))
    found, waiting = 0, [root]
    while waiting:
        pid = waiting.pop()
        found += pss(pid)
        waiting += parents.get(pid, [])
    return found / 1024


def work(url: str) -> int:
    """Runs one worker with one session until its input ends."""
    with BrowserEngine(EngineConfig()) as engine, opened(engine, url, extractor="fast") as session:
        session.observe()
        print("ready", flush=True)
        sys.stdin.read()
    return 0


if __name__ == "__main__":
    sys.exit(work(sys.argv[2]) if sys.argv[1:2] == ["--worker"] else main())
