"""The outcome of a trial as every report names it: pytest's properties, JUnit, Allure, GitHub and the pages."""

from __future__ import annotations

from typing import Literal, NamedTuple

from pytest_webarena.owners import UNATTRIBUTED
from pytest_webarena.results.records import TrialRecord, is_for_people
from pytest_webarena.results.wording import CAUSE_WORDS

__all__ = ["Kind", "TrialOutcome", "reported_outcome"]

Kind = Literal["passed", "failed", "undecided", "error"]

_PLAIN = ("answered", "rules")
"""Details of the usual case, which words omit."""


class TrialOutcome(NamedTuple):
    """A trial's outcome with its detail, in the forms that reports use."""

    kind: Kind
    detail: str = ""
    """The attempt that passed if it was not the first, the stop reason of a failure, the cause of an error. Of an
    undecided trial: ``rules`` (a judge model could decide), ``people``, or a stop reason (`owners.UNATTRIBUTED`)."""

    @property
    def label(self) -> str:
        """The outcome to search and group by, always with its detail.

        >>> TrialOutcome("failed", "answered").label, TrialOutcome("error", "site").label
        ('failed: answered', 'error: site')
        """
        return f"{self.kind}: {self.detail}" if self.detail else self.kind

    @property
    def words(self) -> str:
        """The outcome for people.

        >>> TrialOutcome("failed", "answered").words, TrialOutcome("failed", "max_steps").words
        ('failed', 'failed (max_steps)')
        >>> TrialOutcome("passed", "attempt 2").words
        'passed on attempt 2'
        """
        if self.detail in ("", *_PLAIN):
            return self.kind
        return f"{self.kind} on {self.detail}" if self.kind == "passed" else f"{self.kind} ({self.detail})"

    @property
    def fault(self) -> str:
        """Whose fault it is that the trial did not pass, for people; empty for a passed one.

        >>> TrialOutcome("failed", "max_steps").fault, TrialOutcome("error", "site").fault
        ('the agent', 'not the agent: a site failed')
        """
        if self.kind == "error":
            return f"not the agent: {CAUSE_WORDS.get(self.detail, self.detail)}"
        return {"failed": "the agent", "undecided": "undecided"}.get(self.kind, "")


def reported_outcome(record: TrialRecord) -> TrialOutcome:
    """Return the outcome of a trial. Whether it is undecided is decided here for all reports, as in the rates."""
    if record.undecided:
        if record.stop_reason == UNATTRIBUTED:
            return TrialOutcome("undecided", UNATTRIBUTED)
        return TrialOutcome("undecided", "people" if is_for_people(record) else "rules")
    if record.outcome == "failed":
        return TrialOutcome("failed", record.stop_reason or "")
    if record.outcome == "error":
        return TrialOutcome("error", record.cause or "")
    return TrialOutcome("passed", f"attempt {record.attempt}" if record.attempt > 1 else "")
