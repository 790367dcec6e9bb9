"""Log of a session's signals, in order and limited in size."""

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
    Omission,
    Signal,
    TabClosed,
    TargetRecord,
)

__all__ = ["ReportedEvent", "SignalLog", "TabSignals"]

_MOST = 10_000
"""Maximum number of signals of a session, because a page in a loop creates any number."""
_LONGEST = 10_000
"""Maximum number of characters of an address or a text, because ``data:`` addresses have any length."""
_DOM_EVENTS = 50_000_000
"""Maximum number of characters of all DOM events, as received."""
_REFUSED = 10_000_000
"""Maximum number of characters of the addresses and bodies of all requests without a connection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedEvent:
    """A DOM event as its document reports it."""

    event: str
    target: TargetRecord
    value: str | None
    chain: tuple[ElementRecord, ...]
    whole: bool
    frame: str
    field: tuple[object, ...]
    """Identity of the element in its tab."""
    size: int
    """Number of characters of the report."""
    control: ControlRecord | None = None
    maker: str = ""
    """Address of the page that made the document, whether or not the document has an address of its own."""
    by_script: bool = False
    selects: bool = False
    omits: Omission = ""
    done_at: float = 0.0
    """Time of a script's action, in milliseconds of Unix time; 0 if it resulted from another event."""
    rows: tuple[tuple[str, ...], ...] = ()
    """Rows as in `DomEvent`."""


_MAX_SCRIPT_ACTIONS = 3_000
"""Maximum number of signals of scripts' actions, except changes."""
_VALUES = ("change", "put", "set")
FILLED = ("about:blank", "about:srcdoc")
"""Addresses of documents that pages create."""


class SignalLog:
    """A session's signals. They are written on the session's loop and may be read from any thread."""

    def __init__(self, *, dom_events: bool = False, letters: float = 0.03) -> None:
        self.letters = letters
        """Seconds for which typed letters may be buffered, which must be less than the time until the log is read; 0 if
        a dialog may block the buffer."""
        self.dom_events = dom_events
        """Whether tabs listen for the events of their documents, if their browser supports it."""
        self.commanded: Callable[[float, bool], bool] | None = None
        """For agents that run scripts: whether one of the agent's commands may have run a script at this time.

        Args are the time in milliseconds of Unix time, and whether the script must set fields. If it is set, signals
        include what scripts do; if it is None, only changes by input."""
        # The clock may be set during a trial, which must not change the order of the signals.
        self._epoch = time.time() - time.monotonic()
        self._signals: list[Signal] = []
        self._tabs = 0
        self._room = _DOM_EVENTS
        self._room_for_refused = _REFUSED
        self._script_action_count = 0
        self._field: object = None
        """The field whose input the last signal reports; None if it reports something else."""
        self._last_size = 0
        self._given = 0
        """Number of signals that readers have already received, which must not change any more."""
        self.lost = 0
        """Number of signals for which there was no space."""
        self.refused: list[RequestRecord] = []
        """Requests without a connection (`record_refused`) since the session's first page. They are not signals."""
        self._silent: set[object] = set()
        """Documents whose listener has not reported yet that it is installed."""
        self._unlistened = 0
        """Number of documents that were replaced before their listener reported."""
        self.before = 0
        """Number of signals from the start pages, before the agent began."""
        self.began = 0.0
        """Unix time when the agent began."""

    def mark_agent_start(self) -> None:
        """Note that the agent begins now, and has not caused the signals so far."""
        self.before = len(self._signals)
        self.began = self.now()

    def restart(self) -> None:
        """Delete everything from before the first step."""
        self._signals = []
        self.before = 0
        self._room, self._field, self._given = _DOM_EVENTS, None, 0
        self.lost = self._unlistened = 0
        self._silent.clear()

    def since(self, number: int = 0) -> tuple[Signal, ...]:
        """Return all signals except the first ``number``. Returned signals do not change any more."""
        signals = self._signals  # another thread may replace the list
        self._given = len(signals)
        return tuple(signals[number : self._given])

    @property
    def unlistened_documents(self) -> int:
        """Number of documents without a listener, as far as known."""
        return self._unlistened + len(self._silent)

    def note_document(self, frame: object) -> None:
        """Note that a frame shows another document."""
        self._unlistened += frame in self._silent
        self._silent.add(frame)

    def note_listening(self, frame: object) -> None:
        """Note that the listener of a frame's document is installed."""
        self._silent.discard(frame)

    def of_tab(self, cause: AddressCause = "") -> TabSignals:
        """Return the log of a new tab that was opened by ``cause``."""
        number, self._tabs = self._tabs, self._tabs + 1
        return TabSignals(self, number, cause)

    def now(self) -> float:
        """Return the Unix time in seconds."""
        return round(self._epoch + time.monotonic(), 4)

    def has_space_for(self, commanded: bool, event: str) -> bool:
        """Return whether to keep an action of a script. These have a limit of their own, so that they do not use up the
        space for signals that checks need. For pages' own scripts, only values of fields are kept."""
        if not commanded and event not in _VALUES:
            return False
        self._script_action_count += 1
        return self._script_action_count <= _MAX_SCRIPT_ACTIONS

    def add(self, signal: Signal) -> None:
        """Keep a signal if there is space."""
        self._field = None
        if len(self._signals) < _MOST:
            self._signals.append(signal)
        else:
            self.lost += 1

    def add_refused(self, request: RequestRecord) -> None:
        """Keep a request without a connection if there is space; otherwise only the gateway's record exists."""
        size = len(request.url) + len(request.request_body or "")
        if len(self.refused) < _MOST and size <= self._room_for_refused:
            self._room_for_refused -= size
            self.refused.append(request)

    def add_key(self, signal: KeyPressed, size: int) -> None:
        """Keep a key press if there is space for its ``size``."""
        if size > self._room:
            self.lost += 1
            return
        self._room -= size
        self.add(signal)

    def add_event(self, signal: DomEvent, field: object, size: int) -> None:
        """Keep a DOM event if there is space for its ``size``. Input replaces a preceding input signal of the same
        field, so that typing letter by letter is one signal."""
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
    """Signals of one tab."""

    def __init__(self, log: SignalLog, number: int, cause: AddressCause = "") -> None:
        self._log = log
        self._number = number
        self._opened = cause
        """Cause of its opening, until its first address is logged."""
        self.by_page = cause == "page"
        """Whether a page opened the tab, so that a page can close it, and the session is not closing it."""
        self.is_closed_by_harness = False
        """Whether the harness closes the tab, at the end of the session or because it does not answer."""
        self._url = "about:blank"
        self._dialogs = 0
        self._open = 0
        """Number of the open dialog; 0 for none."""

    @property
    def dom_events(self) -> bool:
        """Whether events of its documents are recorded."""
        return self._log.dom_events

    @property
    def by_script(self) -> bool:
        """Whether actions of scripts are recorded, too."""
        return self._log.commanded is not None

    @property
    def letters(self) -> float:
        """Seconds for which typed letters may be buffered."""
        return self._log.letters

    # Event handlers call these methods, which therefore must not raise.

    def record_dom_event(self, event: ReportedEvent) -> None:
        """Record an event in one of its documents."""
        if event.event == "key":
            pressed = KeyPressed(
                time=self._log.now(),
                tab=self._number,
                url=self._url,
                keys=event.value or "",
                target=event.target,
                chain=event.chain,
                whole=event.whole,
                frame=event.frame,
            )
            self._log.add_key(pressed, event.size)
            return
        values = event.event in _VALUES
        ran = self._log.commanded or (lambda at, values: False)
        commanded = event.by_script and ran(event.done_at, values)
        if event.by_script and event.event != "change" and not self._log.has_space_for(commanded, event.event):
            return
        signal = DomEvent(
            time=self._log.now(),
            tab=self._number,
            url=self._url,
            event=event.event,
            target=event.target,
            value=event.value,
            chain=event.chain,
            whole=event.whole,
            frame=event.frame,
            control=event.control,
            by_script=event.by_script,
            commanded=commanded,
            rows=event.rows,
            selects=event.selects,
            omits=event.omits,
            maker=event.maker if (event.frame or self._url).startswith(FILLED) else None,
        )
        self._log.add_event(signal, (self._number, event.field), event.size)

    def note_document(self, frame: str, *, listening: bool) -> None:
        """Note that a frame shows another document, or that its listener is installed now."""
        (self._log.note_listening if listening else self._log.note_document)((self._number, frame))

    def lost(self) -> None:
        """Count an event that could not be determined."""
        self._log.lost += 1

    def record_address(self, url: str, cause: AddressCause = "") -> None:
        """Record the address of the tab's page, which may be unchanged."""
        url = cut(url or "about:blank", _LONGEST)
        if url != self._url:
            self._url = url
            cause, self._opened = self._opened or cause, ""
            self._log.add(AddressChanged(time=self._log.now(), tab=self._number, url=url, cause=cause))

    def record_closed(self) -> None:
        """Record that the tab was closed, unless the harness closed it."""
        if self.is_closed_by_harness:
            return
        cause: AddressCause = "" if self.by_page else "browser"
        self._log.add(TabClosed(time=self._log.now(), tab=self._number, url=self._url, cause=cause))

    def dialog_opened(self, dialog: str, message: str, proposed: str) -> int:
        """Record a dialog; return its number for `dialog_closed`."""
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
        """Record the answer to the open dialog, or to the one with this number, unless it is already recorded."""
        if self._open and number in (None, self._open):
            self._open = 0
            shortened = cut(text, _LONGEST)
            self._log.add(
                DialogClosed(time=self._log.now(), tab=self._number, url=self._url, accepted=accepted, text=shortened)
            )
