"""Apps that sign people in by mail or by OpenID Connect, with what the catalogue starts next to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.inner import run_pytest

pytestmark = [pytest.mark.browser, pytest.mark.exhaustive, pytest.mark.usefixtures("browser_executable")]

APP = """
import smtplib, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

SMTP = int(sys.argv[2])

class App(BaseHTTPRequestHandler):
    def do_GET(self):
        path, _, query = self.path.partition("?")
        if path == "/magic":
            return self.answer(302, cookie=parse_qs(query)["who"][0])
        who = (self.headers.get("Cookie") or "").partition("who=")[2]
        self.answer(200, f"<p id=who>{who}</p><form method=post><input name=user><button>Send</button></form>")
    def do_POST(self):
        user = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())["user"][0]
        with smtplib.SMTP("127.0.0.1", SMTP) as client:
            text = f"Subject: Your link\\r\\n\\r\\nSign in: http://shop.test/magic?who={user}"
            client.sendmail("shop@shop.test", [f"{user}@shop.test"], text)
        self.answer(200, "<p>Mail is on its way.</p>")
    def answer(self, status, text="", cookie=""):
        self.send_response(status)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(text)))
        if cookie:
            self.send_header("Set-Cookie", f"who={cookie}; Path=/")
            self.send_header("Location", "/")
        self.end_headers()
        self.wfile.write(text.encode())
    def log_message(self, *_): pass

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), App).serve_forever()
"""
SIGNING = """
import json

def sign_in(visit):
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    visit.call("POST", "/", body=f"user={visit.username}", headers=form)
    answer = visit.call("GET", f"http://mail.test/api/messages?to={visit.username}@shop.test")
    messages = json.loads(answer.text)
    visit.call("GET", messages[0]["links"][0])
"""
SITES = """
apps:
  shop:
    backend: process
    process: {command: [python, -u, app.py, "{port}", "{smtp:mail}"]}
    users: {emma: {password: paper-lantern-86}}
    sites:
      shop:
        host: shop.test
        user: emma
        sign_in: {script: "signing.py:sign_in", check: {path: /, locate: "css=#who", includes: "{username}"}}
      mail: {host: mail.test, stand_in: mailbox}
"""
TASKS = """
defaults: {sites: [shop, mail]}
tasks:
  - id: signed-in
    intent: Who is signed in?
    checks: [{page: {open: "shop:/", locate: "css=#who", exact: emma}}]
    solution: [{stop: ''}]
  - id: mails
    intent: Have a link sent to noah, open the mail and follow it.
    mutates: true
    user: ''
    checks:
      - page: {open: "shop:/", locate: "css=#who", exact: noah}
      - page: {open: "mail:/", includes: Your link}
    solution:
      - fill: {"css=[name=user]": noah}
      - click: css=button
      - goto: mail:/
      - click: text=Your link
      - click: css=li a
  - id: empty
    intent: How many mails are there?
    user: ''
    checks: [{page: {open: "mail:/", includes: There is no mail}}]
    solution: [{stop: ''}]
"""


def test_sign_in_and_tasks_by_mail(tmp_path: Path) -> None:
    for name, text in (("app.py", APP), ("signing.py", SIGNING), ("sites.yaml", SITES), ("tasks.yaml", TASKS)):
        (tmp_path / name).write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\nwebarena_sites = ./sites.yaml\nwebarena_tasks = tasks.yaml\n")
    result = run_pytest(tmp_path, "tasks.yaml")
    result.assert_outcomes(passed=3)


OIDC_APP = """
import base64, json, sys, urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode

PROVIDER = json.load(urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[2]}/.well-known/openid-configuration"))
CALLBACK = "http://shop.test/callback"

class App(BaseHTTPRequestHandler):
    def do_GET(self):
        path, _, query = self.path.partition("?")
        if path == "/signin":
            asked = {"response_type": "code", "client_id": "shop", "redirect_uri": CALLBACK, "scope": "openid"}
            return self.answer(302, location=PROVIDER["authorization_endpoint"] + "?" + urlencode(asked))
        if path == "/callback":
            form = {"grant_type": "authorization_code", "code": parse_qs(query)["code"][0], "client_id": "shop"}
            data = urlencode({**form, "redirect_uri": CALLBACK}).encode()
            token = json.load(urllib.request.urlopen(PROVIDER["token_endpoint"], data))["id_token"].split(".")[1]
            who = json.loads(base64.urlsafe_b64decode(token + "==="))["sub"]
            return self.answer(302, location="/", cookie=f"who={who}; Path=/")
        who = (self.headers.get("Cookie") or "").partition("who=")[2]
        self.answer(200, f"<p id=who>{who}</p><a href=/signin>Sign in</a>")
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
OIDC_SITES = """
apps:
  shop:
    backend: process
    process: {command: [python, -u, app.py, "{port}", "{port:login}"]}
    users: {emma: {password: paper-lantern-86}, noah: {password: tin-whistle-12}}
    sites:
      shop:
        host: shop.test
        user: emma
        sign_in:
          path: /signin
          steps:
            - fill: {"css=[name=username]": "{username}", "css=[name=password]": "{password}"}
            - click: css=button
          check: {path: /, locate: "css=#who", includes: "{username}"}
      login: {host: login.test, stand_in: identity-provider}
"""
OIDC_TASKS = """
defaults: {sites: [shop]}
tasks:
  - id: signed-in
    intent: Who is signed in?
    checks: [{page: {locate: "css=#who", exact: emma}}]
    solution: [{stop: ''}]
  - id: signs-in
    intent: Sign in as noah with the password tin-whistle-12.
    user: ''
    mutates: true
    checks: [{page: {locate: "css=#who", exact: noah}}]
    solution:
      - click: css=a
      - fill: {"css=[name=username]": noah, "css=[name=password]": tin-whistle-12}
      - click: css=button
"""


def test_sign_in_by_openid_connect(tmp_path: Path) -> None:
    for name, text in (("app.py", OIDC_APP), ("sites.yaml", OIDC_SITES), ("tasks.yaml", OIDC_TASKS)):
        (tmp_path / name).write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\nwebarena_sites = ./sites.yaml\nwebarena_tasks = tasks.yaml\n")
    result = run_pytest(tmp_path, "tasks.yaml", "--trials=2")
    result.assert_outcomes(passed=4)
