"""Watch over the rest of a live site's answer after its head: an incomplete one is an obstacle, not a failure."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Callable, Sequence

from pytest_webarena.gateway.archive_misses import resource_kind
from pytest_webarena.gateway.log_entry import Entry

__all__ = ["ResponseBody"]

_ENDLESS = 4
"""Factor of the time limit for a head after which a page that still arrives counts as endless."""
_DOCUMENTS = re.compile("text/(?:html|css|javascript)|application/(?:xhtml|javascript|x-javascript)")
"""Content types that a page needs completely and at once."""


class ResponseBody:
    """Periodic check for progress of one answer, until it is cancelled."""

    __slots__ = ("_ends", "_entry", "_fault", "_had", "_timer", "_within")

    def __init__(self, entry: Entry, within: float, ends: float, fault: Callable[[str, int], None]) -> None:
        self._entry, self._within, self._ends, self._fault = entry, within, ends, fault
        self._had = 0
        self._timer = self._again()

    @classmethod
    def of(
        cls,
        entry: Entry,
        request_fields: Sequence[str],
        response_fields: Sequence[str],
        within: float | None,
        fault: Callable[[str, int], None],
    ) -> ResponseBody | None:
        """Note in ``entry`` that a page depends on the rest of the answer, and watch the rest if it is a page.

        Args:
            entry: The log entry of the exchange.
            request_fields: Field lines of the request.
            response_fields: Field lines of the response.
            within: Seconds between checks for progress; None checks never.
            fault: Called with a problem and a status when nothing more has arrived in that time.

        Returns:
            None unless the answer is a page that is watched. Event streams and decorations are ignored.
        """
        role = resource_kind(entry.method, request_fields)
        kind = next(
            (field[13:].strip().lower() for field in response_fields if field[:13].lower() == "content-type:"), ""
        )
        if role not in ("page", "part") or kind.startswith("text/event-stream"):
            return None
        entry.expect_rest(data=_DOCUMENTS.match(kind) is None)
        if role != "page" or within is None:
            return None
        document = kind.startswith(("text/html", "application/xhtml"))
        ends = asyncio.get_running_loop().time() + _ENDLESS * within if document else math.inf
        return cls(entry, within, ends, fault)

    def cancel(self) -> None:
        """Stop watching."""
        self._timer.cancel()

    def _again(self) -> asyncio.TimerHandle:
        self._had = self._entry.response_bytes
        return asyncio.get_running_loop().call_later(self._within, self._look)

    def _look(self) -> None:
        if self._entry.response_bytes == self._had and not self._entry.unread:
            self._fault(f"nothing of the rest of its answer came within {self._within:g} s", 504)
            return
        if asyncio.get_running_loop().time() >= self._ends:
            self._entry.note_obstacle("site", f"its answer has no end within {_ENDLESS * self._within:g} s")
        self._timer = self._again()
