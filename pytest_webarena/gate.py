"""Turns a run's figures into an exit code, so that CI can gate an agent that passes only some tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_webarena.results import Summary

__all__ = ["BELOW_THRESHOLD", "NOT_VALID", "TOO_MANY_ERRORS", "Gate", "Ruling"]

BELOW_THRESHOLD = 10
"""Exit code: an agent's success rate is below ``--min-pass-rate``."""
TOO_MANY_ERRORS = 11
"""Exit code: more errors than ``--max-errors`` allows, so the rate can't be trusted. Stronger than the other."""
NOT_VALID = 12
"""Exit code: ``--audit`` found a task that is not valid."""


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
    """A share of the trials below 1, a number of trials from 1 on; 0 allows none."""

    def rule(self, summaries: Mapping[str, Summary]) -> Ruling | None:
        """None when nothing was asked. Every agent has to hold both thresholds."""
        if self.min_pass_rate is None and self.max_errors is None:
            return None
        if not summaries:
            return Ruling(
                exit_code=TOO_MANY_ERRORS, message="no trial was run, so there is no rate to hold a threshold"
            )
        for agent, summary in summaries.items():
            errors, trials = summary.rate.errors, summary.rate.judged + summary.rate.errors
            if self.max_errors is not None and errors > self._allowed(trials):
                return Ruling(
                    exit_code=TOO_MANY_ERRORS,
                    message=f"{agent}: {errors} of {trials} trials erred, --max-errors allows {self.max_errors:g}",
                )
            if summary.rate.value is None:
                return Ruling(exit_code=TOO_MANY_ERRORS, message=f"{agent}: none of {trials} trials could be judged")
        if self.min_pass_rate is not None:
            for agent, summary in summaries.items():
                value = summary.rate.value
                if value is not None and value < self.min_pass_rate:
                    return Ruling(
                        exit_code=BELOW_THRESHOLD,
                        message=f"{agent}: {value:.1%} passed, --min-pass-rate asks for {self.min_pass_rate:.1%}",
                    )
        return Ruling(exit_code=0, message="the thresholds hold")

    def _allowed(self, trials: int) -> float:
        assert self.max_errors is not None  # asked by the caller
        return self.max_errors * trials if self.max_errors < 1 else self.max_errors
