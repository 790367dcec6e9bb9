"""An app with a script from another host and an identity provider, from the first refusal to signed-in trials."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.gateway.authority import Authority
from tests.inner import run_pytest

pytestmark = [pytest.mark.browser, pytest.mark.exhaustive, pytest.mark.usefixtures("browser_executable")]

APP = """
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CDN, LOGIN = sys.argv[2:]
PAGE = "<h1>Shop</h1><p id=state>no script</p><script src={}/app.js></script><a href=/sso>Sign in</a><p id=who>{}</p>"

class App(BaseHTTPRequestHandler):
    def do_GET(self):
        path, _, query = self.path.partition("?")
        who = (self.headers.get("Cookie") or "").partition("who=")[2]
        if path == "/sso":
            return self.answer(302, location=LOGIN + "/authorize")
        if path == "/callback":
            return self.answer(302, location="/", cookie="who=" + query.partition("code=")[2])
        self.answer(200, PAGE.format(CDN, who))
    def answer(self, status, text="", location="", cookie=""):
        self.send_response(status)
        for name, value in (("Location", location), ("Set-Cookie", cookie), ("Content-Type", "text/html")):
            if value:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())
    def log_message(self, *_): pass

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), App).serve_forever()
"""
FORM = "<form method=post action=/login><input name=user><button>Sign in</button></form>"
SITES = """
apps:
  shop:
    backend: process
{keys}
    process: {{command: [python, -u, app.py, "{{port}}", "{cdn}", "{login}"]}}
    users: {{emma: {{password: paper-lantern-86}}}}
    sites:
      shop:
        host: shop.test
        user: emma
        sign_in:
          path: /sso
          steps:
            - fill: {{"css=[name=user]": "{{username}}"}}
            - click: css=button
          check: {{path: /, locate: "css=#who", includes: "{{username}}"}}
"""
TASKS = """
defaults: {sites: [shop]}
tasks:
  - id: loads
    user: ''
    intent: What does the page say?
    checks: [{page: {locate: "css=#state", exact: "number 1"}}]
    solution: [{stop: ''}]
  - id: signed-in
    intent: Who is signed in?
    checks: [{page: {locate: "css=#who", exact: emma}}, {page: {locate: "css=#state", exact: "number 1"}}]
    solution: [{stop: ''}]
"""


@dataclass
class Others:
    """A host with a script that differs at each request, and an identity provider."""

    cdn: str = ""
    login: str = ""
    authority: Path = Path()
    seen: list[str] = field(default_factory=list)


@contextmanager
def served(others: Others, *, secure: ssl.SSLContext | None = None) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            others.seen.append(f"GET {self.path}")
            number = sum(line == "GET /app.js" for line in others.seen)
            script = f"document.querySelector('#state').textContent = 'number {number}'"
            text, kind = (script, "text/javascript") if self.path == "/app.js" else (FORM, "text/html")
            self._answer(200, text, kind)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            others.seen.append(f"POST {self.path}")
            self._answer(302, location=f"http://shop.test/callback?code={body.partition('=')[2]}")

        def _answer(self, status: int, text: str = "", kind: str = "text/html", location: str = "") -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(text)))
            if location:
                self.send_header("Location", location)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if secure is not None:
        server.socket = secure.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"{'http' if secure is None else 'https'}://localhost:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def others(tmp_path: Path) -> Iterator[Others]:
    others, authority = Others(), Authority()
    others.authority = tmp_path / "authority.pem"
    others.authority.write_text(authority.certificate)
    with ExitStack() as exits:
        others.cdn = exits.enter_context(served(others, secure=authority.context("localhost")))
        others.login = exits.enter_context(served(others))
        yield others


def write_project(path: Path, others: Others, keys: str) -> None:
    (path / "app.py").write_text(APP)
    (path / "sites.yaml").write_text(SITES.format(keys=keys, cdn=others.cdn, login=others.login))
    (path / "tasks.yaml").write_text(TASKS)
    (path / "pytest.ini").write_text("[pytest]\nwebarena_sites = ./sites.yaml\nwebarena_tasks = tasks.yaml\n")


def test_other_hosts_are_refused_named_and_allowed(
    tmp_path: Path, others: Others, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    trusted = {"SSL_CERT_FILE": str(others.authority)}
    write_project(tmp_path, others, "")
    result = run_pytest(tmp_path, "tasks.yaml", "--run-dir=refused", environ=trusted)
    result.assert_outcomes(failed=1, errors=1)
    entries = {"loads": others.cdn, "sign_in_hosts": others.login}
    line = f"refused: GET {others.cdn}/app.js in 1 trial; its pages may be incomplete"
    private = "private_hosts: [localhost]"
    assert f"{line}; allowed by 'loads: [{others.cdn}]' with '{private}'" in result.outlines
    assert f"the gateway refused {others.login}; allowed by" in result.stdout.str()
    assert others.seen == []
    monkeypatch.chdir(tmp_path)
    main(["sites", "doctor", "--sites=./sites.yaml"])
    printed = capfd.readouterr().out
    stripped = [line.strip() for line in printed.splitlines()]
    proposed = [f"{key}: [{entry}]" for key, entry in entries.items()]
    assert [line for line in stripped if line.startswith((*entries, "private"))] == [*proposed, private]
    assert others.seen == []

    keys = "".join(f"    {key}: ['{entry}']\n" for key, entry in entries.items()) + "    private_hosts: [localhost]"
    write_project(tmp_path, others, keys)
    result = run_pytest(tmp_path, "tasks.yaml", "--trials=2", "--run-dir=allowed", environ=trusted)
    result.assert_outcomes(passed=4)
    assert others.seen.count("GET /app.js") == 1
    assert set(others.seen) == {"GET /app.js", "GET /authorize", "POST /login"}
    assert "refused:" not in result.stdout.str()
    lines = [
        json.loads(line)
        for path in (tmp_path / "allowed").rglob("network.jsonl")
        for line in path.read_text().splitlines()
    ]
    assert {(line["status"], line["refused"]) for line in lines if line["url"] == f"{others.cdn}/app.js"} == {(200, "")}
