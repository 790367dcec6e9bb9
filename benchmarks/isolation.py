"""Checks that trials that only read do not affect each other on replicas that are reused without a reset.

    python benchmarks/isolation.py [--clean 1000] [--workers 4] [--backend process | docker] [--replicas 6] [--blind]

Every trial leases the app through the real broker and gateway, and compares its page (rows, files, folders, modes, a
time) with the first lease's, at its start and at its end. Three in four only read; the others leave a mark by GET:

write, folder, touch   the GET itself changes a row, creates an empty folder, changes only a file's time
thread, process        it is answered at once; a thread or process that it started writes later
slow, left, stream     it is still running when the lease ends: waiting, abandoned by its browser, half answered
timer, memory          only with ``--blind``: invisible outside the app, so these leak (a timer in the app's own loop; a
                       value in its memory)

Stops after ``--clean`` leases of reused replicas. Prints their number and the leaks. Exit code 1: a leak.
`isolation_mutating` is the same for trials that write, on the shipped sites.
"""

from __future__ import annotations

import argparse
import http.client
import random
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import yaml

from pytest_webarena.errors import WebArenaError
from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
from pytest_webarena.sites.client.lease import BrokerClient, Lease

APP = """
import http.server, os, pathlib, sqlite3, subprocess, sys, threading, time
from contextlib import closing
from urllib.parse import parse_qs, urlsplit

DATA, PORT = pathlib.Path(sys.argv[2]), int(sys.argv[1])
DATABASE = DATA / "main.sqlite3"
LATER = "import sqlite3, sys, time; time.sleep(float(sys.argv[3])); db = sqlite3.connect(sys.argv[1]);" \\
        "db.execute('insert into notes values (?)', [sys.argv[2]]); db.commit()"
memory, jobs = [], []

def write(mark):
    with closing(sqlite3.connect(DATABASE)) as db, db:
        db.execute("insert into notes values (?)", [mark])

def page():
    with closing(sqlite3.connect(DATABASE)) as db:
        rows = [row[0] for row in db.execute("select text from notes")]
    found = []
    for path in sorted(DATA.rglob("*")):
        seen = path.lstat()
        time = seen.st_mtime_ns if path.name == "seeded" else 0
        found.append((str(path.relative_to(DATA)), oct(seen.st_mode), time))
    return repr((rows, found, memory))

class Site(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        parts = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        mark, after, kind = asked.get("mark", ""), float(asked.get("after", 0)), parts.path[1:]
        if kind == "write":
            write(mark)
        elif kind == "folder":
            (DATA / mark).mkdir()
        elif kind == "touch":
            os.utime(DATA / "seeded")
        elif kind == "thread":
            threading.Timer(after, write, [mark]).start()
        elif kind == "process":
            subprocess.Popen([sys.executable, "-c", LATER, str(DATABASE), mark, str(after)], start_new_session=True)
        elif kind in ("slow", "left"):
            time.sleep(after)
            write(mark)
        elif kind == "stream":
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"half")
            time.sleep(after)
            write(mark)
            return
        elif kind == "timer":
            jobs.append((time.monotonic() + after, mark))
        elif kind == "memory":
            memory.append(mark)
        text = page().encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    def log_message(self, *args):
        pass

class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    def service_actions(self):
        for job in [job for job in jobs if job[0] <= time.monotonic()]:
            jobs.remove(job)
            write(job[1])

DATA.mkdir(exist_ok=True)
(DATA / "seeded").touch()
os.utime(DATA / "seeded", (0, 0))
with closing(sqlite3.connect(DATABASE)) as db, db:
    db.execute("create table notes (text)")
Server(("", PORT), Site).serve_forever(poll_interval=0.01)
"""
SITE, HOST = "notes", "notes.test"
READERS = 0.75
SEEN = ("write", "folder", "touch", "thread", "process", "slow", "left", "stream")
BLIND = ("timer", "memory")
LATEST = 0.4
"""Seconds after which even the last delayed write of a trial is done."""


class Tally:
    """The results of the trials so far."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.kinds: Counter[str] = Counter()
        self.leaks: list[str] = []
        self.errors: list[str] = []
        self.clean = 0
        self.had: set[tuple[str, int]] = set()
        """Replicas that were leased since their last reset."""

    def began(self, lease: Lease) -> None:
        """Counts a trial that has got its replica."""
        (replica,) = lease.replicas
        with self.lock:
            self.clean += (replica.id, replica.generation) in self.had
            self.had.add((replica.id, replica.generation))


def main() -> int:
    """Returns exit code 1 if anything leaked or a trial couldn't be carried out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--clean", type=int, default=1000, help="stop after this many reused replicas (default: %(default)s)"
    )
    parser.add_argument("--workers", type=int, default=4, help="run this many workers (default: %(default)s)")
    parser.add_argument(
        "--backend",
        choices=["process", "docker"],
        default="process",
        help="backend of the replicas (default: %(default)s)",
    )
    parser.add_argument("--replicas", type=int, default=6, help="replicas; few force reuse (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the trials (default: %(default)s)")
    parser.add_argument("--blind", action="store_true", help="include kinds that are invisible outside the app")
    parser.add_argument("--kinds", nargs="+", choices=SEEN + BLIND, help="run only these kinds")
    options = parser.parse_args()
    kinds = tuple(options.kinds or SEEN + (BLIND if options.blind else ()))
    tally = Tally()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        config = BrokerConfig(
            catalogue=str(catalogue(Path(folder), options.backend)),
            run_dir=Path(folder),
            max_replicas=options.replicas,
            lease_timeout=600,
        )
        with BrokerLauncher(config) as launcher:
            with BrokerClient(launcher.address, name="first") as client, client.lease([SITE], holder="first") as lease:
                pristine = ask(lease, "/")

            def work(index: int) -> None:
                chance = random.Random(f"{options.seed}.{index}")
                number = 0
                while tally.clean < options.clean:
                    number += 1
                    kind = "read" if chance.random() < READERS else chance.choice(kinds)
                    trial(launcher.address, f"mark-{index}-{number}", kind, chance, tally, pristine)

            threads = [threading.Thread(target=work, args=(index,)) for index in range(options.workers)]
            for thread in threads:
                thread.start()
            reported = 0
            while any(thread.is_alive() for thread in threads):
                threads[0].join(1.0)
                if tally.clean >= reported + 100:
                    reported = tally.clean // 100 * 100
                    seconds = time.monotonic() - began
                    print(f"  {reported} reused replicas, {len(tally.leaks)} leaks, {seconds:.0f} s", flush=True)
            (app,) = launcher.stop().apps.values()
    trials = sum(tally.kinds.values())
    print(
        f"{options.backend}: {trials} reading trials by {options.workers} workers in {time.monotonic() - began:.0f} s, "
        f"{app.clean_hand_ons} on reused replicas: {len(tally.leaks)} leaks, {len(tally.errors)} errors\n"
        f"  kinds: {', '.join(f'{name} {count}' for name, count in sorted(tally.kinds.items()))}\n"
        f"  {app.resets.count} resets, median {app.resets.median:.0f} ms; "
        f"hand-over median {app.handovers.median:.1f} ms, 95 % within {app.handovers.p95:.1f} ms"
    )
    return 1 if tally.leaks or tally.errors else 0


def trial(address: str, mark: str, kind: str, chance: random.Random, tally: Tally, pristine: str) -> None:
    """Leases a replica, compares its page, acts as ``kind`` says, compares again if only read, and releases."""
    leak = error = ""
    try:
        with BrokerClient(address, name=mark) as client:
            lease = client.lease([SITE], holder=mark)
            tally.began(lease)
            if (found := ask(lease, "/")) != pristine:
                leak = f"{mark} ({kind}) began with {found}"
            elif kind == "read":
                time.sleep(chance.uniform(0, 0.06))  # meanwhile other trials are at work
                if (found := ask(lease, "/")) != pristine:
                    leak = f"{mark} ended with {found}"
                lease.release()
            else:
                leave(lease, f"/{kind}?mark={mark}&after={chance.uniform(0, LATEST):.3f}", kind, chance)
    except (WebArenaError, OSError, http.client.HTTPException) as problem:
        error = f"{mark} ({kind}): {type(problem).__name__}: {problem}"
    with tally.lock:
        tally.kinds[kind] += 1
        tally.leaks += [leak] if leak else []
        tally.errors += [error] if error else []
    if text := leak or error:
        print(f"  {text[:300]}", flush=True)


def leave(lease: Lease, path: str, kind: str, chance: random.Random) -> None:
    """Starts a request that changes something, and releases the lease."""
    if kind not in ("slow", "left", "stream"):
        ask(lease, path)
        lease.release()
        return
    port = int(lease.proxy.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=10) as browser:
        browser.sendall(f"GET http://{HOST}{path} HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        if kind == "stream":
            browser.recv(1000)
        else:
            time.sleep(chance.uniform(0.005, 0.02))  # so that the request arrives
        if kind == "left":
            browser.close()
            time.sleep(chance.uniform(0, 0.02))
        lease.release()


def ask(lease: Lease, path: str) -> str:
    """Returns the page. A fault of the site or gateway raises `OSError`, as it says nothing about other trials."""
    connection = http.client.HTTPConnection(lease.proxy.removeprefix("http://"), timeout=30)
    try:
        connection.request("GET", f"http://{HOST}{path}")
        response = connection.getresponse()
        text = response.read().decode()
        if response.status != 200:
            raise OSError(f"{path}: {response.status}: {text[:200]}")
        return text
    finally:
        connection.close()


def catalogue(folder: Path, backend: str) -> Path:
    """Writes the catalogue of the app, with replicas reused when clean, as a process or in a container."""
    program = folder / "notes.py"
    program.write_text(APP)
    app: dict[str, object] = {
        "backend": backend,
        "reuse": "clean",
        "sites": {SITE: {"host": HOST}},
        "ready": [{"http": {"path": "/", "status": 200}}],
    }
    if backend == "process":
        app["process"] = {"command": ["{python}", str(program), "{port}", "{data_dir}"]}
    else:
        # Replaces the package's own program: only images built here are fully known.
        package = folder / "code" / "pytest_webarena" / "embedded"
        package.mkdir(parents=True)
        (package / "serve.py").write_text(APP)
        for place in (package, package.parent):
            (place / "__init__.py").touch()
        app["docker"] = {
            "image": "localhost/pytest-webarena-embedded",
            "build": "embedded",
            "command": ["8080", "/data/notes"],
            "port": 8080,
            "data_dir": "/data/notes",
            "volumes": [{"source": str(folder / "code"), "target": "/code"}],
            "env": {"PYTHONPATH": "/code"},
            "memory": "128m",
        }
    path = folder / "sites.yaml"
    path.write_text(yaml.safe_dump({"schema_version": 1, "apps": {SITE: app}}))
    return path


if __name__ == "__main__":
    sys.exit(main())
