"""An app that signs people in by mail, with a mailbox that the catalogue starts next to it."""

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
