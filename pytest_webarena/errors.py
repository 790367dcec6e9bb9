"""Every error that leaves this package.

::

    WebArenaError                 an error for the user; ``str()`` is the whole message
    ├── UsageError                a bad option, an unknown name, a missing file
    │   └── RunChanged            conditions of a run were changed after it
    ├── Unready                   a prerequisite of an agent's trials is missing: none of them starts
    ├── TaskFileError             a task file that can't be used; lists every problem found
    └── TrialError                the trial could not be carried out; ``cause`` says whose fault it is
        ├── SiteError             cause "site": provisioning, reset, crash, query
        │   ├── SiteMissing       the site is not on this machine: its tasks are skipped, not failed
        │   ├── SiteUnready       a package or program that runs the site is missing: none of its trials starts
        │   ├── SiteBlocked       cause "blocked": a live site turned its visitor away
        │   ├── SiteRestless      its page never stops writing
        │   ├── SiteUnanswered    it did not answer a write
        │   ├── SiteKeepsAddress  its pages work at its own address only
        │   └── SiteBusy          its database is locked, and may soon be free
        ├── BrowserError          cause "browser": launch, crash, protocol
        │   ├── BrowserLost       a browser that several trials shared crashed
        │   ├── NetworkChanged    the machine's network changed
        │   └── PageUnusable      a page does not answer
        ├── ModelError            cause "model": the model endpoint
        │   ├── BudgetError       the run's model budget was spent before the trial began
        │   └── DeclaredError     the agent reports that its model failed; nothing confirms it
        ├── AgentError            cause "agent": the agent raised, hung or broke its protocol
        │   └── AgentAbsent       nothing listens at the agent's address
        ├── JudgeError            cause "judge": a judge could not reach a verdict
        ├── TaskError             cause "task": set-up steps or checks that can't work
        │   └── TooLarge          what a check reads is larger than can be judged
        └── HarnessError          cause "harness": a fault of this package
            └── RecordingError    the run's records can't be written: a full disk, a missing directory
    TaskFileWarning(UserWarning)  a task file was read, and something in it may be a mistake
    TaskFailed(AssertionError)    the agent ran and the checks failed: a failed test, never an error

A wrong answer is `TaskFailed`; everything else is a `WebArenaError`. Reports rely on that split.

>>> try:
...     raise SiteError("shopping did not answer")
... except TrialError as error:
...     print(error.cause, error)
site shopping did not answer
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

if TYPE_CHECKING:
    from pytest_webarena.evidence import StepRecord
    from pytest_webarena.evidence.usage import Usage

__all__ = [
    "AgentAbsent",
    "AgentError",
    "BrowserError",
    "BrowserLost",
    "BudgetError",
    "Cause",
    "ControlResult",
    "DeclaredError",
    "HarnessError",
    "JudgeError",
    "ModelError",
    "NetworkChanged",
    "PageUnusable",
    "Problem",
    "RecordingError",
    "RunChanged",
    "SiteAbsent",
    "SiteBlocked",
    "SiteBusy",
    "SiteError",
    "SiteKeepsAddress",
    "SiteMissing",
    "SiteRestless",
    "SiteUnanswered",
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

ControlResult = Literal["fails", "recurs", "works", "address", "impossible"]
"""Result of the control of an error:

- ``fails``: the error occurs without the agent's actions, too.
- ``recurs``: it does not, and the agent's actions cause it again.
- ``works``: it does not, and the agent's actions did not cause it again.
- ``address``: opening the agent's last pages causes it, without its other actions.
- ``impossible``: there is no control.
"""


class WebArenaError(Exception):
    """Root of the tree. The message says what was expected, what was seen and what to do."""


class UsageError(WebArenaError):
    """The command line, the configuration or a name in it can't be used."""


class RunChanged(UsageError):
    """A file with a run's conditions was changed or damaged after it was written, so no figure can be trusted."""


class Unready(WebArenaError):
    """A prerequisite of all trials of an agent was tested before the first one and is missing. ``cause`` names its
    part."""

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

    cause: Cause = "harness"
    event: str = ""
    """Name of its row in `owners.EVENTS`; empty: the row of its cause."""
    control: Callable[[], ControlResult] | None = None
    """Runs the event's control, where only the raiser can; None elsewhere."""
    again: ClassVar[bool] = True
    """Whether another attempt could succeed."""
    usage: Usage | None = None
    """Model usage of the interrupted step, if it is known; no record of a step contains it."""
    interrupted: StepRecord | None = None
    """The step whose action was running, if one was; no record of the trial contains it."""


class SiteError(TrialError):
    """A site could not be provisioned, reset, reached or queried."""

    cause: Cause = "site"


class SiteMissing(SiteError):
    """Something that a site needs is missing, such as its image or an engine. Its tasks are skipped with this
    message."""

    again = False


class SiteUnready(SiteError):
    """A package or program that would run a site is missing and can be installed. Another start, and every other trial
    of the site, would fail in the same way."""

    again = False


class SiteUnreached(SiteError):
    """A site that is reachable but not listed by the task was not available when it was visited: it did not start, or
    two trials waited for each other's sites. It is never the agent's fault."""

    event = "unreached_site"


class SiteYielded(SiteUnreached):
    """Two trials waited for each other's sites, and this one gave way. Nothing is broken: its next attempt begins with
    all sites that it had visited, so it gives way at most once for each reachable site."""

    event = "yielded_site"


class SiteAbsent(SiteUnreached):
    """Something that a reachable, unlisted site needs is not on this machine; another attempt would fail in the same
    way."""

    again = False


class SiteBlocked(SiteError):
    """A live site turned its visitor away: a captcha, a status for robots, a redirect to another region's site."""

    event = "live_site"
    cause: Cause = "blocked"
    again = False


class SiteRestless(SiteError):
    """A page kept writing without a visitor's action, so the end of the agent's own writes can't be determined. Another
    attempt would fail in the same way."""

    event = "endless_writes"
    again = False


class SiteUnanswered(SiteError):
    """A site did not answer a request that may have changed it, so its state is unknown."""

    event = "unanswered_write"


class SiteKeepsAddress(SiteError):
    """A page of a hosted site works at the site's own address only (`keep_address`). Another attempt would fail in the
    same way."""

    event = "own_address"
    again = False


class SiteBusy(SiteError):
    """The app holds a lock on its database; a later query may succeed."""


class BrowserError(TrialError):
    """The browser could not be found or started, crashed, or stopped answering."""

    cause: Cause = "browser"


class BrowserLost(BrowserError):
    """A browser that several trials share crashed with all of them; this trial need not be the cause."""

    event = "shared_browser"


class NetworkChanged(BrowserError):
    """The browser aborted requests because the network of this machine changed."""

    event = "network_change"


class PageUnusable(BrowserError):
    """A page does not answer, or its process crashed."""

    event = "unusable_page"


class ModelError(TrialError):
    """A model endpoint kept failing after the bounded retries."""

    cause: Cause = "model"
    spent: bool = False
    """Whether a quota or rate is used up, to which everybody who uses the endpoint contributes."""


class BudgetError(ModelError):
    """The run's budget for model calls was spent before the trial could begin."""

    event = "budget"
    again = False


class DeclaredError(ModelError):
    """The agent reported that its model is not available. Nothing else confirms it."""

    event = "declared"


class AgentError(TrialError):
    """The agent raised, hung or broke its protocol."""

    cause: Cause = "agent"


class AgentAbsent(AgentError):
    """Nothing listens at the address where the agent should take its task. An absence by choice looks the same."""

    event = "absent"


class JudgeError(TrialError):
    """A judge could not reach a verdict. Never a pass, never a fail."""

    cause: Cause = "judge"


class TaskError(TrialError):
    """The task itself can't be carried out: a set-up step, a selector or a query is wrong."""

    cause: Cause = "task"


class TooLarge(TaskError):
    """What a check reads has grown beyond what can be judged. If it was smaller at the start, the agent made it grow,
    and what the check collected counts against the agent."""


class HarnessError(TrialError):
    """A fault of pytest-webarena. Please report it."""

    cause: Cause = "harness"


class RecordingError(HarnessError):
    """The run's records can't be written: a full disk, or a directory that is missing or not writable."""

    event = "disk"
    again = False


_REMOVED = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY})


@contextmanager
def recording(path: Path) -> Iterator[None]:
    """Turn an `OSError` while writing the records at ``path`` into a `RecordingError`."""
    try:
        yield
    except OSError as error:
        failure = unwritten(path, error.strerror or str(error))
        if error.errno in _REMOVED:
            failure.event = "harness"  # somebody has removed or replaced it, perhaps the agent
        raise failure from error


@contextmanager
def writing(path: Path, option: str = "") -> Iterator[None]:
    """Turn an `OSError` while writing a file that the user requested into a `UsageError`. ``option`` is the option that
    named the file."""
    try:
        yield
    except OSError as error:
        named = f"{option} {path}" if option else str(path)
        raise UsageError(f"{named}: expected a place for a file, found: {error.strerror or error}") from None


def unwritten(path: Path, why: str) -> RecordingError:
    """Returns the error that names the file, the reason and the remedy."""
    return RecordingError(
        f"expected to write {path}, found: {why}. Free disk space or grant access, then continue with --resume"
    )


def error_of(cause: Cause, message: str) -> TrialError:
    """Returns the error whose class has this cause."""
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
    """The trial ended and its checks failed. ``str()`` is the verdict as shown by pytest."""


def closest(name: str, known: Iterable[str]) -> str:
    """A sentence naming the known names and the nearest one, for "unknown name" messages.

    >>> closest("orakel", ["null", "oracle"])
    "did you mean 'oracle'? known: null, oracle"
    """
    import difflib  # importing it is slow, and every pytest session loads this module

    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    listing = f"known: {', '.join(names)}" if names else "none are known"
    return f"did you mean {near[0]!r}? {listing}" if near else listing
