"""What makes a kind of check: how it is written, what it gathers while sites are live, how it is judged."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
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
"""A moment of a trial: after the step with this index, or at the end."""

END: Literal["end"] = "end"

_GONE = (404, 410)
"""Statuses from 400 on that do say something of what was asked for: it is not there."""
_NOT_NOW = (408, 425, 429)
"""Statuses below 500 of a site that would have answered at another time."""


def no_answer(status: int) -> Cause | None:
    """Whose fault it is that an answer of this status says nothing of what was asked for, not even that something is
    not there; None if it does. The agent's are those of visitors who are not let in, or whose requests the site does
    not take: they carry its cookies.

    >>> [no_answer(status) for status in (200, 302, 404, 401, 431, 429, 503)]
    [None, None, None, 'agent', 'agent', 'site', 'site']
    """
    if status < 400 or status in _GONE:
        return None
    return "site" if status in _NOT_NOW or status >= 500 else "agent"


EvidenceSource = Literal["answer", "place", "data", "requests"]
"""What a judge can look at: what the agent said, where it went, what the sites hold, what its browser asked for."""


class Page(Protocol):
    """What reading a page gives."""

    @property
    def url(self) -> str:
        """Where the browser ended up."""

    @property
    def status(self) -> int | None:
        """Of the main document; None when it is not known."""

    @property
    def texts(self) -> Sequence[str]:
        """The text (or the value, for inputs) of each element found; of the whole page when nothing was located."""

    @property
    def error(self) -> str:
        """Why the page could not be read as asked: a script that threw, a dialog in the way, an answer that
        is no page; empty when it could."""

    @property
    def hidden(self) -> str:
        """Why the current tab can't be looked at, which is the doing of whoever left it so; empty when it can."""

    @property
    def refused(self) -> str:
        """Why the current tab shows no page of a site: its address was refused; empty when it shows one."""


class Rows(Protocol):
    """What an SQL query gives."""

    @property
    def columns(self) -> Sequence[str]:
        """Their names."""

    @property
    def rows(self) -> Sequence[Sequence[JsonValue]]:
        """One sequence per row."""


class Live(Protocol):
    """A trial's browser and sites, as far as checks may use them. The runner provides it.

    Raises `TaskError` for what is the check's fault (a bad selector, bad SQL), `SiteError` and
    `BrowserError` for what is not.
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
        """Send a request to a site, with the session's cookies; status and body of the response."""


def current_address(live: Live) -> str:
    """Address of the current tab, of which nothing else is read."""
    known: Callable[[], str] | None = getattr(live, "current_address", None)
    return known() if known is not None else live.read_page(open=None, locate="js=0").url


def late_reader(live: Live) -> Callable[..., Page]:
    """`Live.read_page` for what must not be there, as far as ``live`` knows of the difference."""
    read: Callable[..., Page] = getattr(live, "read_page_late", live.read_page)
    return read


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What one judgement may look at."""

    evidence: Evidence
    state: State = END
    probe: Probe | None = None
    """What the check gathered in this state, if it gathers anything and did."""
    intent: str = ""
    grading: Grading = REPAIRED
    """By whose rules to judge; only the kinds of WebArena's own evaluators look at it."""
    asker: Asker | None = None
    """The judge model; None when there is none."""
    negated: bool = False
    """Whether the contrary of the check is wanted, by a ``not`` around it or any odd number of them."""
    ends_session: bool = False
    """Whether the task's goal ends its visitor's session, so that what a site refuses or hides counts as missing."""

    def contrary(self, status: int) -> Cause | None:
        """Of an answer of this status that meets no condition: whose fault it is that its contrary is not met either;
        None where it is."""
        return None if self.ends_session and status in (401, 403) else no_answer(status)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a kind says about one state. A score of None: it can't tell, for want of evidence."""

    score: float | None
    expected: str
    actual: str = ""
    why: str = ""
    cause: Cause | None = None
    """Of no score: whose fault that is; None for the task's. The agent's: it is not met, and its contrary neither."""
    contrary: Cause | None = None
    """Of a score of 0: that something was not there says nothing of its contrary, and whose fault that is. Under a
    ``not`` there is no score then."""
    threshold: float = 1.0
    """The score from which on it counts as met in full."""
    parts: tuple[Part, ...] = ()
    """What the score is made of."""

    @classmethod
    def of(cls, holds: bool, *, expected: str, actual: str = "", why: str = "") -> Judgement:
        """Yes or no."""
        return cls(score=1.0 if holds else 0.0, expected=expected, actual=actual, why=why)

    @classmethod
    def unknown(cls, *, expected: str, why: str, actual: str = "", cause: Cause | None = None) -> Judgement:
        """Inconclusive: what would decide was not collected, or could not be."""
        return cls(score=None, expected=expected, actual=actual, why=why, cause=cause)

    @classmethod
    def raised(cls, error: BaseException, *, expected: str, why: str) -> Judgement:
        """The check's own code raised ``error``: it is not met, and nobody knows of its contrary.

        An agent can leave what makes a check raise, and must not leave the success rate by it. `--agent=oracle` or
        `--audit` shows whether the check itself is wrong. Inconclusive is what no agent can cause (`blames_task`).
        """
        if blames_task(error):
            return cls.unknown(expected=expected, why=why)
        return cls(score=0.0, expected=expected, actual=f"it raised {type(error).__name__}", why=why, contrary="task")


def blames_task(error: BaseException) -> bool:
    """Whether no agent can make a check raise ``error``: an error of this package, a failed import, an exit, a skip."""
    return not isinstance(error, Exception) or isinstance(error, WebArenaError | ImportError)


def no_phase(spec: Any) -> int:
    """The phase of kinds that don't disturb each other."""
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind(Generic[S]):
    """One kind of check. Make one, and name it in the entry point group ``webarena.checks``.

    ``judge`` is pure: the same evidence gives the same judgement, today and when a stored run is scored again.
    """

    name: str
    """The key in task files."""
    doc: str
    """What it checks, in a sentence of Markdown."""
    form: Shape[S]
    """How it is written; reading gives the spec."""
    judge: Callable[[S, View], Judgement]
    """Decide about one state."""
    collect: Callable[[S, Live], JsonValue] | None = None
    """Gather what ``judge`` needs beyond the evidence that every trial has; None when there is nothing."""
    phase: Callable[[S], int] = no_phase
    """When it collects: 0 reads data, 1 the current page, 2 opens pages (which may change what others see)."""
    stateful: bool = False
    """Whether it may hold in one state and not in another, so that ``when: any_step`` means something."""
    graded: bool = False
    """Whether its score is what somebody found to praise. What is missing from that shows nothing, so that task files
    can't have it under a ``not``."""
    category: Callable[[S], str] | None = None
    """The category it gives its task; None when it says nothing."""
    reads_responses: Callable[[S], bool] | None = None
    """Whether judging looks at the bodies of responses, which are not kept otherwise; None: never."""
    reads_requests: bool = False
    """Whether judging looks at the requests that were made."""
    reads_signals: bool = False
    """Whether judging looks at what the session recorded by itself."""
    reads_changes: bool = False
    """Whether judging looks at what changed in the sites' data."""
    looks_at: Callable[[S], Collection[EvidenceSource]] | None = None
    """All that decides such a check, so that an audit tries what can make a difference to it and nothing else: other
    answers where ``answer`` is among it, a solution without its last step that changes something where ``data`` or
    ``place`` is. None: there is no telling, and the audit supposes neither."""
    reads_tabs: bool = False
    """Whether judging may look at what the tabs show at the end (`Evidence.tabs`), beyond their addresses."""
    needs_judge: Callable[[S], bool] | None = None
    """Whether it is left open without a judge model, as soon as letters alone can't decide it; None: never."""
    asks: Callable[[S], str] | None = None
    """What an agent has to be told of the form of its answer, below the intent; None: nothing."""
    chance: Callable[[S], float] | None = None
    """How often a blind guess meets it, from 0 to 1; None: nobody can guess."""
    make_ready: Callable[[S], object] | None = None
    """Load what ``judge`` takes long to load. Each trial is judged in a process of its own, which finds what was loaded
    before it began and takes what it loads itself with it when it ends. What it raises is of no account."""
    make_ready_for: Callable[[str], object] | None = None
    """The same for what only judging by one grading takes, given its name."""
    examples: tuple[str, ...] = field(default=())
    """YAML of whole checks, for the reference."""

    def sights(self, spec: S) -> frozenset[EvidenceSource] | None:
        """What decides such a check; None when there is no telling."""
        return frozenset(self.looks_at(spec)) if self.looks_at else None

    def categorise(self, spec: S) -> str:
        """The category it gives its task; empty when it says nothing."""
        return self.category(spec) if self.category else ""
