"""A backend: runs each copy of the library on the broker's own event loop. A real one would start a program."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import parse_qs

from pytest_webarena.errors import TaskError
from pytest_webarena.extending import AppManifest, BackendContext, Replica, Rows

__all__ = ["LibraryBackend"]


class _Library:
    """One copy: its books, its loans, and the server that shows them."""

    def __init__(self, books: list[str]) -> None:
        self.books = books
        self.loans: list[str] = []
        self.server: asyncio.Server | None = None

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request, one response."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            method, path, _ = head.split("\r\n")[0].split(" ")
            lengths = [line.split(":")[1] for line in head.split("\r\n") if line.lower().startswith("content-length:")]
            body = await reader.readexactly(int(lengths[0])) if lengths else b""
            if method == "POST":
                self.loans += parse_qs(body.decode()).get("title", [])
            text = "\n".join(self.loans) if path == "/loans" else self._page()
            kind = "text/plain" if path == "/loans" else "text/html"
            lines = ["HTTP/1.1 200 OK", f"Content-Type: {kind}; charset=utf-8", f"Content-Length: {len(text.encode())}"]
            writer.write("\r\n".join([*lines, "Connection: close", "", text]).encode())
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the visitor went away
        finally:
            writer.close()

    def _page(self) -> str:
        rows = "".join(
            f"<p class=book><b>{book}</b> "
            + (f"<button name=title value='{book}'>Borrow {book}</button>" if book not in self.loans else "(borrowed)")
            for book in self.books
        )
        return f"<!doctype html><title>Library</title><h1>Library</h1><form method=post action=/>{rows}</form>"


class LibraryBackend:
    """Takes the titles of its books from the catalogue's ``options``."""

    def __init__(self, context: BackendContext) -> None:
        self._running: dict[str, _Library] = {}

    async def prepare(self, app: AppManifest) -> None:
        """Nothing to build."""

    async def start(self, app: AppManifest, replica_id: str) -> Replica:
        """A library with all its books."""
        library = _Library(list(app.options["books"]))
        library.server = await asyncio.start_server(library.answer, "127.0.0.1", 0)
        self._running[replica_id] = library
        port = library.server.sockets[0].getsockname()[1]
        return Replica(id=replica_id, app=app.name, host="127.0.0.1", port=port, digest=app.digest)

    async def reset(self, app: AppManifest, replica: Replica) -> Replica:
        """All books are back."""
        self._running[replica.id].loans.clear()
        return replace(replica, generation=replica.generation + 1)

    async def fingerprint(self, app: AppManifest, replica: Replica) -> str | None:
        """Its loans are all that can change."""
        return "\n".join(self._running[replica.id].loans)

    async def query(self, app: AppManifest, replica: Replica, database: str, sql: str, *, write: bool) -> Rows:
        """`TaskError`: it keeps no database."""
        raise TaskError("expected a site with a database, found the library, which keeps none")

    async def alive(self, app: AppManifest, replica: Replica) -> str:
        """As long as the broker lives."""
        return "" if replica.id in self._running else "it was stopped"

    async def stop(self, app: AppManifest, replica: Replica) -> None:
        """Stop listening."""
        library = self._running.pop(replica.id, None)
        if library is not None and library.server is not None:
            library.server.close()

    async def close(self) -> None:
        """Stop all of them."""
        for library in self._running.values():
            if library.server is not None:
                library.server.close()
        self._running.clear()

    def leftovers(self) -> Mapping[str, str]:
        """Nothing outlives the broker."""
        return {}
