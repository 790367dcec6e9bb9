"""Records the spending of agents that make their model calls themselves, so that the run's budget applies to them,
too."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_webarena.llm.client import BudgetSpent, budget_error
from pytest_webarena.llm.model_calls import ModelCalls, open_model_calls
from pytest_webarena.rpc_proxies import stand_in
from pytest_webarena.trials.episode import Ending

if TYPE_CHECKING:
    from pytest_webarena.evidence import Usage
    from pytest_webarena.llm.config import ModelSettings

__all__ = ["ExternalSpending"]


class ExternalSpending:
    """One trial's entries in the run's account. Agents that report no usage leave none.

    The harness cannot prevent the calls of such agents, only count them afterwards. Once the budget is spent, it starts
    no further trials of them.
    """

    def __init__(self, settings: ModelSettings, calls: Path, *, trial: str, model: str, worker: str) -> None:
        self._settings = settings
        self._path = calls
        self._trial = trial
        self._model = model
        self._worker = worker

    def check(self) -> None:
        """Raise `BudgetError` when the budget is spent and the agent is known to spend money."""
        if self._settings.max_cost is None or not (self._path.is_file() or stand_in("model_calls", self._path)):
            return
        calls = self._calls()
        if (reason := calls.exhausted()) and any(line.model == self._model for line in calls.lines()):
            raise budget_error(BudgetSpent(reason))

    def spend(self, usage: Usage) -> Ending | None:
        """Record what the agent reports; return an ending if the budget is spent.

        A single report above the run's whole budget is implausible. Because the real amount is unknown, all of it is
        recorded, and the trial counts as that of an agent that crashed.
        """
        calls = self._calls()
        calls.book(trial=self._trial, model=self._model, usage=usage, now=time.time())
        limit = self._settings.max_cost
        if limit is not None and usage.cost is not None and usage.cost > limit:
            detail = (
                f"it reported a cost of ${usage.cost:,.4f} at once, and the whole run may cost ${limit:g} (--max-cost)"
            )
            return Ending("agent_crash", detail)
        reason = calls.exhausted()
        return Ending("cost", f"the run's budget for model calls: {reason}") if reason else None

    def _calls(self) -> ModelCalls:
        return open_model_calls(self._path, worker=self._worker, max_cost=self._settings.max_cost)
