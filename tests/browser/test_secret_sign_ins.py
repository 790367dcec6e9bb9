"""Accounts whose secrets come from the environment: they sign in, and no file of the run has a secret."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from tests.inner import run_pytest

pytestmark = [pytest.mark.browser, pytest.mark.exhaustive, pytest.mark.usefixtures("browser_executable")]

PASSWORD, TOTP = "würdig & geheim/7", "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
APP = """
import secrets, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
import base64

PASSWORD, SECRET = sys.argv[2:]
FORM = "<form method=post><input name=user><input name=password><input name=code><button>Sign in</button></form>"
SESSION = "session-4bf92f3577b34da6a3ce929d0e0e4736"
codes = TOTP(base64.b32decode(SECRET), 6, SHA1(), 30)
used = set()

class App(BaseHTTPRequestHandler):
    def do_GET(self):
        is_in = SESSION in (self.headers.get("Cookie") or "")
        echo = f"<p>{self.headers.get('Cookie')} {PASSWORD}</p>" if self.path == "/echo" else ""
        self.answer(200, ("<p id=who>emma</p>" + echo) if is_in else FORM)
    def do_POST(self):
        sent = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        now = [codes.generate(time.time() + more).decode() for more in (0, -30)]
        code = sent["code"][0]
        if sent["password"] == [PASSWORD] and code in now and code not in used:
            used.add(code)
            return self.answer(302, cookie=SESSION)
        self.answer(200, FORM + "<p>Wrong password or code.</p>")
    def answer(self, status, text="", cookie=""):
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        if cookie:
            self.send_header("Set-Cookie", f"sid={cookie}; Path=/")
            self.send_header("Location", "/")
        self.end_headers()
        self.wfile.write(data)
    def log_message(self, *_): pass

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), App).serve_forever()
"""
SSO = """
import json, os, sys
if os.environ["WEBARENA_PASSWORD"] != os.environ["EMMA_PASSWORD"] or sys.argv[1] != "emma":
    sys.exit(f"no ticket for {os.environ['WEBARENA_PASSWORD']}")
cookie = {"name": "sid", "value": "session-4bf92f3577b34da6a3ce929d0e0e4736", "domain": "shop.test", "path": "/"}
more = {"expires": -1, "httpOnly": False, "secure": False, "sameSite": "Lax"}
print(json.dumps({"cookies": [{**cookie, **more}], "origins": []}))
"""
SITES = """
apps:
  shop:
    backend: process
    process: {{command: [python, -u, app.py, "{{port}}", "{password}", "{totp}"]}}
    users: {{emma: {{password_env: EMMA_PASSWORD, totp_env: EMMA_TOTP}}}}
    sites:
      shop:
        host: shop.test
        user: emma
        sign_in:
{recipe}
          check: {{path: /, locate: "css=#who", includes: "{{username}}"}}
"""
FORM = """
          path: /
          steps:
            - fill: {"css=[name=user]": "{username}", "css=[name=password]": "{password}", "css=[name=code]": "{totp}"}
            - click: css=button
"""
TASKS = """
defaults: {sites: [shop], start: shop:/echo}
tasks:
  - id: in
    intent: Who is signed in?
    checks: [{page: {includes: emma}}, {page: {includes: "no such text"}}]
    solution: [{stop: ''}]
"""


def forms_of(secret: str) -> list[bytes]:
    raw = secret.encode()
    return [raw, base64.b64encode(raw), *(text.encode() for text in (secret.replace("&", "&amp;"),))]


@pytest.mark.parametrize(
    "recipe", [FORM, '          command: [python, sso.py, "{username}"]\n'], ids=["form", "command"]
)
def test_secrets_sign_in_and_are_in_no_record(tmp_path: Path, recipe: str) -> None:
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "sso.py").write_text(SSO)
    (tmp_path / "sites.yaml").write_text(SITES.format(password=PASSWORD, totp=TOTP, recipe=recipe.strip("\n")))
    (tmp_path / "tasks.yaml").write_text(TASKS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nwebarena_sites = ./sites.yaml\nwebarena_tasks = tasks.yaml\n")
    secrets: dict[str, Any] = {"EMMA_PASSWORD": PASSWORD, "EMMA_TOTP": TOTP}
    result = run_pytest(tmp_path, "tasks.yaml", "--run-dir=run", environ=secrets)
    result.assert_outcomes(failed=1)
    assert "no such text" in result.stdout.str()
    files = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert any(b"[secret]" in path.read_bytes() for path in files)
    session = "session-4bf92f3577b34da6a3ce929d0e0e4736"
    for secret in (PASSWORD, TOTP, session):
        for form in forms_of(secret):
            assert [str(path) for path in files if form in path.read_bytes()] == []
            assert form.decode() not in result.stdout.str() + result.stderr.str()
    result = run_pytest(tmp_path, "tasks.yaml", "--run-dir=without", environ={"EMMA_PASSWORD": PASSWORD})
    result.assert_outcomes(errors=1)
    assert "expected a secret in the environment variable EMMA_TOTP, found none" in result.stdout.str()
