"""What can go wrong with a page, inside the browser room. Only `BrowserError` and its kin leave it."""

from __future__ import annotations

from pytest_webarena.errors import BrowserError

__all__ = ["ActionFailed", "DialogBlocks", "PageCrashed", "ScriptFailed", "TabGone", "Unreadable", "Unresponsive"]


class ActionFailed(Exception):
    """The action had no effect; the text is the sentence for the agent."""


class ScriptFailed(Exception):
    """JavaScript that ran in the page threw; the text is what it threw."""


class Unreadable(ScriptFailed):
    """A script with which the harness reads a page threw: no selector or script of a task's is to blame."""


class DialogBlocks(Exception):
    """A native dialog opened that is left to the agent; what was going on continues once it is answered."""


class TabGone(Exception):
    """The tab is gone: the page closed itself, or somebody closed it."""


class Unresponsive(Exception):
    """The page did not answer in time; it is probably running a script without end."""

    def __init__(self, what: str, seconds: float) -> None:
        self.what, self.seconds = what, seconds
        super().__init__(f"{what}: no answer from the page within {seconds:.3g} s")


class PageCrashed(BrowserError):
    """The process that rendered the page died."""
