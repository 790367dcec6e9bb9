"""A mail server that keeps all messages, and a site that shows them: nothing leaves the machine.

``GET /api/messages`` returns them as JSON, the newest first; ``?to=ADDRESS`` those for one address.
"""

from __future__ import annotations

import asyncio
import html
import json
import re
import threading
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from pytest_webarena.stand_ins import Handler, page, settings
from pytest_webarena.stand_ins.smtp import serve_mail

__all__ = ["Mailbox", "mailbox_server", "main"]

_LINK = re.compile(r"https?://[^\s<>\"']+[^\s<>\"'.,;:!?)\]]")
_SANDBOX = (
    "sandbox allow-top-navigation-by-user-activation; default-src 'none'; img-src data:; style-src 'unsafe-inline'"
)
"""Policy for messages in HTML: their scripts do not run, and they load nothing."""


class Mailbox:
    """Messages in a folder, one file each, so that a reset removes them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)

    def deliver(self, sender: str, recipients: list[str], data: bytes) -> None:
        """Keep a message."""
        with self._lock:
            number = len(self._paths()) + 1
            envelope = json.dumps({"from": sender, "to": recipients}).encode()
            (self._folder / f"{number:06}.eml").write_bytes(envelope + b"\n" + data)

    def _paths(self) -> list[Path]:
        return sorted(self._folder.glob("*.eml"))

    def messages(self, to: str = "") -> list[dict[str, Any]]:
        """Return the messages to an address, or all; the newest first."""
        known = [_read(path) for path in reversed(self._paths())]
        return [each for each in known if not to or to.lower() in (address.lower() for address in each["to"])]

    def message(self, number: str) -> dict[str, Any] | None:
        """Return one message; None if there is none."""
        return next((each for each in self.messages() if str(each["id"]) == number), None)


def _read(path: Path) -> dict[str, Any]:
    first, _, data = path.read_bytes().partition(b"\n")
    envelope = json.loads(first)
    message = message_from_bytes(data, policy=policy.default)
    assert isinstance(message, EmailMessage)
    text, markup = (_content(message, kind) for kind in ("plain", "html"))
    links = [html.unescape(link) for link in _LINK.findall(markup or text)]
    return {
        "id": int(path.stem),
        "from": envelope["from"],
        "to": envelope["to"],
        "subject": str(message.get("Subject", "")),
        "text": text,
        "html": markup,
        "links": list(dict.fromkeys(links)),
    }


def _content(message: EmailMessage, kind: str) -> str:
    part = message.get_body((kind,))
    if part is None:
        return ""
    try:
        return "\n".join(str(part.get_content()).splitlines())
    except (LookupError, ValueError):  # an unknown charset
        return bytes(part.get_payload(decode=True) or b"").decode("utf-8", "replace")


def mailbox_server(box: Mailbox, port: int) -> ThreadingHTTPServer:
    """Return the server of the mailbox's site on ``port`` of 127.0.0.1."""

    class MailboxHandler(Handler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            to = parse_qs(parts.query).get("to", [""])[0]
            if parts.path == "/":
                self.answer(_list(box.messages(to)))
            elif parts.path == "/api/messages":
                self.answer_json(box.messages(to))
            elif match := re.fullmatch(r"/(api/)?messages/([0-9]+)(/html)?", parts.path):
                self._show(box.message(match[2]), api=bool(match[1]), markup=bool(match[3]))
            else:
                self.not_found()

        do_HEAD = do_GET

        def _show(self, message: dict[str, Any] | None, *, api: bool, markup: bool) -> None:
            if message is None:
                self.not_found()
            elif api:
                self.answer_json(message)
            elif markup:
                self.answer(message["html"], Content_Security_Policy=_SANDBOX)
            else:
                self.answer(_message(message))

    return ThreadingHTTPServer(("127.0.0.1", port), MailboxHandler)


def _list(messages: list[dict[str, Any]]) -> str:
    rows = "\n".join(
        f'<li><a href="/messages/{each["id"]}">{html.escape(each["subject"] or "(no subject)")}</a> '
        f"to {html.escape(', '.join(each['to']))}</li>"
        for each in messages
    )
    return page("Mailbox", f"<ul>\n{rows}\n</ul>" if rows else "<p>There is no mail.</p>")


def _message(message: dict[str, Any]) -> str:
    links = "\n".join(f'<li><a href="{html.escape(link)}">{html.escape(link)}</a></li>' for link in message["links"])
    frame = f'<p><a href="/messages/{message["id"]}/html">Show as HTML</a></p>' if message["html"] else ""
    return page(
        message["subject"] or "(no subject)",
        f"<p>From {html.escape(message['from'])} to {html.escape(', '.join(message['to']))}</p>\n"
        f"<pre>{html.escape(message['text'])}</pre>\n{frame}\n<ul>\n{links}\n</ul>\n<p><a href=/>All mail</a></p>",
    )


def main() -> None:
    """Serve until the process is killed."""
    given = settings()
    box = Mailbox(Path(given["folder"]))
    server = mailbox_server(box, given["port"])
    threading.Thread(target=server.serve_forever, daemon=True).start()

    async def serve() -> None:
        await (await serve_mail(given["smtp"], box.deliver)).serve_forever()

    asyncio.run(serve())


if __name__ == "__main__":
    main()
