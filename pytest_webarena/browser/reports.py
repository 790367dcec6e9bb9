"""What a session reports: outcomes of actions, events of pages, readings for checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_webarena.evidence import JsonValue, TargetRecord
from pytest_webarena.text import shorten

__all__ = [
    "STOPPED_RESPONDING", "Beside", "Doubt", "DownloadRecord", "EventKind", "ListOption", "Outcome", "PageEvent",
    "PageReading", "SelectorMatch",
]  # fmt: skip

STOPPED_RESPONDING = "stopped responding"
"""What agents are told of a page that did not answer in time, behind its name."""
EventKind = Literal[
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
    """Something that happened by itself; ``text`` is the sentence the agent is told."""

    kind: EventKind
    text: str
    url: str = ""
    """Of the page concerned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadRecord:
    """A file that a page sent to be saved."""

    url: str
    name: str
    """As the site suggests it."""
    path: str
    """Where it is until the session ends; empty while it is coming in or when it failed."""
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How an action went."""

    error: str = ""
    """Why it had no effect, for the agent; empty when it worked."""
    url_before: str = ""
    url_after: str = ""
    target: TargetRecord | None = None
    """The element it hit, if it had one."""
    value: str | None = None
    """Typed text, chosen options, pressed keys or the address gone to."""
    tab: int = 0
    """The tab acted on, from 0."""
    events: tuple[PageEvent, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    """How long ``act`` (finding and acting) and ``settle`` (waiting for the page) took."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """What the browser alone does not tell: whether it was answered, and how."""

    kind: Literal["waiting", "given_up", "blocked"]
    """Without an answer, as far as the browser tells: it does not when nobody reads the answer, and of some workers
    never; given up by the page; kept from the page by the browser, whatever came."""
    method: str
    url: str
    begun: bool = False
    """Whether the head of an answer came."""
    script: bool = False
    """Whether it is asked for as a script: of those of shared workers the browser never tells an answer."""
    since: float = 0.0
    """When it can have been asked for at the earliest, in Unix seconds."""

    def __str__(self) -> str:
        named = f"{self.method} {shorten(self.url, 100)}"
        if self.kind == "waiting":
            return f"was still waiting for {named}"
        return f"gave up {named} before its answer had come" if self.kind == "given_up" else f"did not get {named}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageReading:
    """What a check read from a page."""

    url: str
    """Where the page ended up."""
    status: int | None
    """HTTP status of the page; None where it is not known, as for ``about:blank`` and for what scripts made."""
    texts: tuple[str, ...]
    """Visible text of each match, the value for form fields; the whole page's visible text without a locator."""
    html: str = ""
    """The serialised DOM; only without a locator."""
    value: JsonValue = None
    """Result of a ``js=`` locator as it came from the page."""
    error: str = ""
    """What a ``js=`` locator or a preparation threw in the page, the dialog that hides one that a check opened, or why
    there is none: then what was read of it says nothing."""
    invalid: str = ""
    """Why the ``js=`` locator or the preparation that threw is no JavaScript, so that it fails on every page."""
    hidden: str = ""
    """Why the current tab can't be looked at as the agent left it: a dialog, a script without end."""
    refused: str = ""
    """Why there is no page of a site, for the current tab: what the gateway said in its place."""
    waiting: str = ""
    """What a page had asked for and not got when it was read, so that nobody knows what it will show."""
    doubts: tuple[Doubt, ...] = ()
    """What it may have asked for in vain, too, which only the gateway knows."""
    signed_out: str = ""
    """Why this is not the page that was asked for: the site has let nobody in."""
    turned_away: tuple[tuple[str, int, str], ...] = ()
    """What the page asked for and was refused (401, 403) or led elsewhere for, at last: its address, the status, and
    the address it was led to. Only of pages that are read for what must not be there."""
    shut_out: str = ""
    """What was kept from this page by its site, as from somebody who is not signed in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectorMatch:
    """What one selector finds."""

    count: int = 0
    """How many elements match."""
    element: int = -1
    """The first of them: a number that selectors which find the same element first have in common; -1 for none."""
    target: TargetRecord | None = None
    """What that is."""

    @property
    def alone(self) -> bool:
        """Whether it finds one element and no other."""
        return self.count == 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOption:
    """One option of a list that can be chosen."""

    label: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What is next to an element."""

    target: TargetRecord
    """What it is itself."""
    neighbour: str = ""
    """A selector of the next element of its kind; empty where there is none, or all lead to the same address."""
    neighbour_target: TargetRecord | None = None
    """What that is."""
    options: tuple[ListOption, ...] = ()
    """Of a list to choose from, in order, but for those that can't be chosen."""
