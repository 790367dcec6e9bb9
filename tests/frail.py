"""A site that breaks in any way on request: a small program for the ``process`` backend."""

from __future__ import annotations

from pathlib import Path

__all__ = ["write_catalogue"]

PROGRAM = """
import contextlib, http.server, os, pathlib, signal, sqlite3, sys, time

database = pathlib.Path(sys.argv[2]) / "notes.sqlite3"
down = False

BEAT = "setInterval(() => fetch('/beat', {method: 'POST'}), 50)"
BOMB = "document.documentElement.dataset.bomb = 1"  # the tests crash the process of a page that has it
PAGES = {
    "/scripts": f'<button onclick="{BEAT}">Beat</button><button onclick="{BOMB}">Bomb</button>',
    "/restless": f"<p>Restless</p><script>{BEAT}</script>",
    "/bomb": f"<p>Large</p><script>{BOMB}</script>",
}

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, body, status=200, **headers):
        data = body.encode()
        self.send_response(status)
        for name, value in {"Content-Type": "text/html", "Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        global down
        path = self.path.partition("?")[0]
        if path == "/die":
            os._exit(3)
        if path == "/freeze":
            os.kill(os.getpid(), signal.SIGSTOP)
            time.sleep(3600)  # another thread may have taken the signal
        if path == "/blunt":
            self.close_connection = True
            return
        if path == "/restart":
            self.answer("restarting")
            self.wfile.flush()
            os.execv(sys.executable, [sys.executable, *sys.argv])
        if path == "/lie-down":
            down = True
        if path in PAGES:
            return self.answer(PAGES[path])
        if down or path == "/closed":
            return self.answer("<h1>Sorry</h1>", 500)
        if path == "/away":
            return self.answer("", 302, Location="http://elsewhere.test/")
        with contextlib.closing(sqlite3.connect(database)) as notes:
            count = notes.execute("select count(*) from notes").fetchone()[0]
        form = "<form method=post action=/notes><button>Add</button></form>"
        self.answer(f"<title>Frail</title><p>{count} notes</p>{form}")

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/beat":
            time.sleep(0.2)  # so that there is always one in flight
            return self.answer("")
        with contextlib.closing(sqlite3.connect(database)) as notes, notes:
            notes.execute("insert into notes values ('tea')")
        self.answer("", 303, Location="/")

    def log_message(self, *args): pass

with contextlib.closing(sqlite3.connect(database)) as notes, notes:
    notes.execute("create table if not exists notes (title text)")
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
CATALOGUE = """
apps:
  frail:
    backend: process
    sites: {frail: {host: frail.test}}
    databases: {main: {sqlite: notes.sqlite3}}
    ready: [{http: /}]
    reuse: never
    answer_timeout: 2
    process: {command: ["{python}", program.py, "{port}", "{data_dir}"]}
"""


def write_catalogue(folder: Path) -> Path:
    """Write the program and a catalogue with its only site, ``frail``, into ``folder``. Returns the catalogue's
    file."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "program.py").write_text(PROGRAM)
    (folder / "sites.yaml").write_text(CATALOGUE)
    return folder / "sites.yaml"
