"""Makes signals of the events that the extension sends. Events are numbered, so they can be sent again at any time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from pytest_webarena.browser.signal_log import SignalLog, TabSignals
from pytest_webarena.browser.tabs.dom_reports import DomReports
from pytest_webarena.browser.tabs.frame_chains import FrameChains
from pytest_webarena.errors import UsageError
from pytest_webarena.signals import AddressCause, AddressChanged, DomEvent, KeyPressed, Signal, TargetRecord
from pytest_webarena.text import clip

__all__ = ["ExtensionRecording", "Picture"]

_CAUSES: Mapping[str, AddressCause] = {"page": "page", "browser": "browser", "history": "history"}
_PICTURES = 2000
"""Maximum number of screenshots that are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A screenshot of a tab."""

    time: float
    tab: int
    data: bytes


class _Log(SignalLog):
    """Log whose times are those of the events in the person's browser."""

    def __init__(self) -> None:
        super().__init__(dom_events=True)
        self._now = 0.0

    def now(self) -> float:
        """Return the time of the event that is being read."""
        return self._now

    def advance(self, milliseconds: float) -> None:
        """Set the time; the order of the events counts more than a clock."""
        self._now = max(self._now, round(milliseconds / 1000, 4))


@dataclass(slots=True)
class _Tab:
    signals: TabSignals
    number: int
    frames: FrameChains
    reports: DomReports


@dataclass(slots=True)
class _State:
    recording: str = ""
    """The extension's name of the recording; empty: it has sent nothing yet."""
    have: int = 0
    """Number of events received."""
    log: _Log = field(default_factory=_Log)
    tabs: dict[int, _Tab] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)
    """Address of each document whose listener has not reported, by the browser's id."""
    listening: set[str] = field(default_factory=set)
    unrecorded: dict[str, None] = field(default_factory=dict)
    """Sentences on what was not recorded."""
    pictures: list[Picture] = field(default_factory=list)
    confirmed: object = 0
    """Last of the server's questions after which the extension has sent all that its documents had reported."""


class ExtensionRecording:
    """The recording that the extension sends; all methods may be called from any thread."""

    def __init__(
        self, sites: Mapping[str, str], start: str, *, pictures: bool, named: Callable[[str], str] = lambda text: text
    ) -> None:
        """``named`` puts the addresses by which tasks know the ``sites`` in place of their own ones."""
        self.sites = sites
        self._start = start
        self._pictures = pictures
        self._named = named
        self._lock = threading.Condition()
        self._state = _State()
        self._phase = "recording"
        self._ask = 0
        """Number of the last question whether the extension has sent everything."""
        self._over: set[str] = set()
        """Recordings that the extension is to forget."""

    # --- for the server

    def answer(self, path: Sequence[str], query: Mapping[str, Sequence[str]], body: Any) -> Mapping[str, Any] | None:
        """Return the answer to a request of the extension; None if there is nothing at ``path``. `UsageError` for a
        malformed one."""
        with self._lock:
            match path:
                case ["hello"]:
                    return {"ready": self._phase == "recording", "start": self._start, "pictures": self._pictures}
                case ["events"] if isinstance(body, Mapping):
                    return self._receive(body)
                case ["picture"] if isinstance(body, bytes):
                    self._keep_picture(query, body)
                    return {}
        return None

    def _receive(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        recording, first, events = body.get("recording"), body.get("from"), body.get("events")
        if not (isinstance(recording, str) and 0 < len(recording) <= 100 and isinstance(events, list)):
            raise UsageError("expected a recording and a list of events, found something else")
        if not isinstance(first, int) or isinstance(first, bool) or first < 0:
            raise UsageError(f"expected the number of the first event, found {clip(str(first), 60)}")
        if recording in self._over or self._phase != "recording":
            return {"have": 0, "state": "over"}
        if recording != self._state.recording:  # the person has begun again, or this server has
            self._over.add(self._state.recording)
            self._state = _State(recording=recording)
        state = self._state
        if first <= state.have:
            for event in events[state.have - first :]:
                self._read(event if isinstance(event, Mapping) else {})
                state.have += 1
            if body.get("waiting") == 0:
                state.confirmed = body.get("confirmed")
                self._lock.notify_all()
        return {"have": state.have, "state": "recording", "ask": self._ask}

    def _keep_picture(self, query: Mapping[str, Sequence[str]], data: bytes) -> None:
        known = {name: values[0] for name, values in query.items()}
        tab = known.get("tab", "")
        moment = known.get("time", "")
        if not (tab.isdecimal() and moment.isdecimal() and data[:2] == b"\xff\xd8"):
            raise UsageError("expected the tab and the time of a JPEG picture, found something else")
        state = self._state
        shown = state.tabs.get(int(tab))
        if known.get("recording") == state.recording and shown is not None and len(state.pictures) < _PICTURES:
            state.pictures.append(Picture(time=int(moment) / 1000, tab=shown.number, data=data))

    # --- events

    def _read(self, event: Mapping[str, Any]) -> None:
        state = self._state
        try:
            state.log.advance(float(event["time"]))
            kind = event["kind"]
            if kind in ("lost", "begun", "unrecorded", "moved", "unpictured"):
                self._note(kind, event)
                return
            number = int(event["tab"])
            if kind == "opened":
                self._open(number, _CAUSES.get(event["cause"], ""))
                return
            tab = state.tabs[number]
            if kind == "address":
                url, document = self._named(str(event["url"])), str(event["document"])
                tab.signals.record_address(url, _CAUSES.get(event["cause"], ""))
                if document and url.startswith(("http://", "https://")) and document not in state.listening:
                    state.documents[document] = url
            elif kind == "closed":
                if not event["ends"]:
                    tab.signals.record_closed()
            elif kind == "frame":
                tab.frames.note_attached(str(event["frame"]), str(event["parent"]))
            elif kind == "report":
                document = str(event["document"])
                state.listening.add(document)
                state.documents.pop(document, None)
                tab.reports.read(self._named(str(event["payload"])), (document,), str(event["frame"]))
            else:
                raise ValueError(f"unknown kind {kind!r}")
        except (KeyError, TypeError, ValueError, AttributeError):
            state.log.lost += 1

    def _open(self, number: int, cause: AddressCause) -> None:
        signals, frames = self._state.log.of_tab(cause), FrameChains("")
        reports = DomReports(signals, frames, lambda frame: None)
        self._state.tabs[number] = _Tab(signals, len(self._state.tabs), frames, reports)

    def _note(self, kind: str, event: Mapping[str, Any]) -> None:
        state = self._state
        if kind == "lost":
            state.log.lost += 1
        elif kind == "begun":
            state.log.mark_agent_start()
        elif kind == "moved":
            state.unrecorded["a tab was moved into the recording window: what is done in it is not recorded"] = None
        elif kind == "unpictured":
            state.unrecorded["there are no screenshots: allow them in the extension's popup"] = None
        else:
            host = clip(str(event["host"]), 100) or "a frame without an address"
            state.unrecorded[f"what is done on {host} is not recorded; allow that in the extension's popup"] = None

    # --- for the recorder

    def signals(self) -> tuple[Signal, ...]:
        """Return all signals so far."""
        with self._lock:
            return self._state.log.since()

    @property
    def signals_before(self) -> int:
        """Number of signals from the start page."""
        with self._lock:
            return self._state.log.before if self._state.have else 0

    @property
    def signals_lost(self) -> int:
        """Number of events that the extension could not keep or send."""
        with self._lock:
            return self._state.log.lost

    @property
    def is_connected(self) -> bool:
        """Whether the extension has sent anything."""
        with self._lock:
            return bool(self._state.recording)

    def pictures(self) -> tuple[Picture, ...]:
        """Return the screenshots, in the order of their times."""
        with self._lock:
            return tuple(sorted(self._state.pictures, key=lambda each: each.time))

    def warnings(self, *, at_end: bool = False) -> tuple[str, ...]:
        """Return sentences on what was not recorded. ``at_end``: also on pages whose listener has not reported, which
        may still do so before."""
        with self._lock:
            silent = sorted({urlsplit(url).netloc for url in self._state.documents.values()}) if at_end else []
            pages = [f"nothing was recorded on a page of {host}: what was done there is missing" for host in silent]
            return (*self._state.unrecorded, *pages)

    def wait_until_complete(self, seconds: float) -> bool:
        """Return whether the extension confirms within ``seconds`` that it has sent everything."""
        with self._lock:
            self._ask = time.time_ns() // 1_000_000  # unlike those of an earlier server
            return self._lock.wait_for(lambda: self._state.confirmed == self._ask, seconds)

    def end(self) -> None:
        """Make the extension forget the recording, which is complete."""
        with self._lock:
            self._phase = "over"

    def restart(self) -> None:
        """Discard the recording, and wait for another one."""
        with self._lock:
            self._over.add(self._state.recording)
            self._over.discard("")
            self._state, self._phase = _State(), "recording"

    def targets(self) -> dict[float, TargetRecord]:
        """Return the elements of the recorded events, by time."""
        return {each.time: each.target for each in self.signals() if isinstance(each, DomEvent | KeyPressed)}

    def address_after(self, time: float) -> str:
        """Return the last address that a tab showed before another step, done after ``time``, was possible."""
        urls = [each.url for each in self.signals() if isinstance(each, AddressChanged) and each.time <= time]
        return urls[-1] if urls else ""
