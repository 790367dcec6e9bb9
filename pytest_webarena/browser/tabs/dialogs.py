"""Native dialogs of one tab: answered by policy or held open, always reported, and never able to block a trial."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from playwright.async_api import Dialog
from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.config import DialogPolicy
from pytest_webarena.browser.reports import PageEvent
from pytest_webarena.browser.signal_log import TabSignals
from pytest_webarena.text import shorten

__all__ = ["Dialogs"]

_MANY = 10
"""Number of dialogs during one action above which the page counts as opening them in a loop."""
_NAMES = {
    "alert": "An alert",
    "confirm": "A confirm dialog",
    "prompt": "A prompt",
    "beforeunload": 'A "leave page?" dialog',
}


class Dialogs:
    """Handles every dialog when it opens: with a listener attached, a page waits until it is answered."""

    def __init__(self, policy: DialogPolicy, report: Callable[[PageEvent], None], signals: TabSignals) -> None:
        self._policy = policy
        self._report = report
        self._signals = signals
        self._number = 0
        """Number of the latest dialog in the signals."""
        self._answering: set[asyncio.Task[None]] = set()
        self._count = 0
        self._unanswered: Dialog | None = None
        self._draining = False
        self._draining_accepts = True
        self.opened = asyncio.Event()
        """Set while a dialog is open that is not answered automatically."""

    @property
    def open(self) -> Dialog | None:
        """The dialog that waits for an answer: held by policy, or one of a loop."""
        return self._unanswered

    @property
    def looping(self) -> bool:
        """Whether the page keeps opening dialogs."""
        return self._count > _MANY

    def is_stuck(self) -> bool:
        """Return whether a dialog of such a page is unanswered, so that the page must be stopped."""
        return self.looping and self._unanswered is not None

    def new_action(self) -> None:
        """Reset the count of dialogs."""
        self._count = 0

    def on_dialog(self, dialog: Dialog) -> None:
        """Handle Playwright's event; must not raise."""
        self._count += 1
        self._number = self._signals.dialog_opened(dialog.type, dialog.message, dialog.default_value)
        if self._draining:
            self._answer(dialog, accept=self._draining_accepts)
        elif self._policy == "hold" or self.looping:
            self._unanswered = dialog
            self.opened.set()
        else:
            accept = self._policy == "accept" or dialog.type == "beforeunload"
            self._report_answer(dialog, "accepted" if accept else "dismissed")
            self._answer(dialog, accept=accept)

    def on_closed(self, event: object = None) -> None:
        """Handle the browser's event that the dialog is closed, whoever answered it; must not raise."""
        if isinstance(event, dict):
            answer = str(event.get("userInput") or "")
            self._signals.dialog_closed(accepted=bool(event.get("result")), text=answer)
        self._unanswered = None
        self.opened.clear()

    def describe(self) -> str | None:
        """Describe the open dialog for the observation."""
        dialog = self._unanswered
        if dialog is None:
            return None
        text = f"{dialog.type} {dialog.message!r}"
        return f"{text} (proposed answer: {dialog.default_value!r})" if dialog.default_value else text

    async def answer(self, *, accept: bool, text: str | None = None) -> None:
        """Answer the open dialog; ``text`` is the answer to a prompt instead of the proposed one."""
        dialog, self._unanswered = self._unanswered, None
        self.opened.clear()
        if dialog is not None:
            self._report_answer(dialog, "accepted" if accept else "dismissed")
            await self._respond(dialog, accept=accept, text=text)

    def drain(self, *, accept: bool = True) -> None:
        """Answer all dialogs without a report from now on, so that a script in a loop can be stopped between two."""
        self._draining, self._draining_accepts = True, accept
        dialog, self._unanswered = self._unanswered, None
        self.opened.clear()
        if dialog is not None:
            self._answer(dialog, accept=accept)

    def drained(self) -> None:
        """Return to the policy."""
        self._draining = False
        self._count = 0

    def _report_answer(self, dialog: Dialog, answered: str) -> None:
        name = _NAMES.get(dialog.type, "A dialog")
        event = f" said {shorten(dialog.message, 500)!r}" if dialog.message else " opened"
        page = dialog.page
        self._report(PageEvent(kind="dialog", text=f"{name}{event}; it was {answered}.", url=page.url if page else ""))

    def _answer(self, dialog: Dialog, *, accept: bool) -> None:
        task = asyncio.ensure_future(self._respond(dialog, accept=accept))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _respond(self, dialog: Dialog, *, accept: bool, text: str | None = None) -> None:
        number = self._number
        await _respond(dialog, accept=accept, text=text)
        answer = (dialog.default_value if text is None else text) if accept and dialog.type == "prompt" else ""
        self._signals.dialog_closed(accepted=accept, text=answer, number=number)  # not every browser reports it


async def _respond(dialog: Dialog, *, accept: bool, text: str | None = None) -> None:
    # A dialog that no longer exists needs no answer.
    with contextlib.suppress(PlaywrightError, TimeoutError):
        async with asyncio.timeout(5.0):
            if accept:
                if dialog.type == "prompt":
                    await dialog.accept(dialog.default_value if text is None else text)
                else:
                    await dialog.accept()
            else:
                await dialog.dismiss()
