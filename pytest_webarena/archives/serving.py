"""An HTTP server over an archive, on a loopback port and its own thread. The gateway is its only client."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping

from pytest_webarena.archives.answering import Answer, answer
from pytest_webarena.archives.archive import Archive

__all__ = ["SCHEME", "ArchiveServer"]

SCHEME = "X-Forwarded-Proto"
"""Request field with the scheme of the original request."""

_HEAD = 256 << 10
_BODY = 64 << 20
_STARTING = 10.0


class ArchiveServer:
    """An HTTP server that runs from construction until `close`."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._end = asyncio.Event()
        self._fault: OSError | None = None
        self.port = 0
        self._thread = threading.Thread(target=self._run, name="webarena-archive", daemon=True)
        self._thread.start()
        self._ready.wait(_STARTING)
        if self._fault is not None or not self.port:
            raise OSError(f"the server of an archive did not start: {self._fault or 'it took too long'}")

    @property
    def running(self) -> bool:
        """Whether the server is running."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Stop the server and close its connections."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._end.set)
            self._thread.join(5)

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        tasks: set[asyncio.Task[None]] = set()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = self._loop.create_task(self._converse(reader, writer))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        try:
            server = await asyncio.start_server(accept, "127.0.0.1", 0, limit=_HEAD)
        except OSError as error:
            self._fault = error
            self._ready.set()
            return
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._end.wait()
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                line, *lines = head.split("\r\n")
                method, target, _ = line.split(" ")
                headers = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in lines)}
                body = await _body(reader, headers)
                url = f"{headers.get(SCHEME.lower(), 'http')}://{headers.get('host', '')}{target}"
                response = answer(self._archive, method, url, headers, body)
                writer.write(_bytes(response, method))
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, ValueError):
            pass
        finally:
            writer.close()


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if "chunked" in headers.get("transfer-encoding", "").lower():
        parts, size = [], 0
        while length := int((await reader.readline()).partition(b";")[0], 16):
            size += length
            if size > _BODY:
                raise ValueError("too large")
            parts.append((await reader.readexactly(length + 2))[:-2])
        while await reader.readline() not in (b"\r\n", b""):
            pass
        return b"".join(parts)
    length = int(headers.get("content-length", "0"))
    if length > _BODY:
        raise ValueError("too large")
    return await reader.readexactly(length)


def _bytes(response: Answer, method: str) -> bytes:
    lines = [f"HTTP/1.1 {response.status} {response.reason}", *(f"{name}: {value}" for name, value in response.headers)]
    if response.status not in (204, 304):
        lines.append(f"Content-Length: {len(response.data)}")
    head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")
    return head if method == "HEAD" or response.status in (204, 304) else head + response.data
