"""A small project with two apps, its tasks, and mistakes in them that only running sites show.

The mistakes were listed from the documentation, after the command that finds them was designed.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["CATALOGUE_MISTAKES", "TASK_MISTAKES", "catalogue", "task", "write_app"]

APP = '''
import json, sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import parse_qs

PASSWORDS = {"emma": "paper-lantern", "bob": "brass-kettle"}
PRIVATE = ("/account", "/notes", "/notes/new", "/api/notes")
TABLES = """
create table notes (id integer primary key, owner text not null, title text not null, colour text default 'plain');
create table jobs (id integer primary key, done integer not null);
create table visits (id integer primary key, path text);
insert into notes (owner, title, colour) values ('emma', 'Post', 'red'), ('bob', 'Keys', 'blue');
"""
FORM = """<form method=post action=/notes><label>Title <input id=title name=title></label>
<label>Colour <select id=colour name=colour><option>plain<option>green</select></label>
<label><input type=checkbox id=pinned name=pinned> Pinned</label><button>Save</button></form>"""
LOGIN = """<form method=post action=/login><input name=user><input name=password type=password>
<button>Log in</button></form>"""

def seed(data_dir):
    with closing(sqlite3.connect(Path(data_dir, "desk.db"))) as db, db:
        db.executescript(TABLES)

def create_app(data_dir):
    folder = Path(data_dir)

    def app(environ, start_response):
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        cookies = dict(part.partition("=")[::2] for part in environ.get("HTTP_COOKIE", "").split("; "))
        user = cookies.get("user", "")
        text = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)).decode()

        def answer(body, status="200 OK", kind="text/html", *headers):
            start_response(status, [("Content-Type", kind), *headers])
            return [body.encode()]

        def to(place, *headers):
            return answer("", "303 See Other", "text/html", ("Location", place), *headers)

        form = {key: values[0] for key, values in parse_qs(text).items()} if "json" not in path + text[:1] else {}
        with closing(sqlite3.connect(folder / "desk.db")) as db, db:
            titles = [row[0] for row in db.execute("select title from notes order by id")]
            if (method, path) == ("POST", "/login"):
                if PASSWORDS.get(form.get("user", "")) != form.get("password"):
                    return answer(LOGIN, "403 Forbidden")
                return to("/account", ("Set-Cookie", f"user={form['user']}; Path=/"))
            if path == "/login":
                return answer(LOGIN)
            if (method, path) == ("POST", "/api/token"):
                right = json.loads(text) == {"username": "bob", "password": "brass-kettle"}
                return answer(json.dumps({"access": "t"}), "200 OK" if right else "403 Forbidden", "application/json")
            if path == "/":
                return answer("<h1>Desk</h1><a href=/notes>Notes</a>")
            if not user and path in PRIVATE:
                return to("/login")
            if path == "/account":
                return answer(f"<p>You are {user}.</p>")
            if path == "/api/notes" and method in ("GET", "POST"):
                if method == "POST":
                    given = json.loads(text)
                    db.execute("insert into notes (owner, title) values (?, ?)", [user, given["title"]])
                    return answer("{}", "201 Created", "application/json")
                found = db.execute("select id, owner, title, colour from notes order by id").fetchall()
                notes = [dict(zip(("id", "owner", "title", "colour"), row)) for row in found]
                return answer(json.dumps({"notes": notes, "total": len(notes)}), "200 OK", "application/json")
            if path == "/notes" and method == "POST":
                row = [user, form["title"], form.get("colour", "plain")]
                db.execute("insert into notes (owner, title, colour) values (?, ?, ?)", row)
                (folder / f"{form['title']}.txt").write_text(form["title"])
                return to("/notes?saved=1")
            if path == "/notes":
                items = "".join(f"<li class=note>{title}</li>" for title in titles)
                return answer(f"<h1>Notes</h1><ul>{items}</ul><a href=/notes/new>New note</a>")
            if path == "/notes/new":
                return answer(FORM)
        return answer("<h1>Not found</h1>", "404 Not Found")

    return app
'''

CATALOGUE = """
apps:
  desk:
    backend: process
    sites:
      desk:
        host: desk.test
        start: /notes
        user: emma
        sign_in:
          path: /login
          steps:
            - fill: {"css=[name=user]": "{username}", "css=[name=password]": "{password}"}
            - click: role=button[name="Log in"]
          check: {path: /account, includes: "You are {username}."}
        api:
          path: /api/token
          body: {username: bob, password: brass-kettle}
          token: access
          headers: {X-Token: "{token}"}
    users:
      emma: {password: paper-lantern}
      bob: {password: brass-kettle}
    databases:
      main: {sqlite: desk.db, ignore: [visits, notes.id]}
    ready: [{http: {path: /, status: 200, includes: Desk}}]
    quiet: {sql: select count(*) from jobs where done = 0, deadline: 10s}
    start_timeout: 15
    process: {factory: "desk_app:create_app", seed: "desk_app:seed"}
  shop:
    backend: external
    sites:
      shop: {url: "http://127.0.0.1:PORT"}
    reset:
      http: {url: "{url}/reset", headers: {Authorization: Bearer token}}
      ready: {url: "{url}/ready"}
    start_timeout: 4
"""

TASK = """
  - id: ID
    intent: Add a pinned green note titled "Tea", and say how many notes there are now.
    sites: [desk]
    user: emma
    start: /notes
    mutates: true
    setup:
      - sql: insert into notes (owner, title) values ('emma', 'Milk')
      - api: {method: POST, path: /api/notes, json: {title: Rye}, status: 201}
      - browser: {user: bob, steps: [{goto: /notes/new}, {fill: {css=#title: Oats}}, {click: text=Save}]}
    checks:
      - answer: {number: 6}
      - url: /notes?saved=1
      - state: {sql: "select owner, colour from notes where title = 'Tea'", equals: [emma, green]}
      - state: {sql: "select title from notes where owner = 'bob' order by id", rows: [Keys, Oats]}
      - state: {api: /api/notes, at: "$.notes[?(@.title == 'Tea')].colour", equals: green}
      - page: {open: /notes, locate: css=li.note, match: together, includes: Tea}
      - network: {method: POST, url: /notes, status: 303}
      - changes:
          notes: {added: 1, allowed_columns: [owner, title, colour], where: {title: Tea}}
          (files): {added: 1}
    solution:
      - click: role=link[name="New note"]
      - fill: {css=#title: Tea}
      - select: {css=#colour: green}
      - check: css=#pinned
      - click: role=button[name="Save"]
      - stop: "6"
"""

TASK_MISTAKES = {
    "state-table": ("from notes where title = 'Tea'", "from note where title = 'Tea'"),
    "state-column": ("select owner, colour", "select owner, color"),
    "state-where-column": ("where owner = 'bob'", "where user = 'bob'"),
    "state-order-column": ('order by id"', 'order by number"'),
    "state-function": ("select owner, colour", "select lowercase(owner), colour"),
    "state-syntax": ("select title from notes where", "select title form notes where"),
    "state-text-without-quotes": ("where title = 'Tea'", "where title = Tea"),
    "state-database": ("equals: [emma, green]", "equals: [emma, green], database: notes"),
    "state-value": ("equals: [emma, green]", "equals: [emma, red]"),
    "state-columns-count": ("equals: [emma, green]", "equals: green"),
    "state-rows": ("rows: [Keys, Oats]", "rows: [Oats, Keys]"),
    "setup-table": ("insert into notes", "insert into note"),
    "setup-column": ("(owner, title) values", "(owner, titel) values"),
    "setup-missing-value": ("(owner, title) values ('emma', 'Milk')", "(title) values ('Milk')"),
    "setup-api-path": ("path: /api/notes, json", "path: /api/note, json"),
    "setup-api-method": ("{method: POST, path", "{method: PUT, path"),
    "setup-api-status": ("status: 201", "status: 200"),
    "setup-selector": ("{fill: {css=#title: Oats}}", "{fill: {css=#tilte: Oats}}"),
    "setup-user": ("{user: bob, steps", "{user: rob, steps"),
    "user": ("user: emma", "user: ema"),
    "site": ("sites: [desk]", "sites: [desks]"),
    "start-path": ("start: /notes", "start: /note"),
    "start-host": ("start: /notes", "start: http://desk.tset/notes"),
    "goto-path": ('click: role=link[name="New note"]', "goto: /notes/add"),
    "link-name": ('[name="New note"]', '[name="Add note"]'),
    "field": ("- fill: {css=#title: Tea}", "- fill: {css=#titel: Tea}"),
    "option": ("css=#colour: green", "css=#colour: verdant"),
    "checkbox": ("css=#pinned", "css=#pined"),
    "selector-syntax": ("css=#pinned", 'css=[id="pinned'),
    "answer": ("answer: {number: 6}", "answer: {number: 5}"),
    "url-path": ("url: /notes?", "url: /note?"),
    "url-query": ("?saved=1", "?save=1"),
    "api-path": ("api: /api/notes, at", "api: /api/note, at"),
    "json-path": ('.colour", equals', '.color", equals'),
    "json-path-list": ("$.notes[?", "$.items[?"),
    "json-path-filter": ("@.title == 'Tea'", "@.name == 'Tea'"),
    "page-path": ("open: /notes", "open: /list"),
    "page-selector": ("css=li.note", "css=li.notes"),
    "network-method": ("network: {method: POST", "network: {method: PUT"),
    "network-status": ("status: 303", "status: 302"),
    "changes-table": ("notes: {added", "note: {added"),
    "changes-column": ("[owner, title, colour]", "[owner, title, color]"),
    "changes-where": ("where: {title: Tea}", "where: {name: Tea}"),
    "changes-files": ("(files): {added: 1}", "files: {added: 1}"),
    "changes-count": ("(files): {added: 1}", "(files): {added: 2}"),
}
"""Changes to the text of the task, by name."""

CATALOGUE_MISTAKES = {
    "password": ("paper-lantern", "paper-lamp"),
    "password-of-another": ("bob: {password: brass-kettle}", "bob: {password: brass-pot}"),
    "username": ("bob: {password", "bob: {username: rob, password"),
    "sign-in-path": ("path: /login", "path: /signin"),
    "sign-in-field": ("[name=user]", "[name=username]"),
    "sign-in-button": ('[name="Log in"]', '[name="Sign in"]'),
    "check-path": ("check: {path: /account", "check: {path: /profile"),
    "check-for-everybody": ('{path: /account, includes: "You are {username}."}', "{path: /, includes: Desk}"),
    "factory": ("desk_app:create_app", "desk_app:make_app"),
    "seed": ("desk_app:seed", "desk_app:sow"),
    "database-file": ("sqlite: desk.db", "sqlite: data/desk.db"),
    "ignored-column": ("notes.id", "notes.ids"),
    "ready-path": ("path: /, status: 200", "path: /health, status: 200"),
    "quiet-table": ("from jobs", "from job"),
    "start": ("start: /notes", "start: /notez"),
    "api-path": ("path: /api/token", "path: /api/tokens"),
    "api-token": ("token: access\n", "token: access_token\n"),
    "default-user": ("user: emma\n", "user: ema\n"),
    "reset-path": ("{url}/reset", "{url}/restore"),
    "reset-ready": ("{url}/ready", "{url}/missing"),
}
"""Changes to the text of the catalogue, by name."""


def task(name: str, change: tuple[str, str] = ("", "")) -> str:
    """Returns the text of the task, with ``name`` as its id."""
    return _changed(TASK, change).replace("ID", name)


def catalogue(port: int, change: tuple[str, str] = ("", "")) -> str:
    """Returns the text of the catalogue, for a shop on this port."""
    return _changed(CATALOGUE, change).replace("PORT", str(port))


def write_app(folder: Path) -> None:
    """Write the program of the app ``desk``."""
    (folder / "desk_app.py").write_text(APP)


def _changed(text: str, change: tuple[str, str]) -> str:
    before, after = change
    assert before in text, before
    return text.replace(before, after, 1)
