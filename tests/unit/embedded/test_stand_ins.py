"""The mailbox that a catalogue starts next to an app: real clients send mail, and pages and data show it."""

from __future__ import annotations

import asyncio
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

import pytest

from pytest_webarena.embedded.stand_ins import smtp
from pytest_webarena.embedded.stand_ins.mailbox import Mailbox, mailbox_server
from pytest_webarena.embedded.stand_ins.smtp import serve_mail

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
