"""A mail server that accepts every message for everybody and sends none on (RFC 5321)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

__all__ = ["LARGEST", "serve_mail"]

LARGEST = 10 << 20
"""Maximum size of a message in bytes."""
_MOST_RECIPIENTS = 1000
_LONGEST_LINE = 65536

Deliver = Callable[[str, list[str], bytes], None]
"""Receives the sender, the recipients and the message."""


async def serve_mail(port: int, deliver: Deliver) -> asyncio.Server:
    """Accept mail on ``port`` of 127.0.0.1."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await _Conversation(reader, writer, deliver).run()
        except (ConnectionError, asyncio.IncompleteReadError, ValueError):
            pass  # the client is gone, or a line is too long
        finally:
            writer.close()

    return await asyncio.start_server(connected, "127.0.0.1", port, limit=_LONGEST_LINE)


class _Conversation:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, deliver: Deliver) -> None:
        self._reader, self._writer, self._deliver = reader, writer, deliver
        self._sender: str | None = None
        self._recipients: list[str] = []

    async def run(self) -> None:
        await self._say("220 mailbox ESMTP")
        while line := await self._reader.readline():
            verb, _, rest = line.decode("utf-8", "replace").rstrip("\r\n").partition(" ")
            verb = verb.upper()
            if verb == "QUIT":
                await self._say("221 bye")
                return
            await self._handle(verb, rest.strip())

    async def _handle(self, verb: str, rest: str) -> None:
        if verb == "EHLO":
            await self._say(
                "250-mailbox", f"250-SIZE {LARGEST}", "250-8BITMIME", "250-SMTPUTF8", "250 AUTH PLAIN LOGIN"
            )
        elif verb in ("HELO", "RSET", "NOOP"):
            if verb == "RSET":
                self._sender, self._recipients = None, []
            await self._say("250 ok")
        elif verb == "AUTH":
            await self._authenticate(rest)
        elif verb == "MAIL":
            self._sender, self._recipients = _address(rest), []
            await self._say("250 ok")
        elif verb == "RCPT" and self._sender is not None and len(self._recipients) < _MOST_RECIPIENTS:
            self._recipients.append(_address(rest))
            await self._say("250 ok")
        elif verb == "DATA" and self._recipients:
            await self._receive()
        elif verb in ("RCPT", "DATA"):
            await self._say("503 out of order")
        else:
            await self._say("502 not known")

    async def _authenticate(self, rest: str) -> None:
        """Accept every name and password."""
        kind, _, initial = rest.partition(" ")
        prompts = {"PLAIN": [""], "LOGIN": ["VXNlcm5hbWU6", "UGFzc3dvcmQ6"]}.get(kind.upper(), [])
        for prompt in prompts[bool(initial) :]:
            await self._say(f"334 {prompt}")
            await self._reader.readline()
        await self._say("235 ok" if prompts else "504 not known")

    async def _receive(self) -> None:
        await self._say("354 end with a dot")
        lines: list[bytes] = []
        size = 0
        while (line := await self._reader.readline()) not in (b".\r\n", b".\n"):
            if not line:
                return
            size += len(line)
            if size <= LARGEST:
                lines.append(line[1:] if line.startswith(b".") else line)
        if size > LARGEST:
            await self._say("552 too large")
        else:
            assert self._sender is not None
            self._deliver(self._sender, self._recipients, b"".join(lines))
            await self._say("250 ok")
        self._sender, self._recipients = None, []

    async def _say(self, *lines: str) -> None:
        self._writer.write("".join(f"{line}\r\n" for line in lines).encode())
        await self._writer.drain()


def _address(text: str) -> str:
    """The address in ``FROM:<a@b.c> SIZE=1`` and the like."""
    return text.partition(":")[2].strip().partition(">")[0].lstrip("<").partition(" ")[0]
