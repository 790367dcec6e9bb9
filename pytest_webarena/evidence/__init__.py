"""Everything recorded of a trial that a judge may look at, with conversion to and from plain JSON.

Collecting (live, with a browser and sites) and judging (pure) share only this package. Everything that a judge needs
must be in an `Evidence`, so that any stored run can be judged again without sites or browser.

>>> (Usage(calls=1, input_tokens=900, cost=0.002) + Usage(calls=1, cost=None)).input_tokens
900
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, TypeVar

from pytest_webarena.answers import AnswerFormat, as_text
from pytest_webarena.changes import SiteChanges, changes_from_json
from pytest_webarena.evidence.sign_ins import SignedIn
from pytest_webarena.evidence.steps import LONGEST_TEXT, ScriptAct, StepRecord, cut
from pytest_webarena.evidence.usage import Usage
from pytest_webarena.evidence.waits import QuietWait
from pytest_webarena.own_addresses import OwnAddresses
from pytest_webarena.signals import Signal, TargetRecord, signal_from_json

__all__ = [
    "LONGEST_PAGE",
    "LONGEST_REPLY",
    "LONGEST_TEXT",
    "SCHEMA_VERSION",
    "Evidence",
    "JsonValue",
    "Probe",
    "QuietWait",
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

T = TypeVar("T")

SCHEMA_VERSION = 16
"""Version of the stored form. Each version added to the one before it: 2 model replies and their cost in `StepRecord`;
3 the answer's format and response bodies; 4 requests for which the record had no room (`Unrecorded`); 5 signals; 6
whether a check found more than can be judged (`Probe.beyond`); 7 DOM events among the signals, whether listeners were
active, and the number of signals after each step; 8 the agent's usage and time; 9 sites visited in addition to the
task's own, and which page made a document without an address of its own; 10 changes in the sites' databases and files,
and what archives of sites lacked; 11 who requested an address, and what live sites withheld; 12 keys that type nothing,
and closed tabs; 13 script actions between steps, and the resulting content of text fields; 14 which unrecorded requests
were refused, columns of tables, whether the visitor of a check's readings was signed in, and whether a check raised; 15
the sign-in state for all readings of sites that are visited signed in, and whether readings were repeated after signing
in again; 16 waits for queued work of sites and for checks with ``within``."""

LONGEST_REPLY = 1_000_000
"""Maximum length, in characters, of a reply in which an action is looked for."""

LONGEST_PAGE = 10_000_000
"""Maximum length, in characters, of the recorded part of a page or of an observation."""

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
    "broke_browser",
    "endless_writes",
    "model_refused",
    "unattributed",
]
"""Why an episode ended. ``context``: a request was longer than the model's context. ``filtered``: a content filter of
the model's endpoint blocked a request or a reply. From ``broke_site`` on: an error that the agent caused, or may have
caused (`owners`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TabState:
    """One tab at the end of the episode."""

    url: str
    title: str
    html: str
    """The serialised DOM, not the source as sent."""
    active: bool
    status: int | None = None
    """HTTP status of the document; None if unknown, as for documents that scripts made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRecord:
    """One HTTP exchange (or tunnel) as the gateway recorded it. A connection that the gateway refused is recorded as
    the request that it was for, as reported by the browser."""

    time: float
    """Unix time in seconds when the request line arrived."""
    method: str
    url: str
    status: int | None
    """None when no response came; with ``refused`` set, 403 when the gateway refused it, 204 for its CORS
    preflight."""
    refused: str = ""
    """Why the gateway refused the request; empty when it was forwarded."""
    request_headers: tuple[tuple[str, str], ...] = ()
    request_body: str | None = None
    """Text, or base64 after ``base64:``; None when empty. Cut at the gateway's limit."""
    response_headers: tuple[tuple[str, str], ...] = ()
    request_bytes: int = 0
    response_bytes: int = 0
    seconds: float = 0.0
    lacks: Literal["", "page", "part", "extra"] = ""
    """The kind of resource that an archived site lacks: a ``page`` to be displayed, a ``part`` that the page may need
    to work, or an ``extra`` that only decorates or reports. Empty when the archive had it, for other sites, and in
    evidence of older versions."""
    intercepted: bool = False
    """Whether the gateway answered a request to a live site itself (403) and did not send it, because the request might
    change something there and no rule allowed it."""
    obstacle: Literal["", "blocked", "site"] = ""
    """Why a live site did not answer as it answers people. ``blocked``: it rejected the visitor (a captcha, 429,
    another region's site, robots.txt). ``site``: it was unavailable (name resolution, TLS, timeout). Empty otherwise,
    and in evidence of older versions."""
    obstacle_why: str = ""
    response_body: str | None = None
    """Decoded text of a JSON response. None for other responses, for those too long to keep, and when none of the
    task's checks reads response bodies."""

    def without_response_body(self) -> RequestRecord:
        """This record without its response body, for tasks whose checks do not read it."""
        return self if self.response_body is None else replace(self, response_body=None)

    @property
    def body_cut(self) -> bool:
        """Whether the request's body was longer than the part that was kept."""
        kept = self.request_body or ""
        if kept.startswith("base64:"):
            return self.request_bytes > len(kept.removeprefix("base64:")) // 4 * 3
        return self.request_bytes > len(kept.encode())

    def renamed(self, before: RequestRecord) -> RequestRecord:
        """Returns this record, made from ``before`` by other names of sites, with the size of its changed body."""
        change = len((self.request_body or "").encode()) - len((before.request_body or "").encode())
        return replace(self, request_bytes=before.request_bytes + change)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished:
    """A request that may change something and has not finished."""

    method: str
    url: str
    seconds: float
    """Time since the request began, in seconds."""
    waits_for: Literal["browser", "site", "rest"]
    """What is still missing: the rest of the request (``browser``), the site's response (``site``), or the rest of the
    response (``rest``)."""
    repeated: bool = False
    """Whether the page has sent the same request repeatedly without anybody's action, so that the agent may not have
    caused it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unrecorded:
    """Requests that the gateway had no room to record, grouped by method and address."""

    method: str
    """Request method; empty when the entry covers any method."""
    url: str
    """Address without query and fragment; empty when there were too many addresses to list separately."""
    count: int
    refused: bool = False
    """Whether the gateway refused them. Evidence before version 14 lists only requests that were forwarded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonLabel:
    """One person's answer to the question of a check of the kind ``human``."""

    question: str
    done: bool
    """Whether the answer is yes."""
    by: str
    at: float
    """Time of the label: Unix time in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachedSite:
    """A reachable site that the task does not list and that the agent's browser sent requests to."""

    site: str
    app: str
    url: str
    """Base URL without a trailing slash."""
    shared: bool
    """Whether all trials visit the same replica. A shared replica is read-only: the gateway refuses writes."""
    replica: str = ""
    """Identifier of the replica; empty when none was available."""
    digest: str = ""
    """Digest of what the replica runs."""
    waited: float = 0.0
    """Time from the first request until the replica was available, in seconds."""
    changed: str = ""
    """The first request that may have changed the site, e.g. ``POST http://homepage.test/notes``; empty when there was
    none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """The value that one check collected in one state of the trial, or the reason why there is none."""

    check: str
    """Path of the check in its task, e.g. ``checks[1].all[0]``."""
    state: int | Literal["end"]
    """Index of the step after which the value was collected, or ``"end"``."""
    value: JsonValue = None
    error: str = ""
    beyond: bool = False
    """Whether the error is that the check found more than can be judged."""
    raised: bool = False
    """Whether the check's own code raised the error. An agent can cause that, so the check counts as not met."""
    sign_ins: tuple[SignedIn, ...] | None = None
    """Sign-in states of the sites that the check read as a signed-in user. None when no state was looked up: the check
    read no such site, or the evidence is older than version 15 (older than version 14 for content that a site does not
    display)."""
    first: JsonValue = None
    """When the readings were repeated after signing in again: the value collected before that, in the agent's
    session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenPage:
    """The current page when the agent decided on a step. Recorded only for gradings that look at it."""

    step: int
    url: str
    html: str
    """The serialised DOM."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Everything recorded of one attempt."""

    answer: str | None
    """The agent's final answer; None when the agent did not stop on its own."""
    stop_reason: StopReason
    tabs: tuple[TabState, ...] = ()
    steps: tuple[StepRecord, ...] = ()
    requests: tuple[RequestRecord, ...] = ()
    unrecorded: tuple[Unrecorded, ...] = ()
    """Requests missing from ``requests``; empty when those are complete, and in evidence of older versions."""
    probes: tuple[Probe, ...] = ()
    signals: tuple[Signal, ...] | None = None
    """Events that the session recorded, in order; None when it recorded none, as in evidence of older versions."""
    lost_signals: int = 0
    """Number of signals dropped because there was no more room for them."""
    unheard_documents: int = 0
    """Number of documents in which no event listeners are known to have been active."""
    signals_after: tuple[int, ...] = ()
    """Number of signals recorded by the end of each step; empty when they were not counted."""
    signals_before: int = 0
    """Number of signals that came from the first pages, before the agent began."""
    pages: tuple[SeenPage, ...] = ()
    """The page before each step, for gradings that look at it. Pages that did not answer are missing."""
    dom_events: bool | None = None
    """Whether DOM events are among the signals. False when the browser allowed no listeners, None in evidence of older
    versions, which has no DOM events. Without listeners it is unknown what was clicked."""
    sites: Mapping[str, str] = field(default_factory=dict)
    """Site name to base URL as the agent saw it, without a trailing slash."""
    own_addresses: OwnAddresses = field(default_factory=lambda: OwnAddresses({}))
    """Names of hosted sites. What was recorded may contain a site's name or any of its own addresses; judges compare it
    in `in_names` only."""
    reached: tuple[ReachedSite, ...] = ()
    """Reachable sites that were visited although the task does not list them; empty in evidence of older versions."""
    changes: tuple[SiteChanges, ...] | None = None
    """Differences in the sites' data since the agent began, one entry per app whose data can be compared. None in
    evidence of older versions, and when nothing was compared."""
    quiet_waits: tuple[QuietWait, ...] = ()
    """Waits for queued work before the sites were read, one per app with the key ``quiet``; empty in evidence of older
    versions."""
    check_waits: Mapping[str, float] = field(default_factory=dict)
    """Seconds that each check with ``within`` was waited for before the sites were read, by the check's path."""
    answer_format: AnswerFormat = "text"
    """The answer format that the agent was asked for."""
    usage: Usage | None = None
    """Usage of the agent's model calls, as far as it was reported, without a judge's calls. Zeros for agents that call
    no model; None when nothing was reported, as in evidence of older versions."""
    usage_gap: str = ""
    """Why the agent may have used more than ``usage`` says; empty when ``usage`` is complete."""
    agent_seconds: float | None = None
    """Time spent waiting for the agent, in seconds; None when it was not measured."""
    masked: bool = field(default=False, compare=False)
    """Whether this was read from files in which secrets are masked; not stored."""
    labels: tuple[PersonLabel, ...] = field(default=(), compare=False)
    """People's labels of the trial, one per person and question. They are stored next to the attempt, not here."""
    began: float = 0.0
    """Unix time in seconds at which the agent began, from which `StepRecord.started` counts; 0 when it was not
    recorded."""

    def in_names(self, value: T) -> tuple[T, Evidence]:
        """Returns a value, such as a task, and this evidence; both have sites' names for own addresses."""
        return self.own_addresses.in_value((value, self))

    @property
    def text_answer(self) -> str | None:
        """The answer for checks that compare text. For formats other than ``text`` it is the text of the typed
        response."""
        return self.answer if self.answer_format == "text" else as_text(self.answer)

    @property
    def url(self) -> str:
        """Address of the active tab; empty when no tab was open."""
        return next((tab.url for tab in self.tabs if tab.active), "")

    @property
    def busy(self) -> str:
        """Why what the sites showed may not be final: an app still had work at its deadline. Empty if none had."""
        return "; ".join(str(each) for each in self.quiet_waits if each.busy)

    @property
    def served(self) -> tuple[str, ...]:
        """Base URLs of all sites of the trial: the task's sites, then the others that were visited."""
        return (*self.sites.values(), *(site.url for site in self.reached))

    def probe(self, check: str, state: int | Literal["end"] = "end") -> Probe | None:
        """What ``check`` collected in ``state``; None if nothing."""
        return next((p for p in self.probes if p.check == check and p.state == state), None)

    def to_json(self) -> dict[str, Any]:
        """Plain data with a ``schema_version``; `from_json` reads it back."""
        data = {"schema_version": SCHEMA_VERSION, **asdict(self)}
        del data["masked"], data["labels"]
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Evidence:
        """Read the output of `to_json`, of this or an older version. `ValueError` for a newer or missing version."""
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
            own_addresses=OwnAddresses(**data.get("own_addresses", {"names": {}})),
            reached=tuple(ReachedSite(**each) for each in data.get("reached", ())),
            changes=tuple(map(changes_from_json, changes)) if (changes := data.get("changes")) is not None else None,
            quiet_waits=tuple(QuietWait(**each) for each in data.get("quiet_waits", ())),
            check_waits=dict(data.get("check_waits", {})),
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
