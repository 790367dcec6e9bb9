"""Session without a browser, for tasks that are only questions: there is nothing to observe or to act on."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pytest_webarena.actions import Noop, Note, Wait
from pytest_webarena.browser.observation.model import Observation
from pytest_webarena.browser.reports import AdjacentControl, DownloadRecord, Outcome, PageReading, SelectorMatch
from pytest_webarena.browser.signal_log import SignalLog
from pytest_webarena.errors import TaskError

if TYPE_CHECKING:
    from pytest_webarena.actions import Action
    from pytest_webarena.evidence import TabState, TargetRecord

__all__ = ["NO_PAGE", "Pageless"]

NO_PAGE = "There is no page: this task is a question that no site belongs to. Stop with the answer to it."
"""Text of all observations, and error of actions on a page."""
_ADDRESS = "about:blank"
"""Address in observations, for agents and prompts that expect one."""


class Pageless:
    """Stand-in for a `Session` without a browser. Its methods return empty values and do not fail."""

    browser_version = ""
    records_screenshots = False

    def __init__(self) -> None:
        self.signals = SignalLog()
        self._error = ""

    @property
    def address(self) -> str:
        """A blank address."""
        return _ADDRESS

    @property
    def environment(self) -> dict[str, Any]:
        """Environment for the trial's record: no browser, and no settings of one."""
        return {"os": platform.platform(), "browser": "none"}

    def open_tabs(self, urls: Sequence[str]) -> None:
        """Do nothing."""

    def observe(self) -> Observation:
        """Return a sentence instead of a page, and why the last action had no effect."""
        error, self._error = self._error, ""
        return Observation(text=NO_PAGE, url=_ADDRESS, title="", tabs=(), error=error)

    def execute(self, action: Action) -> Outcome:
        """Do nothing; return an error for actions on a page."""
        self._error = "" if isinstance(action, Noop | Note | Wait) else NO_PAGE
        return Outcome(error=self._error, url_before=_ADDRESS, url_after=_ADDRESS)

    def note_error(self, text: str) -> None:
        """Set the error of the next observation."""
        self._error = text

    def follow(self, target: str) -> str:
        """Return the only address."""
        return _ADDRESS

    def element_of(self, selector: str, patience: float = 0.0) -> TargetRecord | None:
        """Return None."""
        return None

    def find_neighbour(self, selector: str) -> AdjacentControl | None:
        """Return None."""
        return None

    def find_matches(self, selectors: Sequence[str]) -> tuple[SelectorMatch, ...]:
        """Return an empty match for each selector."""
        return tuple(SelectorMatch() for _ in selectors)

    def element_at(self, x: float, y: float) -> TargetRecord | None:
        """Return None."""
        return None

    def screenshot(self) -> bytes:
        """Return no data, as when nothing can be painted."""
        return b""

    def html(self) -> str:
        """Return an empty string."""
        return ""

    def tabs(self) -> tuple[TabState, ...]:
        """Return no tabs."""
        return ()

    def read_page(
        self, *, open: str | None, locate: str | None, prepare: Sequence[str] = (), late: bool = False
    ) -> PageReading:
        """Raise `TaskError`: tasks whose checks read pages need a browser."""
        raise TaskError(f"expected a task with a page for its checks to read, found one without sites ({open or '-'})")

    @contextmanager
    def own_pages(self) -> Iterator[None]:
        """Do nothing, because there are no pages."""
        yield

    seconds_since_action = 0.0
    seconds_since_first_action = 0.0
    addresses = ()

    def note_external_action(self) -> None:
        """Do nothing."""

    def wait_for_idle(self, seconds: float, *, quiet: float = 0.0) -> bool:
        """Return at once."""
        return False

    def wait_for_writes(self, seconds: float) -> bool:
        """Return that there are no requests."""
        return False

    def wait_for_reads(self, seconds: float) -> tuple[bool, tuple[str, ...]]:
        """Return that there are no requests."""
        return False, ()

    def own_cookies(self) -> list[Mapping[str, Any]]:
        """Return no cookies."""
        return []

    def keep_own_received(self) -> None:
        """Do nothing, because no evidence has pages."""

    def own_received(self) -> list[str]:
        """Return no cookies."""
        return []

    def own_bodies(self) -> list[str]:
        """Return no texts."""
        return []

    def note_received(self, values: Sequence[str]) -> None:
        """Do nothing, because no evidence has pages."""

    def keep_own_cookies(self, cookies: Sequence[Mapping[str, Any]]) -> None:
        """Do nothing."""

    def storage_state(self, *, own: bool = False) -> dict[str, Any]:
        """Return an empty storage state."""
        return {"cookies": [], "origins": []}

    def sign_in(self, state: Mapping[str, Any]) -> None:
        """Do nothing, because there is no site."""

    def downloads(self) -> tuple[DownloadRecord, ...]:
        """Return no downloads."""
        return ()

    def close(self) -> None:
        """Do nothing."""
