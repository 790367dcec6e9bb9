"""The rest of an answer of the world's, once its head has come: not to get all of it is nobody's failure here."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Callable, Sequence

from pytest_webarena.gateway.archive_misses import lack_of
from pytest_webarena.gateway.log_entry import Entry

__all__ = ["ResponseBody"]

_ENDLESS = 4
"""How many times as long as the head of an answer may take a page may come bit by bit."""
_DOCUMENTS = re.compile("text/(?:html|css|javascript)|application/(?:xhtml|javascript|x-javascript)")
"""What a page needs all of, and at once."""


class ResponseBody:
    """Looks after it from time to time, until it is cancelled."""

    __slots__ = ("_ends", "_entry", "_fault", "_had", "_timer", "_within")

    def __init__(self, entry: Entry, within: float, ends: float, fault: Callable[[str, int], None]) -> None:
        self._entry, self._within, self._ends, self._fault = entry, within, ends, fault
        self._had = 0
        self._timer = self._again()

    @classmethod
    def of(
        cls,
        entry: Entry,
        asked: Sequence[str],
        answered: Sequence[str],
        within: float | None,
        fault: Callable[[str, int], None],
    ) -> ResponseBody | None:
        """Note in ``entry`` that the rest is waited for; what looks after that of a page, ``within`` seconds a time.

        ``asked`` and ``answered`` are the fields of both heads. Streams of data are no such answers, nor is what only
        decorates. ``fault`` is told a problem and a status when nothing more has come.
        """
        role = lack_of(entry.method, asked)
        kind = next((field[13:].strip().lower() for field in answered if field[:13].lower() == "content-type:"), "")
        if role not in ("page", "part") or kind.startswith("text/event-stream"):
            return None
        entry.awaits_rest(data=_DOCUMENTS.match(kind) is None)
        if role != "page" or within is None:
            return None
        document = kind.startswith(("text/html", "application/xhtml"))
        ends = asyncio.get_running_loop().time() + _ENDLESS * within if document else math.inf
        return cls(entry, within, ends, fault)

    def cancel(self) -> None:
        """Nobody waits for it any more."""
        self._timer.cancel()

    def _again(self) -> asyncio.TimerHandle:
        self._had = self._entry.response_bytes
        return asyncio.get_running_loop().call_later(self._within, self._look)

    def _look(self) -> None:
        if self._entry.response_bytes == self._had and not self._entry.unread:
            self._fault(f"nothing of the rest of its answer came within {self._within:g} s", 504)
            return
        if asyncio.get_running_loop().time() >= self._ends:
            self._entry.hinder("site", f"its answer has no end within {_ENDLESS * self._within:g} s")
        self._timer = self._again()
