"""Tasks as frozen values after their file was read; no YAML and almost no behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_webarena.actions import Action
from pytest_webarena.tasks.reviews import Review

__all__ = ["Check", "ImageSource", "Limits", "LiveTerms", "Location", "SetupStep", "Start", "Task"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """Position of a task in its file; line and column count from 1."""

    path: str
    line: int
    column: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One condition on a task, or a combination of conditions."""

    path: str
    """Path of the check in its task, e.g. ``checks[1].all[0]``: the key of its probes and results."""
    kind: str
    """A registered kind (``answer``, ``url``, …) or a combinator (``all``, ``any``, ``not``)."""
    spec: Any = None
    """The kind's own frozen dataclass; None for combinators."""
    children: tuple[Check, ...] = ()
    """Children of a combinator; exactly one for ``not``."""
    weight: float = 1.0
    """Weight in the mean of scores; products ignore it."""
    when: Literal["end", "any_step"] = "end"
    """States in which the check may pass (the WebArena paper's r_prog also examines intermediate states)."""
    within: float = 0.0
    """Seconds that the check is waited for after the agent has stopped, until it is met; 0: not at all."""
    location: Location | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """A task's own limits; None keeps the run's limit."""

    steps: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveTerms:
    """What a trial may do on live sites in addition to reading pages of its start domains."""

    domains: tuple[str, ...] = ()
    """Further domains that tabs may visit."""
    reads: tuple[str, ...] = ()
    """Requests that only read, whatever their method, as ``POST /search`` or with a full address."""
    writes: tuple[str, ...] = ()
    """Requests that may change something."""
    robots: Literal["", "obey", "ignore"] = ""
    """How robots.txt is treated; empty: by the other settings for live sites."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One tab that is open when the episode begins."""

    site: str
    path: str
    """Absolute path with query, or a full address; empty for the site's start page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSource:
    """The source of an image of an intent: a site, a full address, or a file."""

    site: str = ""
    """Site name; empty for full addresses and files."""
    path: str
    """Absolute path on the site; a full address; or a file path relative to the folder of the task file."""

    @property
    def is_file(self) -> bool:
        """Whether the image is a file."""
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
    """An intent with its sites, start pages and checks."""

    id: str
    """Matches ``[A-Za-z0-9._-]+``; unique in a run."""
    intent: str
    sites: tuple[str, ...]
    """Site names; relative addresses are on the first one."""
    images: tuple[ImageSource, ...] = ()
    """Images of the intent, in order."""
    start: tuple[Start, ...] = ()
    """Tabs that are open at the start; the first is current. Empty: one tab with the first site's start page."""
    user: Mapping[str, str] = field(default_factory=dict)
    """Account names by site name; other sites use their default account."""
    checks: tuple[Check, ...] = ()
    gradings: Mapping[str, tuple[Check, ...]] = field(default_factory=dict)
    """Alternative checks by name of the grading that uses them instead of ``checks``."""
    threshold: float = 1.0
    """Minimum score at which the task passes."""
    score: Literal["product", "mean"] = "product"
    """How the scores of ``checks`` are combined."""
    setup: tuple[SetupStep, ...] = ()
    solution: tuple[Action, ...] | None = None
    """Actions of the oracle; targets are Playwright selectors. None: the task has no solution."""
    reach: Literal["task", "environment"] = "task"
    """What an agent can visit in addition to `sites`: nothing, or every site of the catalogue, as in WebArena's
    paper."""
    live: LiveTerms | None = None
    """What the trial may do on live sites; None: only read pages of the start domains."""
    mutates: bool | None = None
    """Whether the task changes a site. False: an agent that changes something fails, where a ledger is kept. Any other
    value is a hint for readers and schedulers, never trusted."""
    ends_session: bool = False
    """Whether the goal ends a visitor's session, so that what a site shows without a login counts."""
    category: str = ""
    """``information``, ``navigation``, ``content``, ``unachievable``, or the author's own word."""
    tags: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    template: str = ""
    """Id of the template of which this is an instance; the task's own id if it has no template."""
    filling: Mapping[str, Any] = field(default_factory=dict)
    """Variables that created this instance from its template."""
    skip: str = ""
    """Reason for skipping; empty: the task runs."""
    xfail: str = ""
    """Reason for an expected failure; empty: the task is expected to pass."""
    known_issue: str = ""
    """Known fault of the task itself; empty: none. Reports show it, and the task still runs."""
    source: Mapping[str, Any] = field(default_factory=dict)
    """Origin of the task, for readers: plain JSON data such as suite, task and template number."""
    review: Review | None = None
    """Reviews of the task and their outcome; None: not recorded. They do not affect verdicts."""
    location: Location = field(default_factory=lambda: Location(path="", line=1))
    digest: str = ""
    """Hash of everything that decides a verdict, filling included. Tasks with equal digests are the same task."""

    @property
    def leased(self) -> tuple[str, ...]:
        """Sites that a trial needs: those of the task, and those that only its images are on."""
        return tuple(dict.fromkeys((*self.sites, *(image.site for image in self.images if image.site))))

    @property
    def reference_length(self) -> int | None:
        """Number of steps of a known solution: as its source states, else the length of `solution`. None: unknown."""
        for name in ("reference_length", "reference_task_length"):
            stated = self.source.get(name)
            if isinstance(stated, int) and not isinstance(stated, bool) and stated > 0:
                return stated
        return len(self.solution) if self.solution else None

    @property
    def every_check(self) -> tuple[Check, ...]:
        """Checks of all gradings; values are collected for all of them."""
        return (*self.checks, *(check for checks in self.gradings.values() for check in checks))
