"""State of a stand-in: its pages and entries in SQLite, its sessions in memory."""

from __future__ import annotations

import secrets
import sqlite3
import threading
from dataclasses import dataclass, field

from .images import Image
from .options import Options
from .pages import Page


class ReadOnlyError(Exception):
    """The database refuses to be written."""


@dataclass
class Session:
    """A browser's session."""

    key: str
    csrf: str = field(default_factory=lambda: secrets.token_hex(16))
    user: str = ""
    requests: int = 0
    message: str = ""


class Store:
    """One instance's database and sessions."""

    def __init__(self, image: Image, options: Options, extra: tuple[Page, ...] = ()) -> None:
        self.image, self.options, self.extra = image, options, extra
        self.sessions: dict[str, Session] = {}
        self.tokens: dict[str, str] = {}
        self._lock = threading.Lock()
        self._rows = sqlite3.connect(":memory:", check_same_thread=False)
        self.reset()

    def reset(self) -> None:
        """Restore the initial state."""
        with self._lock:
            self.sessions.clear()
            self.tokens.clear()
            self._rows.execute("PRAGMA query_only = 0")
            self._rows.executescript(
                "DROP TABLE IF EXISTS pages; CREATE TABLE pages "
                "(path TEXT PRIMARY KEY, title TEXT, text TEXT, private INTEGER, kind TEXT)"
            )
            self._rows.executemany(
                "INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?, ?)",
                [(p.path, p.title, p.text, p.private, p.kind) for p in self._initial()],
            )
            if self.options.read_only:
                self._rows.execute("PRAGMA query_only = 1")

    def _initial(self) -> list[Page]:
        found = [*self.image.pages, *self.extra]
        if self.options.empty:
            found = [page for page in found if page.kind == "page"]
        if self.options.leftovers:
            found += [
                Page(f"/byteblaze/{name}", f"Byte Blaze / {name} · GitLab", "", False, "project")
                for name in ("planner", "AGISite")  # tasks of WebArena create these
            ]
        return found

    def page(self, path: str) -> Page | None:
        """Return the page at `path`, a trailing slash ignored."""
        with self._lock:
            row = self._rows.execute("SELECT * FROM pages WHERE path = ?", (path.rstrip("/") or "/",)).fetchone()
        return Page(row[0], row[1], row[2], bool(row[3]), row[4]) if row else None

    def of_kind(self, kind: str) -> list[Page]:
        """Return the pages of one kind, the newest last."""
        with self._lock:
            rows = self._rows.execute("SELECT * FROM pages WHERE kind = ? ORDER BY rowid", (kind,)).fetchall()
        return [Page(row[0], row[1], row[2], bool(row[3]), row[4]) for row in rows]

    def add(self, page: Page) -> None:
        """Add a page.

        Raises:
            ReadOnlyError: The database is read-only.
        """
        try:
            with self._lock:
                self._rows.execute(
                    "INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?, ?)",
                    (page.path, page.title, page.text, page.private, page.kind),
                )
        except sqlite3.OperationalError as error:
            raise ReadOnlyError(str(error)) from error
