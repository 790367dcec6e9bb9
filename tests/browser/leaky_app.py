"""An app that puts its credentials everywhere: it renews them with each answer, and repeats them in pages and errors.

Arguments: port, Emma's password, her TOTP secret, and a file to which it appends each credential that it makes.
"""

from __future__ import annotations

import base64
import gzip
import json
import secrets
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, quote

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

PORT, PASSWORD, SECRET, ISSUED = sys.argv[1:]
FORM = (
    "<form method=post action=/login><input name=user><input name=password type=password><input name=code>"
    "<button>Sign in</button></form>"
)
SCRIPT = """
<script>
(async () => {
  const keys = JSON.parse(localStorage.getItem('auth') || 'null') || {refresh_token: FIRST};
  const token = document.querySelector('meta[name=csrf-token]').content;
  const call = (path, body, more) => fetch(path, {method: 'POST', body: JSON.stringify(body), headers:
    {'Content-Type': 'application/json', 'X-CSRF-Token': token, ...more}});
  const fresh = await (await call('/refresh', keys)).json();
  localStorage.setItem('auth', JSON.stringify(fresh));
  const answer = await (await call('/api', {}, {Authorization: 'Bearer ' + fresh.access_token})).json();
  document.querySelector('#seen').textContent = JSON.stringify([answer, document.cookie, fresh]);
  document.querySelector('#done').textContent = 'ready';
})();
</script>
"""
codes = TOTP(base64.b32decode(SECRET), 6, SHA1(), 30)
used: set[str] = set()


def issue(kind: str) -> str:
    value = f"{kind}-{secrets.token_urlsafe(18)}"
    with Path(ISSUED).open("a", encoding="utf-8") as file:
        file.write(value + "\n")
    return value


class App(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        sent = self.headers.get("Cookie") or ""
        if "sid=session-" not in sent:
            return self.answer(FORM)
        token = issue("csrf")
        encoded = f"{quote(PASSWORD, safe='')} {base64.b64encode(sent.encode()).decode()} {sent.encode().hex()}"
        shown = f"{sent} {PASSWORD} {encoded}"
        page = SCRIPT.replace("FIRST", json.dumps(issue("refresh")))
        return self.answer(
            f"<head><meta name=csrf-token content='{token}'></head><p id=who>emma</p><p id=done></p><p id=seen></p>"
            f"<pre>{shown}</pre><form><input type=hidden name=csrf value='{token}'></form>"
            f"<a href='/next?token={token}'>Next</a>{page}",
            renews=True,
        )

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.path == "/login":
            return self.sign_in({name: values[0] for name, values in parse_qs(body).items()})
        if self.path == "/refresh":
            kept = {"access_token": issue("access"), "refresh_token": issue("refresh"), "expires_in": 60}
            return self.answer(json.dumps(kept), kind="application/json", renews=True)
        return self.answer(
            json.dumps({"you_sent": self.headers.get("Authorization"), "body": body}), kind="application/json"
        )

    def sign_in(self, sent: dict[str, str]) -> None:
        now = [codes.generate(int(time.time()) + more).decode() for more in (0, -30)]
        with Path(ISSUED).open("a", encoding="utf-8") as file:
            file.write(sent["code"].strip("{}") + "\n")
        if sent["user"] == "emma" and sent["password"] == PASSWORD and sent["code"] in now and sent["code"] not in used:
            used.add(sent["code"])
            return self.answer("", status=302, renews=True)
        return self.answer(f"{FORM}<p>The password {sent['password']} with the code {sent['code']} is wrong.</p>")

    def answer(self, text: str, *, status: int = 200, kind: str = "text/html", renews: bool = False) -> None:
        data = gzip.compress(text.encode())
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(data)))
        if renews:
            self.send_header("Set-Cookie", f"sid={issue('session')}; Path=/")
        if status == 302:
            self.send_header("Location", "/")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        return


ThreadingHTTPServer(("127.0.0.1", int(PORT)), App).serve_forever()
