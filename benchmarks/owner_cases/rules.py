"""What must come out of a trial that ends in an event, in words of its own, so that a fault in the rules is found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from tests.unit.trials.owner_events import ATTACKS, Result

Owned = Literal["error", "undecided", "failed"]
Ending = Literal["passed", "failed", "undecided", "error", "stopped", "left out"]
"""``stopped``: errors that are not the agent's end the run before the trial. ``left out``: undecided ones do."""

KNOWN = frozenset({
    "before_agent", "unreached_site", "yielded_site", "network_change", "judge_access", "uncounted_usage",
    "disk", "refused_setting",
})  # fmt: skip
"""Events that the agent cannot have caused."""
NOT_MET = frozenset({"too_large", "forged_verdict", "overdue"})
"""Events that fail a check."""
DOUBTFUL = frozenset({"judge_rejects", "model_access", "harness", "own_address"})
"""Events that may have another cause even if they recur with the agent's actions."""
RETRIED = frozenset({
    "before_agent", "site", "unread_site", "unanswered_write", "renderer", "unusable_page", "browser",
    "network_change", "model", "model_access",
})  # fmt: skip
"""Events of sites, browsers and models after which the second attempt of the benchmark's trials works. A refused
request would be refused again, and the sites that do not start and the shared browser fail each time."""


def expected(event: str, result: Result) -> Owned:
    """The outcome that an event must have if its control has this result."""
    if event in ATTACKS:
        return "failed" if event == "coin, twice" else "undecided"
    if result is None:
        return "error" if event in KNOWN else "failed" if event in NOT_MET else "undecided"
    if result == "fails" or (event, result) == ("shared_browser", "works"):
        return "error"
    return "failed" if result == "recurs" and event not in DOUBTFUL else "undecided"


def retried(event: str, result: Result) -> Ending:
    """The outcome with one retry, if later attempts answer rightly: only an error buys another attempt."""
    found = expected(event, result)
    if found == "error" and (event in RETRIED or (event, result) == ("shared_browser", "works")):
        return "failed" if event == "unanswered_write" else "passed"  # the second attempt writes nothing
    return found


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Numbers of an agent's trials by how they must have ended, and what follows from them."""

    passed: int = 0
    failed: int = 0
    undecided: int = 0
    error: int = 0
    stopped: int = 0
    left_out: int = 0
    """Undecided trials without a record."""

    @classmethod
    def of(cls, endings: Iterable[Ending]) -> Figures:
        """Count ``endings``."""
        found = list(endings)
        return cls(
            passed=found.count("passed"), failed=found.count("failed"),
            undecided=found.count("undecided") + found.count("left out"),
            error=found.count("error"), stopped=found.count("stopped"), left_out=found.count("left out"),
        )  # fmt: skip

    @property
    def recorded(self) -> Figures:
        """The numbers of trials with records, which lists of trials have."""
        return replace(self, undecided=self.undecided - self.left_out, left_out=0, stopped=0)

    @property
    def judged(self) -> int:
        """Trials that are in the rate: whatever the agent may have caused is."""
        return self.passed + self.failed + self.undecided

    @property
    def excluded(self) -> int:
        """Trials that are not in the rate."""
        return self.error + self.stopped

    @property
    def trials(self) -> int:
        """All planned trials."""
        return self.judged + self.excluded

    @property
    def count(self) -> str:
        """Passed and judged trials, in the notation of the reports."""
        return self._count(self.judged)

    @property
    def count_of_all(self) -> str:
        """The same with errors as failures."""
        return self._count(self.trials)

    def _count(self, of: int) -> str:
        upper = f"–{self.passed + self.undecided}" if self.undecided else ""
        return f"{self.passed}{upper}/{of}"

    @property
    def rate(self) -> str:
        """The success rate."""
        return f"{self.passed / self.judged:.1%}"

    @property
    def rate_of_all(self) -> str:
        """The success rate with errors as failures."""
        return f"{self.passed / self.trials:.1%}"

    @property
    def rate_if_met(self) -> str:
        """The success rate if the undecided trials had passed."""
        return f"{(self.passed + self.undecided) / self.judged:.1%}"

    @property
    def bounds(self) -> str:
        """The rate if what is excluded had failed, and had passed."""
        return f"{self.passed / self.trials:.1%} to {(self.passed + self.excluded) / self.trials:.1%}"
