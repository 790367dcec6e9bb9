"""What a catalogue starts next to an app: a mailbox for real clients, and an OpenID Connect provider."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import http.client
import json
import smtplib
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers
from cryptography.hazmat.primitives.hashes import SHA256

from pytest_webarena.stand_ins import smtp
from pytest_webarena.stand_ins.identity_provider import IdentityProvider, identity_provider_server
from pytest_webarena.stand_ins.mailbox import Mailbox, mailbox_server
from pytest_webarena.stand_ins.smtp import serve_mail

TRICKY = "First line\n.\n..two dots\nHere: http://shop.test/magic?code=a&b=1. Bye"


@dataclass
class Served:
    smtp: int
    http: int

    def get(self, path: str) -> tuple[int, str, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.http, timeout=30)
        connection.request("GET", path)
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return response.status, text, response.headers.get("Content-Security-Policy", "")

    def messages(self, query: str = "") -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.get(f"/api/messages{query}")[1])
        return found


@pytest.fixture
def mailbox(tmp_path: Path) -> Iterator[Served]:
    box = Mailbox(tmp_path / "mail")
    server = mailbox_server(box, 0)
    loop = asyncio.new_event_loop()
    mail = loop.run_until_complete(serve_mail(0, box.deliver))
    threads = [threading.Thread(target=server.serve_forever, args=(0.01,)), threading.Thread(target=loop.run_forever)]
    for thread in threads:
        thread.start()
    yield Served(mail.sockets[0].getsockname()[1], server.server_port)
    server.shutdown()
    server.server_close()

    async def close() -> None:
        mail.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    asyncio.run_coroutine_threadsafe(close(), loop).result(30)
    loop.call_soon_threadsafe(loop.stop)
    for thread in threads:
        thread.join()
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()


def mail(subject: str = "Hello", text: str = TRICKY, markup: str = "") -> EmailMessage:
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = subject, "shop@shop.test", "emma@shop.test, noah@shop.test"
    message.set_content(text)
    if markup:
        message.add_alternative(markup, subtype="html")
    return message


def test_messages_of_real_clients_are_kept_as_sent(mailbox: Served) -> None:
    with smtplib.SMTP("127.0.0.1", mailbox.smtp, timeout=30) as client:
        client.login("anybody", "anything")
        client.send_message(mail("Willkommen, Zoë <b>"))
        client.send_message(mail("Second", markup='<a href="http://shop.test/go?a=1&amp;b=2">Go</a><script>x</script>'))
        client.sendmail("shop@shop.test", ["noah@shop.test"], b"no fields at all")
    third, second, first = mailbox.messages()
    assert (first["subject"], first["text"], first["to"]) == (
        "Willkommen, Zoë <b>", TRICKY, ["emma@shop.test", "noah@shop.test"],
    )  # fmt: skip
    assert (first["links"], second["links"]) == (["http://shop.test/magic?code=a&b=1"], ["http://shop.test/go?a=1&b=2"])
    assert third["to"] == ["noah@shop.test"]
    assert [each["id"] for each in mailbox.messages("?to=EMMA@shop.test")] == [2, 1]
    _, page, _ = mailbox.get("/")
    assert "Willkommen, Zoë &lt;b&gt;" in page
    assert '<a href="http://shop.test/magic?code=a&amp;b=1">' in mailbox.get("/messages/1")[1]
    status, markup, policy = mailbox.get("/messages/2/html")
    assert (status, "<script>x</script>" in markup, policy.startswith("sandbox ")) == (200, True, True)
    assert "allow-scripts" not in policy
    assert json.loads(mailbox.get("/api/messages/2")[1])["subject"] == "Second"
    assert [mailbox.get(path)[0] for path in ("/messages/9", "/other", "/api/messages/9")] == [404] * 3


def test_malformed_and_too_large_messages_are_refused(mailbox: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smtp, "LARGEST", 2000)
    with smtplib.SMTP("127.0.0.1", mailbox.smtp, timeout=30) as client:
        client.helo()
        assert client.docmd("DATA")[0] == 503
        assert client.docmd("RCPT", "TO:<a@b.test>")[0] == 503
        assert client.docmd("VRFY", "a")[0] == 502
        with pytest.raises(smtplib.SMTPDataError, match="552"):
            client.sendmail("a@b.test", ["c@d.test"], "x" * 3000)
        client.sendmail("a@b.test", ["c@d.test"], "Subject: small\r\n\r\nx")
    with socket.create_connection(("127.0.0.1", mailbox.smtp)) as client_gone:
        client_gone.sendall(b"EHLO a\r\nMAIL FROM:<a@b.test>\r\nRCPT TO:<c@d.test>\r\nDATA\r\nhalf")
    assert [each["subject"] for each in mailbox.messages()] == ["small"]


ISSUER = "http://login.test"
CALLBACK = "http://shop.test/callback?from=login"


@pytest.fixture(scope="module")
def provider() -> Iterator[int]:
    server = identity_provider_server(IdentityProvider(ISSUER, {"emma": "paper-lantern-86", "zoë": "x"}), 0)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join()


def ask(port: int, path: str, form: dict[str, str] | None = None, **fields: str) -> tuple[int, str, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    body = urlencode(form) if form is not None else None
    connection.request("POST" if form is not None else "GET", path, body, fields)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, text, dict(response.headers)


def code_of(port: int, cookie: str, **more: str) -> str:
    query = {"response_type": "code", "client_id": "shop", "redirect_uri": CALLBACK, "state": "s&1", **more}
    _, _, fields = ask(port, f"/authorize?{urlencode(query)}", Cookie=cookie)
    assert fields["Location"].startswith(f"{CALLBACK}&code=")
    given = parse_qs(urlsplit(fields["Location"]).query)
    assert given["state"] == ["s&1"]
    return given["code"][0]


def signed_in(port: int, user: str = "emma", password: str = "paper-lantern-86") -> str:
    status, _, fields = ask(port, "/login?client_id=shop", {"username": user, "password": password})
    assert (status, fields["Location"]) == (302, "/authorize?client_id=shop")
    return fields["Set-Cookie"].partition(";")[0]


def test_provider_signs_in_by_the_code_flow(provider: int) -> None:
    metadata = json.loads(ask(provider, "/.well-known/openid-configuration")[1])
    assert (metadata["issuer"], metadata["authorization_endpoint"]) == (ISSUER, f"{ISSUER}/authorize")
    assert metadata["token_endpoint"] == f"http://127.0.0.1:{provider}/token"
    cookie = signed_in(provider)
    form = {"grant_type": "authorization_code", "redirect_uri": CALLBACK, "client_id": "shop"}
    status, text, _ = ask(provider, "/token", {**form, "code": code_of(provider, cookie, nonce="n-1")})
    tokens = json.loads(text)
    assert status == 200
    head, claims, signature = tokens["id_token"].split(".")
    (key,) = json.loads(ask(provider, "/keys")[1])["keys"]
    n, e = (int.from_bytes(decoded(key[name])) for name in ("n", "e"))
    RSAPublicNumbers(e, n).public_key().verify(decoded(signature), f"{head}.{claims}".encode(), PKCS1v15(), SHA256())
    known = json.loads(decoded(claims))
    assert (known["iss"], known["aud"], known["sub"], known["nonce"]) == (ISSUER, "shop", "emma", "n-1")
    assert json.loads(ask(provider, "/userinfo", Authorization=f"Bearer {tokens['access_token']}")[1])["sub"] == "emma"
    assert ask(provider, "/userinfo", Authorization="Bearer other")[0] == 401
    assert "Signed in as zoë" in ask(provider, "/", Cookie=signed_in(provider, "zoë", "x"))[1]


def test_provider_refuses_what_does_not_belong_together(provider: int) -> None:
    cookie = signed_in(provider)
    form = {"grant_type": "authorization_code", "redirect_uri": CALLBACK, "client_id": "shop"}
    code = code_of(provider, cookie)
    assert ask(provider, "/token", {**form, "code": code})[0] == 200
    verifier = "a-verifier-of-the-client-that-is-long-enough"
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    pkce = {"code_challenge": challenge, "code_challenge_method": "S256"}
    for more, given in (
        ({}, {"code": code}),  # used
        ({}, {"client_id": "other"}),
        ({}, {"redirect_uri": "http://evil.test/"}),
        ({}, {"grant_type": "password"}),
        (pkce, {}),
        (pkce, {"code_verifier": "another"}),
    ):
        asked = {**form, "code": code_of(provider, cookie, **more), **given}
        assert ask(provider, "/token", asked)[0] == 400, (more, given)
    basic = base64.b64encode(b"shop:any secret").decode()
    asked = {**form, "client_id": "", "code": code_of(provider, cookie, **pkce), "code_verifier": verifier}
    assert ask(provider, "/token", asked, Authorization=f"Basic {basic}")[0] == 200
    assert "Wrong username or password" in ask(provider, "/login?a=<b>", {"username": "emma", "password": "x"})[1]
    forged = f"{cookie[:-4]}AAAA"
    for wrong in ("", forged, "identity=x.y"):
        query = urlencode({"response_type": "code", "client_id": "shop", "redirect_uri": CALLBACK})
        assert "<form" in ask(provider, f"/authorize?{query}", Cookie=wrong)[1]
        assert "error=login_required" in ask(provider, f"/authorize?{query}&prompt=none", Cookie=wrong)[2]["Location"]
    assert ask(provider, "/authorize?response_type=token", Cookie=cookie)[0] == 400


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
