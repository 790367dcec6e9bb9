"""Exceptions about pages within this package. Only `BrowserError` and its subclasses leave it."""

from __future__ import annotations

from pytest_webarena.errors import PageUnusable

__all__ = ["ActionFailed", "DialogBlocks", "PageCrashed", "ScriptFailed", "TabClosed", "Unreadable", "Unresponsive"]


class ActionFailed(Exception):
    """The action had no effect; the text is the message for the agent."""


class ScriptFailed(Exception):
    """JavaScript in the page threw; the text is what it threw."""


class Unreadable(ScriptFailed):
    """A script of the harness that reads a page threw. The task's selector or script is not the cause."""


class DialogBlocks(Exception):
    """A native dialog opened that the agent has to answer; the interrupted work continues afterwards."""


class TabClosed(Exception):
    """The tab was closed, by the page or by anyone else."""


class Unresponsive(Exception):
    """The page did not answer in time, probably because of an endless script."""

    def __init__(self, what: str, seconds: float) -> None:
        self.what, self.seconds = what, seconds
        super().__init__(f"{what}: no answer from the page within {seconds:.3g} s")


class PageCrashed(PageUnusable):
    """The renderer process of the page died."""

    event = "renderer"
