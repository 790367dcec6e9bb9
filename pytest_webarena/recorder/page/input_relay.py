"""Relay of real input from the page's view of the browser to the browser."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pytest_webarena.actions import (
    AcceptDialog,
    Action,
    Back,
    CloseTab,
    DismissDialog,
    FocusTab,
    Forward,
    Goto,
    NewTab,
    Reload,
)
from pytest_webarena.browser.remote_input import Frame, Key, Offer, Pointer, RemoteInput
from pytest_webarena.errors import UsageError

__all__ = ["InputRelay"]

_FARTHEST = 100_000
_PLAIN: Mapping[str, Callable[[], Action]] = {
    "back": Back, "forward": Forward, "reload": Reload, "new_tab": NewTab, "close_tab": CloseTab,
    "dismiss": DismissDialog,
}  # fmt: skip


class InputRelay:
    """Relay to one browser; each browser gets a new one. Methods raise `UsageError` for malformed input."""

    def __init__(self, browser: RemoteInput, files: Path, address: Callable[[str], str]) -> None:
        self._browser = browser
        self._files = files
        """Folder of the files that were uploaded to pages."""
        self._address = address
        """Completes what a person typed to a full address."""
        self._offer: Offer | None = None
        self._order = threading.Lock()
        """Keeps mouse and keyboard events in the order in which they arrive."""

    def frame(self, after: int, seconds: float) -> Frame | None:
        """Return the latest picture if it is newer than number ``after``; wait for it at most ``seconds``."""
        return self._browser.frame(after, seconds)

    def selected(self) -> str:
        """Return the text that is selected in the page."""
        return self._browser.selected()

    def state(self) -> dict[str, Any]:
        """Return tabs, loading state, dialog and file dialog as plain data."""
        state = self._browser.state()
        dialog = None
        if state.dialog is not None:
            kind, message, proposed = state.dialog
            dialog = {"kind": kind, "message": message, "proposed": proposed}
        return {
            "tabs": [{"title": tab.title, "url": tab.url, "active": tab.active} for tab in state.tabs],
            "loading": state.loading,
            "dialog": dialog,
            "file_dialog": state.file_dialog,
        }

    def input(self, events: Any) -> dict[str, Any] | None:
        """Relay mouse and keyboard events. Stop at one that opens a control that the page must show; return that."""
        if not isinstance(events, list):
            raise UsageError("expected a list of events, found none")
        with self._order:
            for event in events:
                offer = self._event(event if isinstance(event, dict) else {})
                if offer is not None:
                    self._offer = offer
                    return {"kind": offer.kind, "label": offer.label, "value": offer.value, "options": offer.options}
        return None

    def act(self, request: Mapping[str, Any]) -> str:
        """Perform an action of the browser's toolbar or dialogs; return why it had no effect, or an empty string."""
        match request:
            case {"do": "goto", "address": str(typed)}:
                return self._browser.act(Goto(self._address(typed.strip())))
            case {"do": "tab", "index": int(index)} if index >= 0:
                return self._browser.act(FocusTab(index))
            case {"do": "accept"}:
                text = request.get("text")
                return self._browser.act(AcceptDialog(text if isinstance(text, str) else None))
            case {"do": "take", "value": str(value)} if self._offer is not None:
                offer, self._offer = self._offer, None
                return self._browser.take(offer, value)
            case {"do": "files", "names": [*names]}:
                return self._browser.choose_files([self._file(str(name)) for name in names])
            case {"do": str(what)} if what in _PLAIN:
                return self._browser.act(_PLAIN[what]())
        raise UsageError(f"expected something to do, found {str(request.get('do'))[:60]!r}")

    def keep_file(self, name: str, content: bytes) -> str:
        """Store a file for a page that asks for one; return the name by which it is known."""
        self._files.mkdir(parents=True, exist_ok=True)
        path = self._file(name)
        path.write_bytes(content)
        return path.name

    def _file(self, name: str) -> Path:
        plain = name.replace("\\", "/").rpartition("/")[2]
        if plain in ("", ".", "..") or "\0" in plain or len(plain.encode()) > 200:
            raise UsageError(f"expected a file's name, found {name[:60]!r}")
        return self._files / plain

    def _event(self, event: Mapping[str, Any]) -> Offer | None:
        match event:
            case {"kind": "insert", "text": str(text)}:
                self._browser.insert(text)
            case {"kind": ("keydown" | "keyup") as kind, "key": str(key)} if 0 < len(key) <= 40:
                modifiers = _whole(event, "modifiers", 15)
                self._browser.key(Key(kind="down" if kind == "keydown" else "up", key=key, modifiers=modifiers))
            case {"kind": ("move" | "down" | "up" | "wheel") as kind}:
                button = ("left", "middle", "right")[_whole(event, "button", 2)]
                return self._browser.point(
                    Pointer(
                        kind=kind,
                        x=_number(event, "x"),
                        y=_number(event, "y"),
                        button=button,  # type: ignore[arg-type]
                        clicks=max(1, _whole(event, "clicks", 3)),
                        modifiers=_whole(event, "modifiers", 15),
                        across=_number(event, "across"),
                        down=_number(event, "down"),
                    )
                )
            case _:
                raise UsageError(f"expected an event of mouse or keyboard, found {str(event.get('kind'))[:60]!r}")
        return None


def _number(event: Mapping[str, Any], name: str) -> float:
    value = event.get(name, 0)
    if not isinstance(value, int | float) or not math.isfinite(value) or abs(value) > _FARTHEST:
        raise UsageError(f"{name}: expected a number, found {str(value)[:60]!r}")
    return float(value)


def _whole(event: Mapping[str, Any], name: str, most: int) -> int:
    value = event.get(name, 0)
    if not isinstance(value, int) or not 0 <= value <= most:
        raise UsageError(f"{name}: expected a whole number from 0 to {most}, found {str(value)[:60]!r}")
    return value
