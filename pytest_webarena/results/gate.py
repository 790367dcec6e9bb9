"""Turns a run's figures into an exit code, so that CI can gate an agent that passes only some tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_webarena.results.wording import shortfall_words

if TYPE_CHECKING:
    from pytest_webarena.results import Summary
    from pytest_webarena.results.plan import Coverage

__all__ = ["BELOW_THRESHOLD", "NOT_VALID", "STOPPED_EARLY", "TOO_MANY_ERRORS", "Gate", "Ruling"]

BELOW_THRESHOLD = 10
"""Exit code: an agent's success rate is below ``--min-pass-rate``."""
TOO_MANY_ERRORS = 11
"""Exit code: more errors than ``--max-errors`` allows, so the rate can't be trusted. Stronger than the other."""
NOT_VALID = 12
"""Exit code: ``--audit`` found a task that is not valid."""
STOPPED_EARLY = 13
"""Exit code: an agent or a site was stopped, so trials are missing that ``--resume`` would run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What the gate says of a run."""

    exit_code: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The thresholds; None leaves a question out."""

    min_pass_rate: float | None = None
    """In [0, 1]."""
    max_errors: float | None = None
    """A share of the trials below 1, a number of trials from 1 on; 0 allows none, and so does a rate without it."""

    allow_skipped: tuple[str, ...] = ()
    """Names of sites and tasks whose trials may be skipped."""

    def rule(
        self,
        summaries: Mapping[str, Summary],
        coverages: Mapping[str, Coverage] | None = None,
        *,
        uncollected: int = 0,
    ) -> Ruling | None:
        """None when nothing was asked. Every agent has to hold both thresholds, in every browser.

        ``coverages`` say what became of the planned trials, by the same names as the summaries: one without a record
        counts as an error does, and where no errors are allowed for, there may be none. Errors that are the agent's own
        word, trials that it had no money left for, and those that were not run because the same error had come too
        often, count as not passed besides. ``uncollected`` is the number of
        files and the like that could not be collected: nobody knows what they would have planned.
        """
        if self.min_pass_rate is None and self.max_errors is None:
            return None
        if uncollected:
            told = f"{uncollected} collection error{'s' * (uncollected != 1)}: nobody knows how many trials are missing"
            return Ruling(exit_code=TOO_MANY_ERRORS, message=told)
        coverages = coverages or {}
        if not summaries and not any(each.missing for each in coverages.values()):
            return Ruling(
                exit_code=TOO_MANY_ERRORS, message="no trial was run, so there is no rate to hold a threshold"
            )
        for agent in dict.fromkeys((*summaries, *coverages)):
            if (problem := self._untrusted(agent, summaries.get(agent), coverages.get(agent))) is not None:
                return Ruling(exit_code=TOO_MANY_ERRORS, message=problem)
        if self.min_pass_rate is not None:
            for agent, summary in summaries.items():
                stopped = coverages[agent].stopped if agent in coverages else 0
                short = sum(summary.shortfalls.values()) + stopped
                value = summary.rate.passed / (summary.rate.judged + short) if summary.rate.judged else None
                if value is not None and value < self.min_pass_rate:
                    message = f"{agent}: {value:.1%} passed, --min-pass-rate asks for {self.min_pass_rate:.1%}"
                    if short:
                        words = [shortfall_words(summary.shortfalls)] * bool(summary.shortfalls)
                        words += [f"{stopped} not run after errors in a row"] * bool(stopped)
                        message += f" (counted as not passed: {', '.join(words)})"
                    if summary.rerun_passed:
                        message += f" (first verdicts count: {summary.rerun_passed} failed and passed when run again)"
                    return Ruling(exit_code=BELOW_THRESHOLD, message=message)
        return Ruling(exit_code=0, message="the thresholds hold")

    def _untrusted(self, agent: str, summary: Summary | None, coverage: Coverage | None) -> str | None:
        """Why the agent's rate can't be trusted; None when it can."""
        errors, judged = (summary.rate.errors, summary.rate.judged) if summary is not None else (0, 0)
        # A lost trial may have a record, an error that was written for it, and is then among the errors already.
        missing = coverage.missing if coverage is not None else 0
        erred = coverage.errors + coverage.declared if coverage is not None else errors
        declared = summary.shortfalls.get("declared", 0) if summary is not None else 0
        own = f", {declared} of them declared by the agent itself" if declared else ""
        trials = coverage.planned - coverage.allowed if coverage is not None else judged + errors
        lacking = f"{agent}: {missing} of {trials} planned trials have no result ({_missing(coverage)})"
        limit = self.max_errors or 0.0
        if erred + missing > (limit * trials if limit < 1 else limit):
            asked = f", --max-errors allows {limit:g}" if self.max_errors is not None else ""
            if not asked and erred:
                asked = "; without --max-errors there may be none"
            if not missing:
                return f"{agent}: {erred} of {trials} trials erred{own}{asked}"
            return f"{lacking}{f' and {erred} erred{own}' if erred else ''}{asked}{_way_out(coverage)}"
        if not judged and (coverage is None or trials):
            return f"{agent}: none of {trials} trials could be judged"
        return None


def _missing(coverage: Coverage | None) -> str:
    if coverage is None:
        return ""
    parts = {"skipped": coverage.skipped, "not run": coverage.not_run, "lost": coverage.lost}
    return ", ".join(f"{count} {name}" for name, count in parts.items() if count)


def _way_out(coverage: Coverage | None) -> str:
    """How skipped trials are left out of account, where there are any."""
    if coverage is None or not coverage.not_allowed:
        return ""
    return f"; --allow-skipped={coverage.not_allowed[0]} leaves those of {coverage.not_allowed[0]} out of account"
