"""A notebook of four containers, as somebody else would write it: ``python3 notes.py web|store|clock|worker``.

``web`` serves the pages and keeps nothing, ``store`` keeps the notes in SQLite, ``clock`` dates them, and ``worker``
marks new ones. The names of the other containers are their host names. ``/new`` answers only when ``/tmp/go`` exists if
``HOLD`` is set, so that a benchmark can cause a fault at that moment.
"""

from __future__ import annotations

import html
import http.server
import json
import os
import sqlite3
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from email.utils import formatdate
from pathlib import Path

STORE, CLOCK = "http://store:8001", "http://clock:8002"
DATA = "/data/notes.db"
HOUR = 3600


def now() -> float:
    """Return the time by this container's clock, which `SKEW` or a file may move by some seconds."""
    moved = Path("/tmp/skew")
    return time.time() + float(moved.read_text() if moved.exists() else os.environ.get("SKEW", "0"))


def fetch(url: str, data: object = None) -> str:
    """Return the answer of another container."""
    body = None if data is None else json.dumps(data).encode()
    with urllib.request.urlopen(url, body, timeout=5) as answer:
        return answer.read().decode()


class Handler(http.server.BaseHTTPRequestHandler):
    """What all containers with a port have in common."""

    def answer(self, text: str, status: int = 200, **headers: str) -> None:
        """Send a page."""
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(text.encode())

    def body(self) -> str:
        """Return the body of the request."""
        return self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()


class Store(Handler):
    """Notes as JSON."""

    def do_GET(self) -> None:
        with sqlite3.connect(DATA) as notes:
            self.answer(json.dumps(notes.execute("select text, writer, written, marked from note").fetchall()))

    def do_POST(self) -> None:
        data = json.loads(self.body())
        try:
            with sqlite3.connect(DATA) as notes:
                if self.path == "/mark":
                    notes.execute("update note set marked = 1 where marked = 0")
                else:
                    notes.execute("insert into note values (?, ?, ?, 0)", data)
        except sqlite3.Error as error:
            print(f"store: {error}", flush=True)
            self.answer(str(error), 500)
        else:
            self.answer("saved")


class Clock(Handler):
    """The time."""

    def do_GET(self) -> None:
        self.answer(str(now()))


class Web(Handler):
    """The pages."""

    def do_GET(self) -> None:
        self.respond("")

    def do_POST(self) -> None:
        self.respond(self.body())

    def respond(self, body: str) -> None:
        try:
            self.page(urllib.parse.urlsplit(self.path).path, dict(urllib.parse.parse_qsl(body)))
        except (OSError, urllib.error.HTTPError) as error:
            print(f"web: {self.command} {self.path}: {error}", flush=True)
            self.answer("<h1>Something went wrong</h1>", 502)

    def who(self) -> str:
        """Return the account that is signed in: sessions are valid for an hour of this container's clock."""
        cookies = dict(part.strip().partition("=")[::2] for part in self.headers.get("Cookie", "").split(";"))
        name, _, since = cookies.get("session", "").partition("@")
        return name if name and abs(now() - float(since)) < HOUR else ""

    def page(self, path: str, form: dict[str, str]) -> None:
        if path == "/signin":
            if form.get("name") == "ada" and form.get("password") == "paper-lantern-86":
                session = f"session=ada@{now():.0f}; Path=/; Expires={formatdate(now() + HOUR, usegmt=True)}"
                self.answer("", 303, Location="/account", Set_Cookie=session)
            else:
                self.answer(
                    "<form method=post><input name=name id=name><input name=password id=password type=password>"
                    "<button id=go>Sign in</button></form>"
                )
        elif path != "/" and not self.who():
            self.answer("", 303, Location="/signin")
        elif path == "/account":
            self.answer(f"<p>Signed in as {self.who()}</p>")
        elif path == "/new":
            self.hold()
            self.answer("<form method=post action=/add><input name=text id=text><button id=save>Save</button></form>")
        elif path == "/add":
            fetch(f"{STORE}/add", [form.get("text", ""), self.who(), float(fetch(CLOCK))])
            self.answer("", 303, Location="/")
        else:
            notes = "".join(f"<li>{html.escape(note[0])}</li>" for note in json.loads(fetch(STORE)))
            self.answer(f"<h1>Notes</h1><ul>{notes}</ul><a href=/new>New note</a>")

    def hold(self) -> None:
        """Wait until the benchmark has caused its fault."""
        ends = time.monotonic() + 20
        Path("/tmp/held").touch()
        while os.environ.get("HOLD") and not Path("/tmp/go").exists() and time.monotonic() < ends:
            time.sleep(0.05)


def seed() -> None:
    """Make the store's first note."""
    with sqlite3.connect(DATA) as notes:
        notes.execute("create table if not exists note (text text, writer text, written real, marked int)")
        notes.execute("insert into note values ('Oil the hinges', 'ada', 1700000000, 1)")


def work() -> None:
    """Mark new notes."""
    while True:
        try:
            fetch(f"{STORE}/mark", [])
        except OSError as error:
            print(f"worker: {error}", flush=True)
        Path("/tmp/alive").touch()
        time.sleep(0.5)


def main(role: str) -> None:
    """Run one of the four containers."""
    if role == "worker":
        work()
    if role == "store":
        seed()
    port, handler = {"store": (8001, Store), "clock": (8002, Clock), "web": (8080, Web)}[role]
    http.server.ThreadingHTTPServer(("", port), handler).serve_forever()


if __name__ == "__main__":
    main(sys.argv[1])
