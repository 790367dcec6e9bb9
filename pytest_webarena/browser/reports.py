"""Values that a session returns: outcomes of actions, events of pages, readings for checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_webarena.evidence import JsonValue, TargetRecord
from pytest_webarena.text import shorten

__all__ = [
    "STOPPED_RESPONDING", "AdjacentControl", "Doubt", "DownloadRecord", "EventKind", "ListOption", "Outcome",
    "PageEvent", "PageReading", "SelectorMatch",
]  # fmt: skip

STOPPED_RESPONDING = "stopped responding"
"""Message to agents about a page that did not answer in time, after its name."""
EventKind = Literal[
    "brief_text",
    "dialog",
    "download",
    "field",
    "file_dialog",
    "loading",
    "popup",
    "refused",
    "script_stopped",
    "search",
    "tab_closed",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageEvent:
    """An event without an action of the agent; ``text`` is the message to the agent."""

    kind: EventKind
    text: str
    url: str = ""
    """Address of the page concerned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadRecord:
    """A file that a page sent to be saved."""

    url: str
    name: str
    """Name that the site suggests."""
    path: str
    """Path until the session ends; empty while the download is running or if it failed."""
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Result of an action."""

    error: str = ""
    """Why it had no effect, for the agent; empty if it worked."""
    url_before: str = ""
    url_after: str = ""
    target: TargetRecord | None = None
    """The element that it hit, if any."""
    value: str | None = None
    """Typed text, chosen options, pressed keys or the opened address."""
    tab: int = 0
    """Index of the tab that was acted on, from 0."""
    events: tuple[PageEvent, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Duration in seconds of ``act`` (finding and acting) and ``settle`` (waiting for the page)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """A request about which the browser alone can't tell whether and how it was answered."""

    kind: Literal["waiting", "given_up", "blocked"]
    """``waiting``: the browser has not reported an answer, as happens if nobody reads it, and always for some workers;
    ``given_up``: the page has cancelled it; ``blocked``: the browser kept the answer from the page."""
    method: str
    url: str
    begun: bool = False
    """Whether the head of an answer arrived."""
    script: bool = False
    """Whether it requests a script: for scripts of shared workers, the browser never reports an answer."""
    since: float = 0.0
    """Earliest possible time of the request, in Unix seconds."""

    def __str__(self) -> str:
        request = f"{self.method} {shorten(self.url, 100)}"
        if self.kind == "waiting":
            return f"was still waiting for {request}"
        return f"gave up {request} before its answer had come" if self.kind == "given_up" else f"did not get {request}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageReading:
    """What a check read from a page."""

    url: str
    """Final address of the page."""
    status: int | None
    """HTTP status of the page; None if unknown, as for ``about:blank`` and for pages made by scripts."""
    texts: tuple[str, ...]
    """Visible text of each match, or value of form fields; the whole page's visible text without a locator."""
    html: str = ""
    """Serialised DOM; only without a locator."""
    value: JsonValue = None
    """Result of a ``js=`` locator as returned by the page."""
    error: str = ""
    """What a ``js=`` locator or a preparation threw in the page, the dialog that hides an opened page, or why there is
    no page. The rest of the reading has no meaning then."""
    invalid: str = ""
    """Why the ``js=`` locator or the preparation that threw is not JavaScript, so that it fails on every page."""
    hidden: str = ""
    """Why the current tab can't be read as the agent left it: a dialog or an endless script."""
    refused: str = ""
    """Message of the gateway that the current tab shows in place of a site's page."""
    waiting: str = ""
    """What the page had requested and not received when it was read, so that its final content is unknown."""
    doubts: tuple[Doubt, ...] = ()
    """Further requests that may have failed, which only the gateway knows."""
    signed_out: str = ""
    """Why this is not the requested page: the site requires a login."""
    refused_requests: tuple[tuple[str, int, str], ...] = ()
    """Requests of the page that were refused (401, 403) or redirected: address, status, and target of the redirect.
    Only the latest result counts. Only for pages that are read for forbidden content."""
    shut_out: str = ""
    """What the site withheld from this page, as from a visitor who is not signed in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectorMatch:
    """Matches of one selector."""

    count: int = 0
    """Number of matching elements."""
    element: int = -1
    """Number of the first match; selectors with the same first match have the same number. -1 for no match."""
    target: TargetRecord | None = None
    """Description of the first match."""

    @property
    def is_unique(self) -> bool:
        """Whether exactly one element matches."""
        return self.count == 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOption:
    """One option of a list that can be chosen."""

    label: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AdjacentControl:
    """Neighbours of an element."""

    target: TargetRecord
    """Description of the element itself."""
    neighbour: str = ""
    """Selector of the next element of its kind; empty if there is none, or if all lead to the same address."""
    neighbour_target: TargetRecord | None = None
    """Description of that element."""
    options: tuple[ListOption, ...] = ()
    """Enabled options of a list, in order."""
