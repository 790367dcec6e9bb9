"""What a task is, once its file has been read: frozen values, no YAML, no behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_webarena.actions import Action
from pytest_webarena.tasks.reviews import Review

__all__ = ["Check", "ImageSource", "Limits", "LiveTerms", "Location", "SetupStep", "Start", "Task"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """Where a task stands in its file; line and column count from 1."""

    path: str
    line: int
    column: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One condition on a task, or a combination of conditions."""

    path: str
    """Where it stands in its task, e.g. ``checks[1].all[0]``: the key of its probes and results."""
    kind: str
    """A registered kind (``answer``, ``url``, …) or a combinator (``all``, ``any``, ``not``)."""
    spec: Any = None
    """The kind's own frozen dataclass; None for combinators."""
    children: tuple[Check, ...] = ()
    """Of a combinator; exactly one for ``not``."""
    weight: float = 1.0
    """Its share when scores are averaged instead of multiplied."""
    when: Literal["end", "any_step"] = "end"
    """On which states it may hold (the WebArena paper's r_prog also examines intermediate states)."""
    location: Location | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """A task's own limits; None leaves the run's limit in force."""

    steps: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveTerms:
    """What a trial may do on live sites, besides reading pages of the domains that it starts on."""

    domains: tuple[str, ...] = ()
    """Further domains that tabs may go to."""
    reads: tuple[str, ...] = ()
    """Requests that only read whatever their method says, as ``POST /search`` or with a full address."""
    writes: tuple[str, ...] = ()
    """Requests that really may change something."""
    robots: Literal["", "obey", "ignore"] = ""
    """What robots.txt counts for; empty: as whoever else has a say says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One tab that is open when the episode begins."""

    site: str
    path: str
    """Absolute path with query, or a full address; empty for the site's start page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSource:
    """Where a picture that belongs to an intent is: on a site, at a full address, or in a file."""

    site: str = ""
    """Site name; empty for full addresses and files."""
    path: str
    """Absolute path on the site; a full address; or a file, seen from the folder of the task's file."""

    @property
    def is_file(self) -> bool:
        """Whether it is a file."""
        return not self.site and "://" not in self.path

    def __str__(self) -> str:
        return f"{self.site}:{self.path}" if self.site else self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupStep:
    """One preparation before the episode: browser actions, SQL or a request, on one site."""

    kind: Literal["browser", "sql", "api"]
    site: str
    spec: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """An intent, the sites it needs, where it starts, how it is checked."""

    id: str
    """Matches ``[A-Za-z0-9._-]+``; unique in a run."""
    intent: str
    sites: tuple[str, ...]
    """Site names; the first is where relative addresses lead."""
    images: tuple[ImageSource, ...] = ()
    """Pictures that belong to the intent, in its order."""
    start: tuple[Start, ...] = ()
    """Tabs open at the beginning; the first is current. Empty: the first site's start page."""
    user: Mapping[str, str] = field(default_factory=dict)
    """Site name to account name; a site not named uses its default account."""
    checks: tuple[Check, ...] = ()
    gradings: Mapping[str, tuple[Check, ...]] = field(default_factory=dict)
    """Other checks for the same task, by the name of the grading that uses them in place of ``checks``."""
    threshold: float = 1.0
    """The score from which the task counts as passed."""
    score: Literal["product", "mean"] = "product"
    """How the scores of ``checks`` combine."""
    setup: tuple[SetupStep, ...] = ()
    solution: tuple[Action, ...] | None = None
    """What the oracle does; targets are Playwright selectors. None: nobody wrote one down."""
    reach: Literal["task", "environment"] = "task"
    """What an agent can visit beside `sites`: nothing, or every site of the catalogue, as in WebArena's paper."""
    live: LiveTerms | None = None
    """What it may do on live sites; None: nothing but look at those that it starts on."""
    mutates: bool | None = None
    """Whether doing the task changes a site. False: whoever changes something on a site that forbids side effects has
    failed; else a hint for readers and schedulers, never trusted."""
    ends_session: bool = False
    """Whether its goal ends the session of a visitor, so that what a site shows without one counts."""
    category: str = ""
    """``information``, ``navigation``, ``content``, ``unachievable``, or the author's own word."""
    tags: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    template: str = ""
    """Id of the template this is an instance of; its own id when it stands alone."""
    filling: Mapping[str, Any] = field(default_factory=dict)
    """The variables that made this instance of its template."""
    skip: str = ""
    """Reason; empty means: run it."""
    xfail: str = ""
    """Reason; empty means: it is expected to pass."""
    known_issue: str = ""
    """What is known to be wrong with the task itself; empty: nothing. Shown in reports, runs all the same."""
    source: Mapping[str, Any] = field(default_factory=dict)
    """Where it comes from, for readers: plain JSON data such as suite, task and template number."""
    review: Review | None = None
    """Who has looked at it, and what they think; None: nobody wrote it down. Decides nothing."""
    location: Location = field(default_factory=lambda: Location(path="", line=1))
    digest: str = ""
    """Hash of everything that decides a verdict, filling included. Equal digests: the same task."""

    @property
    def leased(self) -> tuple[str, ...]:
        """The sites that a trial needs: those of the task, and those that only its images are on."""
        return tuple(dict.fromkeys((*self.sites, *(image.site for image in self.images if image.site))))

    @property
    def reference_length(self) -> int | None:
        """How many steps a known way to do it takes: as its source says, else as its solution. None: nobody knows."""
        for name in ("reference_length", "reference_task_length"):
            told = self.source.get(name)
            if isinstance(told, int) and not isinstance(told, bool) and told > 0:
                return told
        return len(self.solution) if self.solution else None

    @property
    def every_check(self) -> tuple[Check, ...]:
        """The checks of all gradings: what has to be collected."""
        return (*self.checks, *(check for checks in self.gradings.values() for check in checks))
