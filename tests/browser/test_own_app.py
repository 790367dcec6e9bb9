"""``webarena init`` on apps that exist: from a command or an address to tasks that pass."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.sites.catalogues.loading import load_catalogue
from tests.hosted_app import hosted_app
from tests.preview import certificates

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("browser_executable")]

SHOP = """
import http.cookies, http.server, os, sqlite3, sys, time, urllib.parse

def q(sql, *values):
    connection = sqlite3.connect(sys.argv[2])
    found = connection.execute(sql, values).fetchall()
    connection.commit()
    connection.close()
    return found

if not q("select 1 from sqlite_master where name = 'users'"):
    q("create table users (name text primary key, password text, last_login real)")
    q("create table sessions (token integer primary key, user text, seen real)")
    q("create table orders (id integer primary key, item text)")
    q("insert into users values ('emma', 'paper-lantern-86', 0), ('bob', 'brass-kettle-12', 0)")

class Shop(http.server.BaseHTTPRequestHandler):
    def user(self):
        cookie = http.cookies.SimpleCookie(self.headers.get("Cookie", "")).get("s")
        found = q("select user from sessions where token = ?", cookie.value) if cookie else []
        if found:
            q("update sessions set seen = ? where token = ?", time.time(), cookie.value)
        return found[0][0] if found else ""

    def answer(self, title, text, status=200, headers=()):
        user = self.user()
        links = "<a href=/teas>Teas</a> <a href=/about>About</a> <a href=/gone>Gone</a> "
        links += f"<a href=/me>{user}</a>" if user else "<a href=/in>Sign in</a>"
        body = f"<!doctype html><title>{title}</title>{links}<h1>{title}</h1>{text}".encode()
        self.send_response(status)
        for name, value in (("Content-Type", "text/html"), ("Content-Length", str(len(body))), *headers):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/me" and not self.user():
            return self.answer("", "", 302, [("Location", "/in")])
        pages = {"/": "Welcome", "/teas": "Our teas", "/about": "About us", "/in": "Sign in", "/me": "Your account"}
        form = "<form method=post><input name=user><input type=password name=word><button>Go</button></form>"
        more = "<img src=http://pictures.example.com/a.png>" if self.path == "/about" else ""
        now = str(time.time()) if self.path == "/me" else ""
        title = pages.get(self.path, "No such page") + now
        self.answer(title, form if self.path == "/in" else more, 200 if self.path in pages else 404)

    def do_POST(self):
        sent = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        name, word = sent["user"][0], sent["word"][0]
        if not q("select 1 from users where name = ? and password = ?", name, word):
            return self.answer("Sign in", "Wrong")
        q("insert into sessions (user, seen) values (?, 0)", name)
        q("update users set last_login = ? where name = ?", time.time(), name)
        token = q("select max(token) from sessions")[0][0]
        self.answer("", "", 302, [("Location", "/"), ("Set-Cookie", f"s={token}; Path=/")])

    def log_message(self, *_):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Shop).serve_forever()
"""
USERS = ("--user=emma:paper-lantern-86", "--user=bob:brass-kettle-12")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.py").write_text(SHOP)
    return tmp_path


@pytest.mark.exhaustive
def test_command_leads_to_tasks_that_pass(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = "--command=python shop.py {port} app.db"  # it knows no data directory
    assert main(["init", command, "--database=app.db", "--name=shop", *USERS]) == 0, capsys.readouterr().out
    printed = capsys.readouterr().out
    assert "the check of sign_in distinguishes emma from bob" in printed
    assert "The tasks pass" in printed
    shop = load_catalogue("sites.yaml").apps["shop"]
    assert set(shop.databases["main"].ignore) == {"users.last_login", "+sessions", "sessions.seen"}
    assert shop.forbid_side_effects
    assert shop.reuse == "clean"
    assert not (project / "app.db").exists()
    assert shop.login["shop"].path == "/in"
    assert "pictures.example.com" in (project / "sites.yaml").read_text()
    tasks = (project / "tasks" / "shop.yaml").read_text()
    assert "Our teas" in tasks
    assert "Your account" not in tasks  # its heading differs on each visit
    assert "No such page" not in tasks
    assert not (project / ".webarena-init.yaml").exists()


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("arguments", "printed", "written"),
    [
        (("--command=python none.py {port}",), "it ended with exit code 2; last log lines: ", False),
        (("--command=none {port}",), "start: ", False),
        (
            ("--command=python shop.py {port} {data_dir}/app.db", "--login=/teas", *USERS),
            "sign-in: expected a form with one password on the page /teas, found none",
            True,
        ),
        (
            ("--command=python shop.py {port} {data_dir}/app.db", "--user=emma:wrong"),
            "sign-in: after the steps on /in as emma",
            True,
        ),
        (
            ("--command=python shop.py {port} app.db",),
            "data: the app writes into its own folder (app.db), which no reset restores",
            True,
        ),
    ],
)
def test_what_is_missing_is_listed_with_what_to_do(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], printed: str, written: bool
) -> None:
    assert main(["init", *arguments]) == 1
    output = capsys.readouterr().out
    assert printed in output, output
    assert "Traceback" not in output
    assert (project / "sites.yaml").exists() == written


@pytest.mark.exhaustive
def test_address_leads_to_tasks_that_pass(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with hosted_app() as app:
        code = main(["init", f"--url={app.url}", "--name=hosted"])
    output = capsys.readouterr().out
    assert "it has no 'reset', so tasks that change it are skipped" in output, shlex.quote(output)
    assert code == 0, output


@pytest.mark.exhaustive
def test_https_address_leads_to_tasks_that_pass(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with hosted_app(tls=certificates(project)) as app:
        arguments = ["init", "new", f"--url={app.url}", "--user=ada:x"]
        assert main(arguments) == 1
        output = capsys.readouterr().out
        assert "certificate is not valid" in output, output
        assert "--certificate-authority=ca.pem" in output
        assert not (project / "new/sites.yaml").exists()
        code = main([*arguments, "--certificate-authority=ca.pem"])
    output = capsys.readouterr().out
    assert "it has no 'reset', so tasks that change it are skipped" in output
    assert 'reset: {http: {url: "{url}/reset"}}' in output
    assert Path(load_catalogue("new/sites.yaml").apps["app"].certificate_authority).samefile("ca.pem")
    assert str(project) not in (project / "new/sites.yaml").read_text()
    assert code == 1, output  # the form's password is no password field
