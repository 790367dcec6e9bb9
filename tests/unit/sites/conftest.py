"""A tiny app in two forms: WSGI for the fork server, and a program."""

from __future__ import annotations

from pathlib import Path

import pytest

WSGI = """
import os, signal, sqlite3, sys, time
from contextlib import closing
from pathlib import Path

print("tinyapp is loaded", file=sys.stderr)
memory = []

def seed(data_dir):
    if os.environ.get("TINY_SEED") == "fails":
        raise RuntimeError("no seed today")
    memory.append("left behind by the seed")
    with closing(sqlite3.connect(data_dir / "main.sqlite3")) as db, db:
        db.execute("create table notes (id integer primary key, text)")
        db.execute("insert into notes (text) values ('seeded')")

def create_app(data_dir):
    places = [Path(data_dir)]
    create_app.places = places

    def app(environ, start_response):
        path, body = environ["PATH_INFO"], ""
        if path == "/crash":
            print("about to crash", file=sys.stderr, flush=True)
            os._exit(7)
        if path == "/notfound":
            start_response("404 Not Found", [])
            return [b""]
        if path == "/add":
            memory.append("x")
            with closing(sqlite3.connect(places[0] / "main.sqlite3")) as db, db:
                db.execute("insert into notes (text) values ('added')")
        if path == "/remember":
            memory.append("x")
        with closing(sqlite3.connect(places[0] / "main.sqlite3")) as db:
            notes = db.execute("select count(*) from notes").fetchone()[0]
        body = f"notes={notes} memory={len(memory)} pid={os.getpid()} parent={os.getppid()} host={environ['HTTP_HOST']}"
        body += f" authorization={environ.get('HTTP_AUTHORIZATION')}"
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [body.encode()]

    return app

def on_fork(data_dir):
    create_app.places[0] = Path(data_dir)
"""

PROGRAM = """
import http.server, os, pathlib, sys

port, data, kind = int(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
print("starting as", kind, os.environ.get("GREETING", ""), flush=True)
if kind == "exits":
    sys.exit("bad configuration")

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if kind == "slow" and not (data / "ready").exists():
            (data / "ready").write_text("")
            return self.send_error(503)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(" ".join(sorted(path.name for path in data.iterdir())).encode())

    def do_POST(self):
        (data / "posted").write_text("")
        self.do_GET()

http.server.ThreadingHTTPServer(("127.0.0.1", port if kind != "elsewhere" else 0), Handler).serve_forever()
"""

CATALOGUE = """
apps:
  tiny:
    backend: process
    reuse: clean
    answer_timeout: 3
    sites: {tiny: {host: tiny.test, start: /start, user: ann}}
    users: {ann: {password: secret}}
    databases: {main: {sqlite: main.sqlite3}}
    process: {factory: "tinyapp:create_app", seed: "tinyapp:seed", warm: [/]}
  other:
    backend: process
    sites: {other: {host: other.test, http_credentials: {username: staging, password: "a:b"}}}
    process: {factory: "tinyapp:create_app", seed: "tinyapp:seed", on_fork: "tinyapp:on_fork"}
  broken:
    backend: process
    sites: {broken: {host: broken.test}}
    process: {factory: "tinyapp:no_such_factory"}
"""


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``tinyapp.py``, ``program.py`` and the catalogue ``sites.yaml``. Tests must not change it."""
    folder = tmp_path_factory.mktemp("tiny")
    (folder / "tinyapp.py").write_text(WSGI)
    (folder / "program.py").write_text(PROGRAM)
    (folder / "sites.yaml").write_text(CATALOGUE)
    return folder
