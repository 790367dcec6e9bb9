"""Checks that concurrent trials on shared browsers and one host name do not affect each other.

    python benchmarks/isolation_concurrency.py [--trials 1000] [--concurrency 16]
        [--workers 0] [--inject-leak site | browser]

Each trial checks, leaves its mark, and checks again, on a page that reads every store of a browser or a site: cookies
(HTTP and script), local and session storage, IndexedDB, the script cache, the HTTP cache, the window's name, broadcast
channels, shared workers, permissions, and the site's database and memory. It passes if it finds nothing first, and only
its own mark second.

``--inject-leak site`` uses a site that keeps marks outside of what is reset; ``browser`` uses contexts that start with
a foreign cookie. Prints the number of trials, of trials that saw another's mark, and where. Exit code 1: such a trial,
or an error.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import yaml

from pytest_webarena.results import RunDir

APP = '''
import http.server, json, pathlib, sqlite3, sys
from contextlib import closing
from urllib.parse import parse_qs, urlsplit

DATA, PORT, OUTSIDE = pathlib.Path(sys.argv[2]), int(sys.argv[1]), sys.argv[3]
DATABASE = pathlib.Path(OUTSIDE) if OUTSIDE else DATA / "main.sqlite3"
memory = []
PAGE = """<!doctype html><title>marks</title><p id=out>looking</p><script>
const mark = new URLSearchParams(location.search).get("mark");
const seen = [];
const note = (where, value) => { if (value) seen.push(where + "=" + value); };
const base = () => new Promise((done, fail) => {
  const asked = indexedDB.open("marks", 1);
  asked.onupgradeneeded = () => asked.result.createObjectStore("marks");
  asked.onsuccess = () => done(asked.result); asked.onerror = fail;
});
const kept = (db, way, call) => new Promise((done) => {
  const asked = call(db.transaction("marks", way).objectStore("marks"));
  asked.onsuccess = () => done(asked.result); asked.onerror = () => done("error");
});
const channel = new BroadcastChannel("marks");
let own = sessionStorage.own || "";
channel.onmessage = ({data}) => { if (data === "who" && own) channel.postMessage("me " + own); };
const heard = new Promise((done) => {
  const ear = new BroadcastChannel("marks");
  ear.onmessage = ({data}) => { if (data.startsWith("me ")) { ear.close(); done(data.slice(3)); } };
  setTimeout(() => { ear.close(); done(""); }, 120);
});
const shared = (message) => new Promise((done) => {
  if (typeof SharedWorker === "undefined") return done("");
  const worker = new SharedWorker("/worker.js");
  worker.port.onmessage = ({data}) => done(data);
  worker.onerror = () => done("");
  worker.port.postMessage(message);
  setTimeout(() => done(""), 400);
});
(async () => {
  const db = await base();
  if (!mark) {
    channel.postMessage("who");
    note("cookie", document.cookie);
    note("local", localStorage.mark);
    note("session", sessionStorage.mark);
    note("name", window.name);
    note("indexed", await kept(db, "readonly", (store) => store.get("mark")));
    const found = self.caches && await caches.match("/kept").catch(() => undefined);
    note("caches", found && await found.text());
    note("site", (await (await fetch("/marks", {cache: "no-store"})).json()).join(","));
    note("http", await (await fetch("/cached")).text());
    note("shared", await shared(""));
    note("channel", await heard);
    const allowed = await navigator.permissions.query({name: "geolocation"}).catch(() => null);
    note("permission", allowed && allowed.state === "granted" && "granted");
  } else {
    document.cookie = "script=" + mark + "; max-age=3600";
    localStorage.mark = sessionStorage.mark = window.name = mark;
    sessionStorage.own = own = mark;
    await kept(db, "readwrite", (store) => store.put(mark, "mark"));
    const cache = self.caches && await caches.open("marks");
    if (cache) await cache.put("/kept", new Response(mark));
    await fetch("/cached?" + mark).then((answer) => answer.text());
    await shared(mark);
    note("marked", mark);
  }
  out.textContent = "found: " + (seen.join("; ") || "nothing") + " .";
})().catch((error) => { out.textContent = "found: error " + error + " ."; });
</script>"""
WORKER = """let mark = "";
const hear = (port) => ({data}) => { if (data) mark = data; port.postMessage(mark); };
onconnect = ({ports: [port]}) => { port.onmessage = hear(port); };"""

def marks():
    with closing(sqlite3.connect(DATABASE)) as db:
        return [row[0] for row in db.execute("select text from marks")] + memory

class Site(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        parts = urlsplit(self.path)
        mark = parse_qs(parts.query).get("mark", [""])[0]
        more = {}
        if parts.path == "/":
            text, kind = PAGE, "text/html"
            if mark:
                more["Set-Cookie"] = f"server={mark}; HttpOnly; Max-Age=3600"
                memory.append(f"memory-{mark}")
                with closing(sqlite3.connect(DATABASE)) as db, db:
                    db.execute("insert into marks values (?)", [mark])
        elif parts.path == "/marks":
            cookie = self.headers.get("Cookie", "")
            text, kind = json.dumps(marks() + ([cookie] if cookie else [])), "application/json"
        elif parts.path == "/cached":
            memory_of = [each for each in memory if each.startswith("memory-")]
            text, kind = (memory_of[-1] if memory_of else ""), "text/plain"
            more["Cache-Control"] = "max-age=3600"
        elif parts.path == "/worker.js":
            text, kind = WORKER, "text/javascript"
        else:
            text, kind = "", "text/plain"
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in more.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass

DATA.mkdir(exist_ok=True)
with closing(sqlite3.connect(DATABASE)) as db, db:
    db.execute("create table if not exists marks (text)")
http.server.ThreadingHTTPServer(("", PORT), Site).serve_forever(poll_interval=0.01)
'''
AGENT = '''
import re, time, uuid
from pytest_webarena.actions import Goto, Noop, Scroll, Stop

class Marker:
    """Looks, marks, looks again; answers what it has seen of others."""

    def __init__(self):
        self.mark = "m" + uuid.uuid4().hex[:12]
        self.looks = []
        self.waited = 0

    def act(self, observation):
        found = re.search(r"found: (.*?) \\.", observation.text, re.S)
        if not found:  # Scripts may take seconds on a busy machine; waiting in one way only would end the trial.
            self.waited += 1
            time.sleep(min(2.0, 0.1 * 2**self.waited))
            return (Noop(), Scroll("up"))[self.waited % 2]
        told = found.group(1)
        if not self.looks:
            self.looks.append(told)
            return Goto(f"https://marks.test/?mark={self.mark}")
        if "marked=" in told:
            return Goto("https://marks.test/")
        self.looks.append(told)
        before, after = self.looks
        strange = [before] if before != "nothing" else []
        strange += [each for each in after.split("; ") if each.replace(self.mark, "").count("m") and self.foreign(each)]
        if self.mark not in after:
            strange.append(f"its own mark is not there: {after}")
        return Stop(answer="clean" if not strange else "saw " + " and ".join(strange))

    def foreign(self, each):
        return any(mark != self.mark for mark in re.findall(r"m[0-9a-f]{12}", each))
'''
TASK = """
tasks:
  - {id: mark, intent: Leave no trace., sites: [marks], start: https://marks.test/, checks: [{answer: clean}]}
"""
LEAKING = """
import pytest

@pytest.fixture
def webarena_context_args(webarena_context_args):
    cookie = {"name": "script", "value": "m000000000000", "domain": "marks.test", "path": "/"}
    return {**webarena_context_args, "storage_state": {"cookies": [cookie], "origins": []}}
"""


def main() -> int:
    """Returns exit code 1 if anything leaked or a trial couldn't be carried out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1000, help="run this many trials (default: %(default)s)")
    parser.add_argument(
        "--concurrency", type=int, default=16, help="concurrent trials per process (default: %(default)s)"
    )
    parser.add_argument("--workers", type=int, default=0, help="workers of pytest-xdist (default: %(default)s)")
    parser.add_argument("--inject-leak", choices=["site", "browser"], help="inject a leak, which must be found")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="webarena-isolation-") as name:
        folder = Path(name)
        began = time.monotonic()
        return report(play(folder, options), time.monotonic() - began, options)


def play(folder: Path, options: argparse.Namespace) -> Path:
    """Runs all trials in one pytest run; returns the run's folder."""
    outside = str(folder / "outside.sqlite3") if options.inject_leak == "site" else ""
    (folder / "app.py").write_text(APP)
    (folder / "agent.py").write_text(AGENT)
    (folder / "tasks.yaml").write_text(TASK)
    app = {
        "backend": "process",
        "process": {"command": ["{python}", str(folder / "app.py"), "{port}", "{data_dir}", outside]},
        "sites": {"marks": {"host": "marks.test", "https": True}},
        "ready": [{"http": {"path": "/", "status": 200}}],
    }
    (folder / "sites.yaml").write_text(yaml.safe_dump({"schema_version": 1, "apps": {"marks": app}}))
    if options.inject_leak == "browser":
        (folder / "conftest.py").write_text(LEAKING)
    command = [sys.executable, "-m", "pytest", "tasks.yaml", "--agent=agent.py:Marker", f"--trials={options.trials}"]
    command += [
        f"--concurrency={options.concurrency}",
        "--sites=sites.yaml",
        "--run-dir=run",
        "-q",
        "--tb=no",
        "--record=minimal",
    ]
    command += [f"-n{options.workers}"] if options.workers else []
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if not (folder / "run").exists():
        sys.exit(done.stdout + done.stderr)
    if done.returncode:
        print(f"pytest's exit code {done.returncode}; {done.stderr[-600:]}")
    print("\n".join(line for line in done.stdout.splitlines()[-14:] if "FAILED" not in line))
    return folder / "run"


def report(run: Path, seconds: float, options: argparse.Namespace) -> int:
    """Prints the results; returns the exit code."""
    records = RunDir(run).records()
    outcomes = Counter(record.outcome for record in records)
    leaks = [record.answer for record in records if (record.answer or "").startswith("saw")]
    others = [f"{record.outcome}: {record.message[:150]}" for record in records if record.outcome != "passed"]
    print(
        f"{len(records)} trials, {options.concurrency} in flight, {seconds:.0f} s: {dict(outcomes)}, {len(leaks)} leaks"
    )
    for other, count in Counter(others).most_common(5):
        print(f"  {count} times {other}")
    for leak, count in Counter(leak.partition("=")[0] for leak in leaks).most_common(5):
        print(f"  {count} times {leak}: {next(each for each in leaks if each.startswith(leak))[:160]}")
    return int(bool(others) or len(records) < options.trials)


if __name__ == "__main__":
    sys.exit(main())
