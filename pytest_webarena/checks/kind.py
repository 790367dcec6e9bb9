"""The interface of check kinds: their form in task files, what they collect from live sites, how they judge."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Protocol, TypeVar

from pytest_webarena.checks.grading import REPAIRED, Grading
from pytest_webarena.checks.judge_protocol import Asker
from pytest_webarena.checks.verdict import Part
from pytest_webarena.errors import Cause, WebArenaError
from pytest_webarena.evidence import Evidence, JsonValue, Probe
from pytest_webarena.tasks.shapes import Shape

__all__ = [
    "END",
    "EvidenceSource",
    "Judgement",
    "Kind",
    "Live",
    "Page",
    "Rows",
    "State",
    "View",
    "blames_task",
    "current_address",
    "late_reader",
    "no_answer",
    "no_phase",
]

S = TypeVar("S")

State = int | Literal["end"]
"""A state of a trial: after the step with this index, or at the end."""

END: Literal["end"] = "end"

_GONE = (404, 410)
"""Statuses of 400 and above that do answer the question: the requested thing does not exist."""
_NOT_NOW = (408, 425, 429)
"""Statuses below 500 of a site that would have answered at another time."""


def no_answer(status: int) -> Cause | None:
    """Returns whose fault it is that a response of this status does not answer the question, not even that something is
    missing; None if it answers.

    It is the agent's fault if visitors are refused or the site rejects their requests, because they carry the agent's
    cookies.

    >>> [no_answer(status) for status in (200, 302, 404, 401, 431, 429, 503)]
    [None, None, None, 'agent', 'agent', 'site', 'site']
    """
    if status < 400 or status in _GONE:
        return None
    return "site" if status in _NOT_NOW or status >= 500 else "agent"


EvidenceSource = Literal["answer", "place", "data", "requests"]
"""What a judge may depend on: the agent's answer, the addresses it visited, the sites' data, the browser's requests."""


class Page(Protocol):
    """The result of reading a page."""

    @property
    def url(self) -> str:
        """Address at the end of navigation."""

    @property
    def status(self) -> int | None:
        """HTTP status of the main document; None if unknown."""

    @property
    def texts(self) -> Sequence[str]:
        """Text of each element found (the value for inputs); text of the whole page if no element was located."""

    @property
    def error(self) -> str:
        """Why the page could not be read as requested: a script that threw, an open dialog, a response that is not a
        page; empty if it could."""

    @property
    def hidden(self) -> str:
        """Why the current tab can't be read, which is the fault of whoever left it so; empty if it can."""

    @property
    def refused(self) -> str:
        """Why the current tab shows no page of a site: its address was refused; empty if it shows one."""


class Rows(Protocol):
    """The result of an SQL query."""

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns."""

    @property
    def rows(self) -> Sequence[Sequence[JsonValue]]:
        """One sequence per row."""


class Live(Protocol):
    """A trial's browser and sites, as far as checks may use them. The runner provides it.

    Methods raise `TaskError` for faults of the check (a bad selector, bad SQL), `SiteError` and `BrowserError` for
    others.
    """

    @property
    def sites(self) -> Mapping[str, str]:
        """Site name to base address, without a trailing slash."""

    def read_page(self, *, open: str | None, locate: str | None, prepare: Sequence[str] = ()) -> Page:
        """Read the current page (``open`` is None), or a full address in a page of the harness's own."""

    def query(self, site: str, sql: str, *, database: str = "") -> Rows:
        """Run one reading SQL statement in a database of the site's app."""

    def fetch(
        self,
        site: str,
        path: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: str | None = None,
    ) -> tuple[int, str]:
        """Send a request to a site with the session's cookies, and return the response's status and body."""


def current_address(live: Live) -> str:
    """Returns the address of the current tab without reading anything else."""
    known: Callable[[], str] | None = getattr(live, "current_address", None)
    return known() if known is not None else live.read_page(open=None, locate="js=0").url


def late_reader(live: Live) -> Callable[..., Page]:
    """Returns the variant of `Live.read_page` for content that must be absent, if ``live`` has one."""
    read: Callable[..., Page] = getattr(live, "read_page_late", live.read_page)
    return read


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What one judgement may use."""

    evidence: Evidence
    state: State = END
    probe: Probe | None = None
    """The value that the check collected in this state, if it collects one and did."""
    intent: str = ""
    grading: Grading = REPAIRED
    """The grading to judge by; only the kinds of WebArena's own evaluators use it."""
    asker: Asker | None = None
    """The judge model; None when there is none."""
    negated: bool = False
    """Whether the check is negated by an odd number of surrounding ``not``."""
    ends_session: bool = False
    """Whether the task's goal ends its visitor's session, so that what a site refuses or hides counts as missing."""

    def contrary(self, status: int) -> Cause | None:
        """Returns whose fault it is that a response of this status, which fails the check, does not satisfy the check's
        negation either; None if it does satisfy it."""
        return None if self.ends_session and status in (401, 403) else no_answer(status)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A kind's judgement of one state: met, not met, or undecided (a score of None)."""

    score: float | None
    expected: str
    actual: str = ""
    why: str = ""
    cause: Cause | None = None
    """Whose fault a missing score is; None for the task's. If it is the agent's, neither the check nor its negation is
    met."""
    judgeable: bool = False
    """Whether a person or a judge model could decide what the rules can't. False if evidence is missing."""
    contrary: Cause | None = None
    """For a score of 0: whose fault it is that absence does not prove the negation. Under a ``not`` there is then no
    score. None if absence proves it."""
    threshold: float = 1.0
    """Minimum score at which the check counts as fully met."""
    parts: tuple[Part, ...] = ()
    """Parts of the score."""

    @classmethod
    def of(cls, holds: bool, *, expected: str, actual: str = "", why: str = "") -> Judgement:
        """Returns a judgement of score 1 or 0."""
        return cls(score=1.0 if holds else 0.0, expected=expected, actual=actual, why=why)

    @classmethod
    def unknown(cls, *, expected: str, why: str, actual: str = "", cause: Cause | None = None) -> Judgement:
        """Returns an undecided judgement for lack of evidence, which was not, or could not be, collected."""
        return cls(score=None, expected=expected, actual=actual, why=why, cause=cause)

    @classmethod
    def undecided(cls, *, expected: str, why: str, actual: str = "") -> Judgement:
        """Returns an undecided judgement of complete evidence: the rules can't decide; a person or a judge could."""
        return cls(score=None, expected=expected, actual=actual, why=why, judgeable=True)

    @classmethod
    def raised(cls, error: BaseException, *, expected: str, why: str) -> Judgement:
        """Returns the judgement for an ``error`` raised by the check's own code: it is not met, and its negation is
        undecided.

        An agent can cause a check to raise, and must not be excluded from the success rate by that. `--agent=oracle` or
        `--audit` shows whether the check itself is wrong. Errors that no agent can cause leave the check undecided
        (`blames_task`).
        """
        if blames_task(error):
            return cls.unknown(expected=expected, why=why)
        return cls(score=0.0, expected=expected, actual=f"it raised {type(error).__name__}", why=why, contrary="task")


def blames_task(error: BaseException) -> bool:
    """Whether no agent can cause a check to raise ``error``: an error of this package, a failed import, an exit, a
    skip."""
    return not isinstance(error, Exception) or isinstance(error, WebArenaError | ImportError)


def no_phase(spec: Any) -> int:
    """Returns 0: the phase of kinds whose collection does not disturb others."""
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind(Generic[S]):
    """One kind of check. Create one, and name it in the entry point group ``webarena.checks``.

    ``judge`` is pure: the same evidence gives the same judgement, also when a stored run is scored again.
    """

    name: str
    """Key in task files."""
    doc: str
    """What the kind checks, in a sentence of Markdown."""
    form: Shape[S]
    """Form in task files; reading it returns the spec."""
    judge: Callable[[S, View], Judgement]
    """Judges one state."""
    collect: Callable[[S, Live], JsonValue] | None = None
    """Collects what ``judge`` needs in addition to the evidence of every trial; None if it needs nothing."""
    phase: Callable[[S], int] = no_phase
    """Order of collecting: 0 reads data, 1 the current page, 2 opens pages (which may change what others see)."""
    stateful: bool = False
    """Whether a check may pass in one state and fail in another; only then ``when: any_step`` has an effect."""
    graded: bool = False
    """Whether the score only counts merits that were found. Their absence proves nothing, so task files can't put such
    a check under a ``not``."""
    category: Callable[[S], str] | None = None
    """Returns the category that a check gives its task; None when it gives none."""
    reads_responses: Callable[[S], bool] | None = None
    """Returns whether judging needs the bodies of responses, which are not kept otherwise; None: never."""
    reads_requests: bool = False
    """Whether judging uses the recorded requests."""
    reads_signals: bool = False
    """Whether judging uses the signals that the session recorded."""
    reads_changes: bool = False
    """Whether judging uses the changes in the sites' data."""
    looks_at: Callable[[S], Collection[EvidenceSource]] | None = None
    """Returns everything that decides a check, so that an audit tries only what can change its result: other answers
    for ``answer``, a solution without its last changing step for ``data`` or ``place``. None: unknown, and the audit
    assumes neither."""
    reads_tabs: bool = False
    """Whether judging may use what the tabs show at the end (`Evidence.tabs`), in addition to their addresses."""
    needs_judge: Callable[[S], bool] | None = None
    """Returns whether a check needs a judge model when exact comparison can't decide; None: never."""
    asks: Callable[[S], str] | None = None
    """Returns instructions for agents on the form of the answer, shown below the intent; None: no instructions."""
    answer_schema: Callable[[S], Mapping[str, Any] | None] | None = None
    """Returns the JSON schema of the answer for tool calls. It must not depend on the wanted value, only on its type.
    None: any text."""
    answers: Callable[[S], Iterable[str]] | None = None
    """Returns answers that a check must accept. Reading a task file tries them, and others that it must refuse. Empty
    if the spec spells out none; None: the kind is not tried."""
    chance: Callable[[S], float] | None = None
    """Returns the probability, from 0 to 1, that a blind guess passes; None: it can't be guessed."""
    make_ready: Callable[[S], object] | None = None
    """Loads what ``judge`` needs and is slow to load. Each trial is judged in a process of its own, which inherits what
    was loaded before its start and discards what it loads itself. Errors are ignored."""
    make_ready_for: Callable[[str], object] | None = None
    """Like `make_ready`, for what only one grading needs; receives its name."""
    sends_requests: Callable[[S], bool] | None = None
    """Returns whether `collect` visits a site, which may change its data, and does not only read it. None: it may."""
    presence: Callable[[S], bool] | None = None
    """Returns whether a check only requires something to be there, so that it stays met whatever is added later. It
    then counts as met although a site still has work; others are undecided. None: never."""
    absence: Callable[[S], bool] | None = None
    """Returns whether a check is met where nothing is found, as a misspelt name finds nothing. Audits report those that
    were never seen to fail. None: never."""
    examples: tuple[str, ...] = field(default=())
    """YAML of whole checks, for the reference."""

    @property
    def may_come_late(self) -> bool:
        """Whether the check reads what sites show or store at the end, so that task files may give it ``within``."""
        return (self.stateful and self.collect is not None) or self.reads_changes

    def sights(self, spec: S) -> frozenset[EvidenceSource] | None:
        """Returns what decides such a check; None when unknown."""
        return frozenset(self.looks_at(spec)) if self.looks_at else None

    def right_answers(self, spec: S) -> tuple[str, ...] | None:
        """Returns answers that such a check must accept; None if the kind knows none."""
        return tuple(self.answers(spec)) if self.answers else None

    def accepts(self, spec: S, answer: str) -> tuple[bool | None, str]:
        """Returns whether an answer meets such a check, None if that is undecided, and why it does not."""
        judged = self.judge(spec, View(evidence=Evidence(answer=answer, stop_reason="answered", sites={})))
        return None if judged.score is None else judged.score >= judged.threshold, judged.why

    def categorise(self, spec: S) -> str:
        """Returns the category that such a check gives its task; empty when it gives none."""
        return self.category(spec) if self.category else ""
