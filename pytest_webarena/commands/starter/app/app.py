"""A to-do list, here so that there is something to test. Put your own app in its place, and say so in sites.yaml.

It does what any app behind a catalogue has to: listen on the port it is given, keep all that changes in one directory.
"""

from __future__ import annotations

import argparse
import hashlib
import hmac
import html
import sqlite3
from http import HTTPStatus
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

PASSWORDS = {"emma": "paper-lantern-86", "bob": "brass-kettle-12"}
SECRET = b"not one to keep"
FIRST = [("emma", "Water the basil", 0), ("emma", "Return the library books", 1), ("bob", "Oil the gate", 0)]

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>
<style>body {{ font: 1.1rem/1.5 sans-serif; max-width: 34rem; margin: 2rem auto; padding: 0 1rem }}
li form, p {{ display: inline }} s {{ color: #667 }}</style><h1>{title}</h1>{body}</html>"""
SIGN_IN = """<form method="post" action="/login"><p><label>Name <input name="user"></label>
<label>Password <input name="password" type="password"></label> <button>Log in</button></p></form>"""
ADD = """<form method="post" action="/add"><label>New entry <input name="title" required></label>
<button>Add</button></form>"""


def open_database(folder: Path) -> sqlite3.Connection:
    """Open the database, and add the first entries to an empty one."""
    folder.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(folder / "app.db", isolation_level=None, timeout=10)
    database.execute("create table if not exists todos (id integer primary key, owner text, title text, done integer)")
    if not database.execute("select 1 from todos").fetchone():
        database.executemany("insert into todos (owner, title, done) values (?, ?, ?)", FIRST)
    return database


def sealed(user: str) -> str:
    """Return a signed cookie value, which only this app can create."""
    return f"{user}.{hmac.new(SECRET, user.encode(), hashlib.sha256).hexdigest()}"


class Handler(BaseHTTPRequestHandler):
    """Handler of one request."""

    folder: Path
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Show the page at an address."""
        user = self.user()
        path = urlsplit(self.path).path
        if path == "/login":
            self.send(HTTPStatus.OK, "Log in", SIGN_IN)
        elif path != "/":
            self.send(HTTPStatus.NOT_FOUND, "Not found", "<p>There is no such page.</p>")
        elif user is None:
            self.redirect("/login")
        else:
            self.send(HTTPStatus.OK, f"Hello {user}", ADD + self.entries(user))

    def do_POST(self) -> None:
        """Sign in, add an entry, or mark one as done."""
        form = {key: values[0] for key, values in parse_qs(self.body()).items()}
        path = urlsplit(self.path).path
        user = self.user()
        if path == "/login":
            name = form.get("user", "")
            if PASSWORDS.get(name) != form.get("password"):
                self.send(HTTPStatus.FORBIDDEN, "Log in", f"<p>Wrong name or password.</p>{SIGN_IN}")
            else:
                self.redirect("/", cookie=f"session={sealed(name)}; Path=/; HttpOnly; SameSite=Lax")
        elif user is None:
            self.redirect("/login")
        elif path == "/add" and form.get("title", "").strip():
            self.change("insert into todos (owner, title, done) values (?, ?, 0)", user, form["title"].strip())
        elif path == "/done" and form.get("id", "").isdecimal():
            self.change("update todos set done = 1 where owner = ? and id = ?", user, form["id"])
        else:
            self.send(HTTPStatus.BAD_REQUEST, "That can't be done", "<p>Something was missing.</p>")

    def entries(self, user: str) -> str:
        """Return a user's list as HTML."""
        database = open_database(self.folder)
        rows = database.execute("select id, title, done from todos where owner = ? order by id", (user,)).fetchall()
        database.close()
        items = ""
        for number, title, done in rows:
            text = html.escape(title)
            button = f'<form method="post" action="/done"><button name="id" value="{number}">Done</button></form>'
            items += f"<li><s>{text}</s>" if done else f"<li>{text} {button}"
        to_do = sum(1 for row in rows if not row[2])
        return f"<ul>{items}</ul><p>{to_do} to do, {len(rows) - to_do} done</p>"

    def change(self, statement: str, *values: str) -> None:
        """Write to the database, then show the list."""
        database = open_database(self.folder)
        database.execute(statement, values)
        database.close()
        self.redirect("/")

    def user(self) -> str | None:
        """Return the user who is signed in; None if nobody is."""
        cookie = SimpleCookie(self.headers.get("Cookie", "")).get("session")
        name = cookie.value.partition(".")[0] if cookie else ""
        return name if cookie and name in PASSWORDS and hmac.compare_digest(cookie.value, sealed(name)) else None

    def body(self) -> str:
        """Return the body of the request."""
        return self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode("utf-8", "replace")

    def redirect(self, path: str, cookie: str = "") -> None:
        """Redirect to another page, and optionally set a cookie."""
        self.send_response(HTTPStatus.SEE_OTHER)
        self.send_header("Location", path)
        if cookie:
            self.send_header("Set-Cookie", cookie)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def send(self, status: HTTPStatus, title: str, body: str) -> None:
        """Send a page."""
        data = PAGE.format(title=html.escape(title), body=body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def main() -> None:
    """Serve until the process is stopped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--data", type=Path, required=True)
    options = parser.parse_args()
    open_database(options.data).close()
    Handler.folder = options.data
    ThreadingHTTPServer(("127.0.0.1", options.port), Handler).serve_forever()


if __name__ == "__main__":
    main()
