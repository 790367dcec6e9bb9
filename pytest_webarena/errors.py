"""Every error that leaves this package.

::

    WebArenaError                 something the user should read; ``str()`` is the whole message
    ├── UsageError                a bad option, an unknown name, a missing file
    ├── Unready                   what an agent's trials need is not there: none of them is begun
    ├── TaskFileError             a task file that can't be used; lists every problem found
    └── TrialError                the trial could not be carried out; ``cause`` says whose fault it is
        ├── SiteError             cause "site": provisioning, reset, crash, query
        │   ├── SiteMissing       the site is not on this machine: its tasks are skipped, not failed
        │   ├── SiteUnready       what runs the site lacks something to do it with: none of its trials is begun
        │   ├── SiteBlocked       cause "blocked": a live site turned its visitor away
        │   ├── SiteRestless      its page never stops writing
        │   └── SiteBusy          its database is locked, and may soon be free
        ├── BrowserError          cause "browser": launch, crash, protocol
        │   └── BrowserLost       it was shared with other trials, and all of them have lost it
        ├── ModelError            cause "model": the model endpoint
        │   ├── BudgetError       the run's budget for it was spent before the trial began
        │   └── DeclaredError     an agent says so of its own model: nobody else has seen it
        ├── AgentError            cause "agent": the agent raised, hung or broke its protocol
        │   └── AgentAbsent       nobody takes the task at the agent's address
        ├── JudgeError            cause "judge": a judge could not reach a verdict
        ├── TaskError             cause "task": set-up steps or checks that can't work
        │   └── TooLarge          what a check looks at is more than can be judged
        └── HarnessError          cause "harness": a fault of this package
            └── RecordingError    the run's records can't be written: a full disk, a directory that is gone
    TaskFileWarning(UserWarning)  a task file is read, and something in it may be a mistake
    TaskFailed(AssertionError)    the agent ran, the checks said no: a failed test, never an error

A wrong answer is `TaskFailed`; everything else is a `WebArenaError`. Reports rely on that split.

>>> try:
...     raise SiteError("shopping did not answer")
... except TrialError as error:
...     print(error.cause, error)
site shopping did not answer
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

if TYPE_CHECKING:
    from pytest_webarena.evidence.usage import Usage

__all__ = [
    "AgentAbsent",
    "AgentError",
    "BrowserError",
    "BrowserLost",
    "BudgetError",
    "Cause",
    "DeclaredError",
    "HarnessError",
    "JudgeError",
    "ModelError",
    "Problem",
    "RecordingError",
    "Shortfall",
    "SiteAbsent",
    "SiteBlocked",
    "SiteBusy",
    "SiteError",
    "SiteMissing",
    "SiteRestless",
    "SiteUnreached",
    "SiteUnready",
    "SiteYielded",
    "TaskError",
    "TaskFailed",
    "TaskFileError",
    "TaskFileWarning",
    "TooLarge",
    "TrialError",
    "Unready",
    "UsageError",
    "WebArenaError",
    "closest",
    "error_of",
    "recording",
    "unwritten",
    "writing",
]

Cause = Literal["site", "blocked", "browser", "model", "agent", "judge", "task", "harness"]

Shortfall = Literal["", "declared", "budget", "untold", "lacking", "hindered"]
"""Why a gate counts an error as a trial not passed: the agent itself ``declared`` it, its money (the run's
``budget``) was spent before, it has left ``untold`` what it used, which a check asks for, it went where an archived
site is ``lacking``, or where a live one turned it away or could not be had (``hindered``). What an agent says of
itself, or chooses to visit, must never make its rate better."""


class WebArenaError(Exception):
    """Root of the tree. The message says what was expected, what was seen and what to do."""


class UsageError(WebArenaError):
    """The command line, the configuration or a name in it can't be used."""


class Unready(WebArenaError):
    """What all trials of an agent need was tried before the first one, and is not there. ``cause``: what it is."""

    def __init__(self, message: str, *, cause: Cause = "harness") -> None:
        self.cause = cause
        super().__init__(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One defect of a task file, anchored in its text (lines and columns count from 1)."""

    path: str
    line: int
    column: int
    expected: str
    found: str
    hint: str = ""

    def __str__(self) -> str:
        text = f"{self.path}:{self.line}:{self.column}: expected {self.expected}, found {self.found}"
        return f"{text} ({self.hint})" if self.hint else text


class TaskFileError(WebArenaError):
    """All problems of one or more task files, one line each, in file order."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class TaskFileWarning(UserWarning):
    """Something in a task file that may be a mistake."""


class TrialError(WebArenaError):
    """The trial could not be carried out or judged. Reported as an error, never as a failed task."""

    cause: ClassVar[Cause] = "harness"
    again: ClassVar[bool] = True
    """Whether another attempt could end better."""
    shortfall: ClassVar[Shortfall] = ""
    usage: Usage | None = None
    """What the step that it broke off had used of models, where that is known; no record of a step has it."""


class SiteError(TrialError):
    """A site could not be provisioned, reset, reached or queried."""

    cause: ClassVar[Cause] = "site"


class SiteMissing(SiteError):
    """What a site needs is not there: its image, an engine. Its tasks are skipped with this text as the reason."""

    again = False


class SiteUnready(SiteError):
    """What would run a site lacks something that a command brings: a package, a program. Another start would meet the
    same, and so would every trial there."""

    again = False


class SiteUnreached(SiteError):
    """A site in reach that the task does not list could not be had when it was visited: it did not start, or two trials
    waited for each other's. Never the agent's doing."""


class SiteYielded(SiteUnreached):
    """Two trials waited for each other's sites, and this one gave way. Nothing is broken: its next attempt begins with
    all that it had visited, so it gives way at most once for each site in reach."""


class SiteAbsent(SiteUnreached):
    """What such a site needs is not on this machine: another attempt would meet the same."""

    again = False


class SiteBlocked(SiteError):
    """A live site turned its visitor away: a captcha, a status for robots, another region's site."""

    cause = "blocked"
    again = False


class SiteRestless(SiteError):
    """A page kept writing by itself, so nobody knows whether what the agent has set off is over. Nobody is blamed, and
    another attempt would meet the same."""

    again = False


class SiteBusy(SiteError):
    """The app is at work in its database, which nobody else can use meanwhile: asked again later, it may answer."""


class BrowserError(TrialError):
    """The browser could not be found or started, crashed, or stopped answering."""

    cause = "browser"


class BrowserLost(BrowserError):
    """A browser that several trials share went down with all of them: it need not have been this one's doing."""


class ModelError(TrialError):
    """A model endpoint kept failing after the bounded retries."""

    cause = "model"


class BudgetError(ModelError):
    """The run's budget for model calls was spent before the trial could begin."""

    again = False
    shortfall = "budget"


class DeclaredError(ModelError):
    """The agent said that its model can't be had. It may be so; nobody else has seen it."""

    shortfall = "declared"


class AgentError(TrialError):
    """The agent raised, hung or broke its protocol."""

    cause = "agent"


class AgentAbsent(AgentError):
    """Nobody listens where the agent should take its task: being away is the agent's own doing, or looks like it."""

    shortfall = "declared"


class JudgeError(TrialError):
    """A judge could not reach a verdict. Never a pass, never a fail."""

    cause = "judge"


class TaskError(TrialError):
    """The task itself can't be carried out: a set-up step, a selector or a query is wrong."""

    cause = "task"


class TooLarge(TaskError):
    """What a check looks at has grown beyond what can be judged. Where it was not so from the start, the agent has
    made it so: what a check gathers then is counted against it."""


class HarnessError(TrialError):
    """A fault of pytest-webarena. Please report it."""

    cause = "harness"


class RecordingError(HarnessError):
    """What the run wants to keep can't be written: a full disk, a directory that is gone or not ours."""

    again = False


@contextmanager
def recording(path: Path) -> Iterator[None]:
    """Make a sentence of what keeps records from being written: `RecordingError`. ``path``: what was to be written."""
    try:
        yield
    except OSError as error:
        raise unwritten(path, error.strerror or str(error)) from error


@contextmanager
def writing(path: Path, option: str = "") -> Iterator[None]:
    """Make a sentence of what keeps a file from being written that somebody asked for: `UsageError`. ``option``: the
    one that named it."""
    try:
        yield
    except OSError as error:
        named = f"{option} {path}" if option else str(path)
        raise UsageError(f"{named}: expected a place for a file, found: {error.strerror or error}") from None


def unwritten(path: Path, why: str) -> RecordingError:
    """Which file it is that can't be written, why, and what to do."""
    return RecordingError(
        f"expected to write {path}, found: {why}. Make room or access there, then go on with --resume"
    )


def error_of(cause: Cause, message: str) -> TrialError:
    """The error that has this cause."""
    kinds: tuple[type[TrialError], ...] = (
        SiteError,
        SiteBlocked,
        BrowserError,
        ModelError,
        AgentError,
        JudgeError,
        TaskError,
    )
    return next((kind for kind in kinds if kind.cause == cause), HarnessError)(message)


class TaskFailed(AssertionError):
    """The trial ended and its checks did not hold. ``str()`` is the verdict as shown by pytest."""


def closest(name: str, known: Iterable[str]) -> str:
    """A sentence naming the known names and the nearest one, for "unknown name" messages.

    >>> closest("orakel", ["null", "oracle"])
    "did you mean 'oracle'? known: null, oracle"
    """
    import difflib  # dear for what every pytest session loads

    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    listing = f"known: {', '.join(names)}" if names else "none are known"
    return f"did you mean {near[0]!r}? {listing}" if near else listing
