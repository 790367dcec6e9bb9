"""What a judge may look at: everything recorded of a trial, to and from plain JSON.

Collecting (live, with a browser and sites) and judging (pure) meet only here. Whatever a judge
needs must be in an `Evidence`, so any stored run can be judged again without sites or browser.

>>> (Usage(calls=1, input_tokens=900, cost=0.002) + Usage(calls=1, cost=None)).input_tokens
900
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from pytest_webarena.answers import AnswerFormat, as_text
from pytest_webarena.changes import SiteChanges, changes_from_json
from pytest_webarena.evidence.sign_ins import SignedIn
from pytest_webarena.evidence.steps import LONGEST_TEXT, ScriptAct, StepRecord, cut
from pytest_webarena.evidence.usage import Usage
from pytest_webarena.signals import Signal, TargetRecord, signal_from_json

__all__ = [
    "LONGEST_PAGE",
    "LONGEST_REPLY",
    "LONGEST_TEXT",
    "SCHEMA_VERSION",
    "Evidence",
    "JsonValue",
    "Probe",
    "ReachedSite",
    "RequestRecord",
    "ScriptAct",
    "SeenPage",
    "SignedIn",
    "StepRecord",
    "StopReason",
    "TabState",
    "TargetRecord",
    "Unfinished",
    "Unrecorded",
    "Usage",
    "cut",
]

SCHEMA_VERSION = 15
"""2 added what a model said and cost to `StepRecord`; 3 the form of the answer, and bodies of responses; 4 what the
record of requests had no room for; 5 signals; 6 that a check found more than can be judged;
7 DOM events among the signals, whether anybody listened for them, and how many signals each step made; 8 what the
agent used, and how long it took; 9 sites that were visited beside the task's own, and whose documents are that pages
have made themselves; 10 what changed in the sites' databases and files, and what archives of sites lacked;
11 who asked for an address, and what live sites kept back; 12 keys that write nothing, and tabs that were closed;
13 what scripts did between steps, and what text had left in its field; 14 which unrecorded requests were refused,
the columns of tables, whether the visitor of a check's readings was signed in, and whether a check raised; 15 the
sign-in of all readings of sites that are visited as somebody, and whether they were repeated after signing in again."""

LONGEST_REPLY = 1_000_000
"""Characters of a reply in which an action is looked for."""

LONGEST_PAGE = 10_000_000
"""Characters of a page, or of what an agent is shown of it, that are recorded."""

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]

StopReason = Literal[
    "answered",
    "max_steps",
    "time",
    "tokens",
    "cost",
    "context",
    "filtered",
    "repeated",
    "invalid",
    "agent_crash",
    "broke_site",
]
"""Why an episode ended. ``context``: a request was longer than the model's context. ``filtered``: a content filter of
the model's endpoint blocked a request or a reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TabState:
    """One tab at the end of the episode."""

    url: str
    title: str
    html: str
    """The serialised DOM, not the source as sent."""
    active: bool
    status: int | None = None
    """HTTP status of the document; None where it is not known, as for what scripts made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRecord:
    """One HTTP exchange (or tunnel) as the gateway saw it; a connection that it refused, as the request that the
    browser reports it was for."""

    time: float
    """Unix time in seconds when the request line arrived."""
    method: str
    url: str
    status: int | None
    """None when no response came; with ``refused`` set, 403 when the gateway turned it away, 204 for its CORS
    preflight."""
    refused: str = ""
    """Why the gateway refused it; empty when it was passed on."""
    request_headers: tuple[tuple[str, str], ...] = ()
    request_body: str | None = None
    """Text, or base64 after ``base64:``; None when empty. Cut at the gateway's limit."""
    response_headers: tuple[tuple[str, str], ...] = ()
    request_bytes: int = 0
    response_bytes: int = 0
    seconds: float = 0.0
    lacks: Literal["", "page", "part", "extra"] = ""
    """Of an archived site: that the archive does not have it, and what it was. A ``page`` to be shown; a ``part`` on
    which the page's working may depend; an ``extra`` that only decorates or reports. Empty otherwise, and in evidence
    of older versions."""
    intercepted: bool = False
    """Of a live site: that it may have changed something there and nobody had allowed it, so it was answered for the
    site (403) and not sent."""
    obstacle: Literal["", "blocked", "site"] = ""
    """Of a live site: that it did not answer as it does to people. ``blocked``: it turned the visitor away (a captcha,
    429, another region's site, robots.txt); ``site``: it could not be had (its name, its TLS, time). Empty otherwise,
    and in evidence of older versions."""
    obstacle_why: str = ""
    response_body: str | None = None
    """Text of a JSON response, decoded. None for others, for those that were too long to keep, and when none of the
    task's checks looks at responses."""

    def without_response_body(self) -> RequestRecord:
        """The same, for records of tasks that don't look at it."""
        return self if self.response_body is None else replace(self, response_body=None)

    @property
    def body_cut(self) -> bool:
        """Whether the request's body was longer than what was kept of it."""
        kept = self.request_body or ""
        if kept.startswith("base64:"):
            return self.request_bytes > len(kept.removeprefix("base64:")) // 4 * 3
        return self.request_bytes > len(kept.encode())


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished:
    """A request that may change something and is not over."""

    method: str
    url: str
    seconds: float
    """Since it began."""
    waits_for: Literal["browser", "site", "rest"]
    """What is still to come: the rest of the request, the site's answer, or the rest of that."""
    repeated: bool = False
    """Whether its page has done the same over and over with nobody's help, so that it may be none of the agent's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unrecorded:
    """Requests that the gateway had no room to record, those of one method and address together."""

    method: str
    """Empty: of any method."""
    url: str
    """Without query and fragment. Empty: there were too many addresses to tell them apart."""
    count: int
    refused: bool = False
    """Whether the gateway refused them. Evidence before version 14 lists only requests that were passed on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachedSite:
    """A site in reach that its task does not list, and that the agent's browser has asked for something."""

    site: str
    app: str
    url: str
    """Base URL without a trailing slash."""
    shared: bool
    """Whether all trials visit the same replica, because it can only be read: the gateway refuses writes."""
    replica: str = ""
    """Which copy it was; empty when it could not be had."""
    digest: str = ""
    """What that runs."""
    waited: float = 0.0
    """Seconds from the first request until it was there."""
    changed: str = ""
    """The first request that may have changed it, e.g. ``POST http://homepage.test/notes``; empty when there was none.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What one check gathered in one state of the trial: a value, or why there is none."""

    check: str
    """Path of the check in its task, e.g. ``checks[1].all[0]``."""
    state: int | Literal["end"]
    """Step index after which it was gathered, or the end."""
    value: JsonValue = None
    error: str = ""
    beyond: bool = False
    """Whether the error is that there was more than can be judged."""
    raised: bool = False
    """Whether the check's own code raised the error, as an agent can make it: the check is not met."""
    sign_ins: tuple[SignedIn, ...] | None = None
    """Those of the sites that it read as somebody who is signed in. None where nobody looked: it read no such site, or
    the evidence is older than version 15, and for what a site does not show than version 14."""
    first: JsonValue = None
    """Where the readings were repeated after signing in again: what it gathered before that, in the agent's session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenPage:
    """The current page as it was when an agent decided on a step: only recorded for gradings that look at it."""

    step: int
    url: str
    html: str
    """The serialised DOM."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Everything recorded of one attempt."""

    answer: str | None
    """The agent's last word; None when it never stopped by itself."""
    stop_reason: StopReason
    tabs: tuple[TabState, ...] = ()
    steps: tuple[StepRecord, ...] = ()
    requests: tuple[RequestRecord, ...] = ()
    unrecorded: tuple[Unrecorded, ...] = ()
    """What is missing in ``requests``; empty when they are complete, and in evidence of older versions."""
    probes: tuple[Probe, ...] = ()
    signals: tuple[Signal, ...] | None = None
    """What the session recorded by itself, in order; None when nobody recorded, as in evidence of older versions."""
    lost_signals: int = 0
    """How many came after there was no more room for them."""
    unheard_documents: int = 0
    """How many documents there were in which nobody is known to have listened for events."""
    signals_after: tuple[int, ...] = ()
    """How many of the signals there were when each step was over; empty when nobody counted."""
    signals_before: int = 0
    """How many of the signals came with the first pages, before the agent began."""
    pages: tuple[SeenPage, ...] = ()
    """The page before each step, for gradings that look at it; those that did not answer are missing."""
    dom_events: bool | None = None
    """Whether DOM events are among the signals; False where the browser let nobody listen for them, None in evidence of
    older versions, which has none. Without listeners there is no telling what was clicked."""
    sites: Mapping[str, str] = field(default_factory=dict)
    """Site name to base URL as the agent saw it, without a trailing slash."""
    reached: tuple[ReachedSite, ...] = ()
    """What was visited of the sites in reach that the task does not list; empty in evidence of older versions."""
    changes: tuple[SiteChanges, ...] | None = None
    """What differs in the sites' data since the agent began, per app, of those whose data can be looked at. None in
    evidence of older versions, and where nobody looked."""
    answer_format: AnswerFormat = "text"
    """The form of answer that the agent was asked for."""
    usage: Usage | None = None
    """What the agent's model calls used, as far as somebody told; a judge's are not among them. Zeros for agents that
    ask no model; None when nobody told, as in evidence of older versions."""
    usage_gap: str = ""
    """Why it may have used more than that; empty when it has not."""
    agent_seconds: float | None = None
    """How long the agent was waited for; None when nobody measured."""
    began: float = 0.0
    """Unix time in seconds at which the agent began, from which `StepRecord.started` counts; 0 when nobody noted it."""

    @property
    def text_answer(self) -> str | None:
        """The answer for checks that compare text: what a typed response says, where one was asked for."""
        return self.answer if self.answer_format == "text" else as_text(self.answer)

    @property
    def url(self) -> str:
        """Address of the active tab; empty when no tab was open."""
        return next((tab.url for tab in self.tabs if tab.active), "")

    @property
    def served(self) -> tuple[str, ...]:
        """Base addresses of all sites of the trial: the task's, and the others that were visited."""
        return (*self.sites.values(), *(site.url for site in self.reached))

    def probe(self, check: str, state: int | Literal["end"] = "end") -> Probe | None:
        """What ``check`` gathered in ``state``, if anything."""
        return next((p for p in self.probes if p.check == check and p.state == state), None)

    def to_json(self) -> dict[str, Any]:
        """Plain data with a ``schema_version``; `from_json` reads it back."""
        return {"schema_version": SCHEMA_VERSION, **asdict(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Evidence:
        """Read what `to_json` wrote, this version's or an older one's."""
        version = data.get("schema_version")
        if not isinstance(version, int) or version > SCHEMA_VERSION:
            raise ValueError(f"expected evidence of schema version {SCHEMA_VERSION} or older, found {version!r}")
        return cls(
            answer=data["answer"],
            stop_reason=data["stop_reason"],
            tabs=tuple(TabState(**tab) for tab in data["tabs"]),
            steps=tuple(StepRecord.from_json(step) for step in data["steps"]),
            requests=tuple(_request(request) for request in data["requests"]),
            unrecorded=tuple(Unrecorded(**each) for each in data.get("unrecorded", ())),
            probes=tuple(map(_probe, data["probes"])),
            signals=tuple(map(signal_from_json, signals)) if (signals := data.get("signals")) is not None else None,
            lost_signals=data.get("lost_signals", 0),
            unheard_documents=data.get("unheard_documents", 0),
            signals_after=tuple(data.get("signals_after", ())),
            signals_before=data.get("signals_before", 0),
            pages=tuple(SeenPage(**page) for page in data.get("pages", ())),
            dom_events=data.get("dom_events"),
            sites=dict(data["sites"]),
            reached=tuple(ReachedSite(**each) for each in data.get("reached", ())),
            changes=tuple(map(changes_from_json, told)) if (told := data.get("changes")) is not None else None,
            answer_format=data.get("answer_format", "text"),
            usage=Usage(**used) if (used := data.get("usage")) is not None else None,
            usage_gap=data.get("usage_gap", ""),
            agent_seconds=data.get("agent_seconds"),
            began=data.get("began", 0.0),
        )


def _probe(data: Mapping[str, Any]) -> Probe:
    known = data.get("sign_ins")
    return Probe(**{**data, "sign_ins": None if known is None else tuple(SignedIn(**each) for each in known)})


def _request(data: Mapping[str, Any]) -> RequestRecord:
    pairs = {key: tuple(map(tuple, data[key])) for key in ("request_headers", "response_headers")}
    return RequestRecord(**{**data, **pairs})
