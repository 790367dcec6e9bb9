"""Books what agents spend that make their model calls themselves, so that the run's budget holds for them, too."""

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
    """One trial's entries in the run's account. Agents that tell of no usage leave none.

    Their calls can't be kept from being made, only counted afterwards: what comes after the last money is refused.
    """

    def __init__(self, settings: ModelSettings, calls: Path, *, trial: str, model: str, worker: str) -> None:
        self._settings = settings
        self._path = calls
        self._trial = trial
        self._model = model
        self._worker = worker

    def check(self) -> None:
        """`BudgetError` when there is no money left for an agent that is known to spend some."""
        if self._settings.max_cost is None or not (self._path.is_file() or stand_in("model_calls", self._path)):
            return
        calls = self._calls()
        if (told := calls.exhausted()) and any(line.model == self._model for line in calls.lines()):
            raise budget_error(BudgetSpent(told))

    def spend(self, usage: Usage) -> Ending | None:
        """Book what the agent tells; whether that was the last money.

        More than the run's whole budget at once is no price of a step. Nobody can say how much was really spent, so all
        of it is booked, and the trial counts as that of an agent that crashed.
        """
        calls = self._calls()
        calls.book(trial=self._trial, model=self._model, usage=usage, now=time.time())
        limit = self._settings.max_cost
        if limit is not None and usage.cost is not None and usage.cost > limit:
            said = (
                f"it reported a cost of ${usage.cost:,.4f} at once, and the whole run may cost ${limit:g} (--max-cost)"
            )
            return Ending("agent_crash", said)
        told = calls.exhausted()
        return Ending("cost", f"the run's budget for model calls: {told}") if told else None

    def _calls(self) -> ModelCalls:
        return open_model_calls(self._path, worker=self._worker, max_cost=self._settings.max_cost)
