"""A session's signals as they come up: kept in order, bounded whatever a page does."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from pytest_webarena.evidence import RequestRecord, cut
from pytest_webarena.signals import (
    AddressCause,
    AddressChanged,
    ControlRecord,
    DialogClosed,
    DialogOpened,
    DomEvent,
    ElementRecord,
    KeyPressed,
    Signal,
    TabClosed,
    TargetRecord,
)

__all__ = ["Happening", "SignalLog", "TabSignals"]

_MOST = 10_000
"""Signals of one session that are kept; a page in a loop makes as many as it is let."""
_LONGEST = 10_000
"""Characters of an address or a text: ``data:`` addresses are as long as a page likes."""
_DOM_EVENTS = 50_000_000
"""Characters of all DOM events, as they were told."""
_REFUSED = 10_000_000
"""Characters of the addresses and bodies of all requests that got no connection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """A DOM event as its document tells it."""

    event: str
    target: TargetRecord
    value: str | None
    chain: tuple[ElementRecord, ...]
    whole: bool
    frame: str
    field: tuple[object, ...]
    """Stands for the element in its tab."""
    size: int
    """Characters that it took to tell."""
    control: ControlRecord | None = None
    maker: str = ""
    """Whose the document is, whether it has an address of its own or not."""
    by_script: bool = False
    selects: bool = False
    done_at: float = 0.0
    """When a script did it, in milliseconds of Unix time; 0 where that came of another event."""
    rows: tuple[tuple[str, ...], ...] = ()
    """As of `DomEvent`."""


_SPARED = 3_000
"""Signals of what scripts did, but for changes."""
_VALUES = ("change", "put", "set")
FILLED = ("about:blank", "about:srcdoc")
"""Addresses of documents that a page makes itself."""


class SignalLog:
    """Written on the session's loop, from events that come anyway; may be read from any thread."""

    def __init__(self, *, dom_events: bool = False, letters: float = 0.03) -> None:
        self.letters = letters
        """Seconds for which letters may be kept to be told together: less than it takes until anybody asks for them; 0
        where a dialog may hold up what is kept."""
        self.dom_events = dom_events
        """Whether tabs are listened to for the events of their documents, if their browser lets anybody."""
        self.commanded: Callable[[float, bool], bool] | None = None
        """For agents that run scripts: what scripts do is told, too, and this says of a time, in milliseconds of Unix
        time, whether one of the agent's commands may have run one then (that sets fields, if the second is true). None:
        only changes by input are told."""
        # A clock that is set while a trial goes on must not turn its order around.
        self._epoch = time.time() - time.monotonic()
        self._signals: list[Signal] = []
        self._tabs = 0
        self._room = _DOM_EVENTS
        self._room_for_refused = _REFUSED
        self._spared = 0
        self._field: object = None
        """The field that the last signal tells the input of; None if it tells something else."""
        self._last_size = 0
        self._given = 0
        """How many signals somebody has been given, who need not ask for them again."""
        self.lost = 0
        """How many there was no room for."""
        self.refused: list[RequestRecord] = []
        """Requests that got no connection (`record_refused`), no signals: since the session's first page."""
        self._silent: set[object] = set()
        """Documents whose listener has not said yet that it is there."""
        self._unheard = 0
        """How many went without it."""
        self.before = 0
        """How many came with the pages that the agent found, before it began."""
        self.began = 0.0
        """When it did, in Unix time."""

    def begun(self) -> None:
        """The agent begins now: what came so far is not its doing."""
        self.before = len(self._signals)
        self.began = self.now()

    def restart(self) -> None:
        """Forget what came before the first step."""
        self._signals = []
        self.before = 0
        self._room, self._field, self._given = _DOM_EVENTS, None, 0
        self.lost = self._unheard = 0
        self._silent.clear()

    def since(self, number: int = 0) -> tuple[Signal, ...]:
        """All signals but the first ``number``. None that was given changes any more."""
        signals = self._signals  # the list may be another one in the next moment
        self._given = len(signals)
        return tuple(signals[number : self._given])

    @property
    def unheard(self) -> int:
        """How many documents there were in which nobody is known to have listened."""
        return self._unheard + len(self._silent)

    def shown(self, frame: object) -> None:
        """A frame shows another document."""
        self._unheard += frame in self._silent
        self._silent.add(frame)

    def listening(self, frame: object) -> None:
        """The listener in a frame's document says that it is there."""
        self._silent.discard(frame)

    def of_tab(self, cause: AddressCause = "") -> TabSignals:
        """The log of a tab that has just come up, opened by ``cause``."""
        number, self._tabs = self._tabs, self._tabs + 1
        return TabSignals(self, number, cause)

    def now(self) -> float:
        """Unix time in seconds."""
        return round(self._epoch + time.monotonic(), 4)

    def spares(self, commanded: bool, event: str) -> bool:
        """Whether there is room for what a script did, of which no check asks: it must not take that of others. Of
        pages' own scripts no more is kept than what their fields hold."""
        if not commanded and event not in _VALUES:
            return False
        self._spared += 1
        return self._spared <= _SPARED

    def add(self, signal: Signal) -> None:
        """Keep a signal, if there is room."""
        self._field = None
        if len(self._signals) < _MOST:
            self._signals.append(signal)
        else:
            self.lost += 1

    def add_refused(self, request: RequestRecord) -> None:
        """Keep a request that got no connection, if there is room for it; else the gateway's record is all there is."""
        size = len(request.url) + len(request.request_body or "")
        if len(self.refused) < _MOST and size <= self._room_for_refused:
            self._room_for_refused -= size
            self.refused.append(request)

    def add_key(self, signal: KeyPressed, size: int) -> None:
        """Keep a key, if there is room for its ``size``."""
        if size > self._room:
            self.lost += 1
            return
        self._room -= size
        self.add(signal)

    def add_event(self, signal: DomEvent, field: object, size: int) -> None:
        """Keep a DOM event, if there is room for its ``size``; input of the same field as the one before in its place,
        for whoever types letter by letter."""
        again = signal.event == "input" and self._field == field and self._given < len(self._signals)
        if again:
            self._room += self._last_size
        if size > self._room:
            self.lost += 1
            return
        self._room -= size
        self._last_size = size
        if again:
            self._signals[-1] = signal
            return
        self.add(signal)
        self._field = field if signal.event == "input" and self._signals[-1] is signal else None


class TabSignals:
    """What one tab signals."""

    def __init__(self, log: SignalLog, number: int, cause: AddressCause = "") -> None:
        self._log = log
        self._number = number
        self._opened = cause
        """Who opened it, until that has been told with its first address."""
        self.by_page = cause == "page"
        """Whether a page can close it: one has opened it, and the session is not closing it."""
        self.ends_untold = False
        """Whether the tab is closed by nobody who acts in it: with its session, or for want of an answer."""
        self._url = "about:blank"
        self._dialogs = 0
        self._open = 0
        """Which of the dialogs is open; 0 for none."""

    @property
    def dom_events(self) -> bool:
        """Whether somebody wants the events of its documents."""
        return self._log.dom_events

    @property
    def by_script(self) -> bool:
        """Whether what scripts do is told, too."""
        return self._log.commanded is not None

    @property
    def letters(self) -> float:
        """Seconds for which letters may be kept to be told together."""
        return self._log.letters

    # Called from handlers of events: these must not raise.

    def dom_event(self, happening: Happening) -> None:
        """Input made an event in one of its documents."""
        if happening.event == "key":
            pressed = KeyPressed(
                time=self._log.now(),
                tab=self._number,
                url=self._url,
                keys=happening.value or "",
                target=happening.target,
                chain=happening.chain,
                whole=happening.whole,
                frame=happening.frame,
            )
            self._log.add_key(pressed, happening.size)
            return
        values = happening.event in _VALUES
        ran = self._log.commanded or (lambda at, values: False)
        commanded = happening.by_script and ran(happening.done_at, values)
        if happening.by_script and happening.event != "change" and not self._log.spares(commanded, happening.event):
            return
        signal = DomEvent(
            time=self._log.now(),
            tab=self._number,
            url=self._url,
            event=happening.event,
            target=happening.target,
            value=happening.value,
            chain=happening.chain,
            whole=happening.whole,
            frame=happening.frame,
            control=happening.control,
            by_script=happening.by_script,
            commanded=commanded,
            rows=happening.rows,
            selects=happening.selects,
            maker=happening.maker if (happening.frame or self._url).startswith(FILLED) else None,
        )
        self._log.add_event(signal, (self._number, happening.field), happening.size)

    def document(self, frame: str, *, listening: bool) -> None:
        """A frame shows another document, or has its listener now."""
        (self._log.listening if listening else self._log.shown)((self._number, frame))

    def lost(self) -> None:
        """Something happened that can't be determined."""
        self._log.lost += 1

    def shows(self, url: str, cause: AddressCause = "") -> None:
        """The tab's page has this address now, which may be the one it had."""
        url = cut(url or "about:blank", _LONGEST)
        if url != self._url:
            self._url = url
            cause, self._opened = self._opened or cause, ""
            self._log.add(AddressChanged(time=self._log.now(), tab=self._number, url=url, cause=cause))

    def closed(self) -> None:
        """The tab was closed; unless nobody wanted that, it is told."""
        if self.ends_untold:
            return
        cause: AddressCause = "" if self.by_page else "browser"
        self._log.add(TabClosed(time=self._log.now(), tab=self._number, url=self._url, cause=cause))

    def dialog_opened(self, dialog: str, message: str, proposed: str) -> int:
        """A dialog came up; its number, for `dialog_closed`."""
        self._dialogs += 1
        self._open = self._dialogs
        self._log.add(
            DialogOpened(
                time=self._log.now(),
                tab=self._number,
                url=self._url,
                dialog=dialog,
                message=cut(message, _LONGEST),
                proposed=cut(proposed, _LONGEST),
            )
        )
        return self._open

    def dialog_closed(self, *, accepted: bool, text: str, number: int | None = None) -> None:
        """The open dialog was answered, or the one with this number, unless that is known already."""
        if self._open and number in (None, self._open):
            self._open = 0
            said = cut(text, _LONGEST)
            self._log.add(
                DialogClosed(time=self._log.now(), tab=self._number, url=self._url, accepted=accepted, text=said)
            )
