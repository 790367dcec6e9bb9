"""A session without a browser, for tasks that are questions: nothing to look at, nothing to act on, only an answer."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pytest_webarena.actions import Noop, Note, Wait
from pytest_webarena.browser.observation.model import Observation
from pytest_webarena.browser.reports import Beside, DownloadRecord, Outcome, PageReading, SelectorMatch
from pytest_webarena.browser.signal_log import SignalLog
from pytest_webarena.errors import TaskError

if TYPE_CHECKING:
    from pytest_webarena.actions import Action
    from pytest_webarena.evidence import TabState, TargetRecord

__all__ = ["NO_PAGE", "Pageless"]

NO_PAGE = "There is no page: this task is a question that no site belongs to. Stop with the answer to it."
"""All that an agent sees, and what it is told when it acts on a page all the same."""
_ADDRESS = "about:blank"
"""Shown as the address: agents and prompts that expect one can read it."""


class Pageless:
    """What trials ask of a `Session`, where there is no browser. Costs nothing and never fails."""

    browser_version = ""

    def __init__(self) -> None:
        self.signals = SignalLog()
        self._error = ""

    @property
    def address(self) -> str:
        """There is none to go to."""
        return _ADDRESS

    @property
    def environment(self) -> dict[str, Any]:
        """For the trial's record: there was no browser, and no setting of one mattered."""
        return {"os": platform.platform(), "browser": "none"}

    def open_tabs(self, urls: Sequence[str]) -> None:
        """Nothing to open."""

    def observe(self) -> Observation:
        """A sentence in place of a page, and why the last action had no effect."""
        error, self._error = self._error, ""
        return Observation(text=NO_PAGE, url=_ADDRESS, title="", tabs=(), error=error)

    def execute(self, action: Action) -> Outcome:
        """Nothing is done; whatever would act on a page is told so."""
        self._error = "" if isinstance(action, Noop | Note | Wait) else NO_PAGE
        return Outcome(error=self._error, url_before=_ADDRESS, url_after=_ADDRESS)

    def note_error(self, text: str) -> None:
        """Have the next observation say why the last action had no effect."""
        self._error = text

    def follow(self, target: str) -> str:
        """There is one address, and nothing to follow."""
        return _ADDRESS

    def element_of(self, selector: str, patience: float = 0.0) -> TargetRecord | None:
        """None."""
        return None

    def beside(self, selector: str) -> Beside | None:
        """Nothing to be next to anything."""
        return None

    def sightings(self, selectors: Sequence[str]) -> tuple[SelectorMatch, ...]:
        """There is nothing to be seen."""
        return tuple(SelectorMatch() for _ in selectors)

    def element_at(self, x: float, y: float) -> TargetRecord | None:
        """There is no element anywhere."""
        return None

    def screenshot(self) -> bytes:
        """Empty, as where nothing can be painted."""
        return b""

    def html(self) -> str:
        """Empty: there is no page."""
        return ""

    def tabs(self) -> tuple[TabState, ...]:
        """None."""
        return ()

    def read_page(
        self, *, open: str | None, locate: str | None, prepare: Sequence[str] = (), late: bool = False
    ) -> PageReading:
        """`TaskError`: tasks whose checks read pages are played with a browser."""
        raise TaskError(f"expected a task with a page for its checks to read, found one without sites ({open or '-'})")

    @contextmanager
    def own_pages(self) -> Iterator[None]:
        """As a session's; there will be none."""
        yield

    acting_since = 0.0
    acting_first = 0.0

    def has_acted(self) -> None:
        """There is nothing to act on."""

    def come_to_rest(self, seconds: float, *, quiet: float = 0.0) -> bool:
        """Nothing moves."""
        return False

    def holds_writes(self, seconds: float) -> bool:
        """Nothing is under way."""
        return False

    def reads_left(self, seconds: float) -> tuple[bool, tuple[str, ...]]:
        """Nothing to wait for."""
        return False, ()

    def own_cookies(self) -> list[Mapping[str, Any]]:
        """None."""
        return []

    def keep_own_cookies(self, cookies: Sequence[Mapping[str, Any]]) -> None:
        """There is nobody to have them."""

    def storage_state(self, *, own: bool = False) -> dict[str, Any]:
        """Nothing is remembered."""
        return {"cookies": [], "origins": []}

    def sign_in(self, state: Mapping[str, Any]) -> None:
        """There is no site to sign in on."""

    def downloads(self) -> tuple[DownloadRecord, ...]:
        """None."""
        return ()

    def close(self) -> None:
        """Nothing to close."""
