"""A small app whose sessions are in its own database, so that a session of one replica is invalid on others."""

from __future__ import annotations

__all__ = ["FORUM", "SERVE", "SITES", "TASKS"]

FORUM = """
import secrets, sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import parse_qs

def seed(data_dir):
    with closing(sqlite3.connect(Path(data_dir, "main.sqlite3"))) as db, db:
        db.execute("create table if not exists sessions (id, user)")

def create_app(data_dir):
    memory = {}
    path = Path(data_dir, "main.sqlite3")

    def app(environ, start_response):
        headers = [("Content-Type", "text/html")]
        with closing(sqlite3.connect(path)) as db, db:
            if environ["REQUEST_METHOD"] == "POST":
                form = parse_qs(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])).decode())
                session, user = secrets.token_hex(8), form["user"][0]
                if user == "zoe":  # hers does not outlive the process
                    memory[session] = user
                else:
                    db.execute("insert into sessions values (?, ?)", [session, user])
                start_response("302 Found", [("Set-Cookie", f"session={session}; Path=/"), ("Location", "/")])
                return [b""]
            session = environ.get("HTTP_COOKIE", "").partition("=")[2]
            known = [memory[session]] if session in memory else []
            known += [row[0] for row in db.execute("select user from sessions where id = ?", [session])]
        if environ["PATH_INFO"] == "/me" and not known:
            start_response("302 Found", [("Location", "/login")])
            return [b""]
        start_response("200 OK", headers)
        form = "<form method=post action=/login><input name=user><button>Go</button></form>"
        return [f"<p>You are {known[0]}.</p>".encode() if known else form.encode()]

    return app
"""
SERVE = """
import os
from wsgiref.simple_server import make_server
os.makedirs("/data", exist_ok=True)
seed("/data")
make_server("", 8080, create_app("/data")).serve_forever()
"""
"""A program for a container, to be appended to `FORUM`."""
SITES = """
schema_version: 1
apps:
  forum:
    backend: process
    reuse: clean
    sites:
      forum:
        host: forum.test
        user: ann
        sign_in:
          path: /login
          steps: [{fill: {"css=[name=user]": "{username}"}}, {click: css=button}]
          check: {path: /me, includes: "You are {username}."}
          portable: false
    users: {ann: {password: x}, bob: {password: x}, zoe: {password: x}}
    databases: {main: {sqlite: main.sqlite3}}
    process: {factory: "forum:create_app", seed: "forum:seed"}
"""
TASKS = """
defaults: {sites: [forum]}
tasks:
  - &ann
    id: ann
    intent: Who am I?
    checks:
      - page: {includes: You are ann.}
      - state: {sql: "select user, count(*) from sessions group by user order by user", rows: [[ann, 1], [bob, 1]]}
    solution: [stop]
  - {<<: *ann, id: ann-again}
  - id: bob
    intent: Who am I?
    user: bob
    checks: [{page: {includes: You are bob.}}, {state: {sql: "select count(*) from sessions", equals: 2}}]
    solution: [stop]
  - id: zoe
    intent: Who am I?
    user: zoe
    checks: [{page: {includes: You are zoe.}}]
    solution: [stop]
  - id: nobody
    intent: Who am I?
    user: ''
    checks: [{page: {locate: css=form, includes: Go}}]
    solution: [stop]
"""
"""Tasks that expect one session each of ann and bob on every replica, whichever account visits."""
