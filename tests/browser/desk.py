"""A site with buttons: its writes take as long as the request says, and it keeps messages for the next visitor."""

from __future__ import annotations

from pathlib import Path

__all__ = ["BASE", "write_catalogue"]

APP = """
import sqlite3, threading
from contextlib import closing
from pathlib import Path
from urllib.parse import parse_qs

ASK = "<button onclick=\\"fetch('{}', {{method: 'POST'}})\\">{}</button>"
BUTTONS = [("/save?after=1.5", "Save"), ("/save?after=4", "Slow"), ("/save", "Hang")]
BUTTONS += [("/say/cookie", "Note"), ("/say/server", "Keep")]
LEAVE = "<form method=post action='/save?after=1.5'><button>Send</button></form>"
QUEUE = "<button onclick=\\"for (let i = 0; i < 6; i++) fetch('/slow?' + i);"
QUEUE += "fetch('/save?after=0', {method: 'POST'})\\">Queue</button>"
THEN_SAVE = ".then(() => fetch('/save?after=0', {{method: 'POST'}}))\\">{}</button>"
QUEUE += "<button onclick=\\"fetch('/slow?a')" + THEN_SAVE.format("Lock")
QUEUE += "<button onclick=\\"fetch('/beat', {method: 'POST'}).then(() => fetch('/slow?b')).then(() => fetch('/slow?c'))"
QUEUE += THEN_SAVE.format("Chain")
QUEUE += "<button onclick=\\"fetch('/endless').then(() => fetch('/endless'))\\">Poll</button>"
LATE = "fetch('/save?after=0', {method: 'POST'})"
QUEUE += "<button onclick=\\"setTimeout(() => " + LATE + ", 800)\\">Later</button>"
FADE = "this.style.transition = 'opacity .4s'; this.offsetWidth; this.style.opacity = 0;"
QUEUE += "<button onclick=\\"this.ontransitionend = () => " + LATE + "; " + FADE + "\\">Fade</button>"
AGAIN = "function again() { fetch('/busy', {method: 'POST'}).then(answer => answer.ok || setTimeout(again, 900)) }"
QUEUE += "<script>" + AGAIN + "</script><button onclick='again()'>Retry</button>"
DROP = "const drop = new AbortController(); fetch('/save?after=2', {signal: drop.signal}).catch(() => 0);"
QUEUE += "<button onclick=\\"" + DROP + "setTimeout(() => drop.abort(), 100)\\">Drop</button>"
QUEUE += "<button onclick=\\"fetch('/slow?d').then(() => fetch('/slow?e'))"
QUEUE += ".then(() => { location = '/there' })\\">Go</button>"
PATIENT = "<script>fetch('/wait').then(() => fetch('/beat', {method: 'POST'}))</script>"

def seed(data_dir):
    with closing(sqlite3.connect(Path(data_dir, "main.sqlite3"))) as db, db:
        db.execute("create table saves (at)")

def create_app(data_dir):
    probed, beaten, kept, over = threading.Event(), threading.Event(), [], threading.Event()
    tried = []

    def answer(path, query, method, cookies):
        if path == "/save":
            # Without a duration it takes longer than any trial here.
            over.wait(float(query.get("after", ["60"])[0]))
            with closing(sqlite3.connect(Path(data_dir, "main.sqlite3"))) as db, db:
                db.execute("insert into saves values (1)")
            return "saved"
        if path == "/ticking.js":
            return "setTimeout(() => postMessage(1), 400)"
        if path == "/busy":
            tried.append(path)
            if len(tried) > 3:
                return answer("/save", {"after": ["0"]}, method, cookies)
        if path == "/slow":
            over.wait(3 if "3" in query else 1)
        if path == "/endless":
            over.wait(60)
        if path == "/patient":
            return "patient" + PATIENT
        if path == "/wait":
            probed.wait(20)
        if path == "/probe":
            # The agent's page acts while a check reads this.
            probed.set()
            beaten.wait(20)
            return "<p>probe</p><script>fetch('/seen', {method: 'POST'})</script>"
        if path == "/beat":
            beaten.set()
        if path == "/say/server":
            kept.append("kept")
        return ""

    def app(environ, start_response):
        path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
        headers, cookies = [("Content-Type", "text/html")], environ.get("HTTP_COOKIE", "")
        body = answer(path, parse_qs(environ["QUERY_STRING"], keep_blank_values=True), method, cookies)
        if path == "/say/cookie":
            headers.append(("Set-Cookie", "flash=noted; Path=/"))
        if path == "/":
            headers.append(("Set-Cookie", "flash=; Max-Age=0; Path=/"))
            told = [*kept, *(["noted"] if "flash=noted" in cookies else [])]
            kept.clear()
            buttons = "".join(ASK.format(*each) for each in BUTTONS)
            body = f"<title>Desk</title><p id=flash>{' '.join(told)}</p>{buttons}{LEAVE}{QUEUE}"
        if path == "/ticking.js":
            headers = [("Content-Type", "text/javascript")]
        start_response("503 Busy" if path == "/busy" and body != "saved" else "200 OK", headers)
        return [body.encode()]

    return app
"""
SITES = """
schema_version: 1
apps:
  desk:
    backend: process
    sites:
      desk: {host: desk.localhost}
    databases: {main: {sqlite: main.sqlite3}}
    process: {factory: "desk:create_app", seed: "desk:seed"}
"""
BASE = "http://desk.localhost"


def write_catalogue(folder: Path) -> Path:
    """Write the site's program and a catalogue for it; return the catalogue."""
    (folder / "desk.py").write_text(APP)
    (folder / "sites.yaml").write_text(SITES)
    return folder / "sites.yaml"
