"""``--stop-when-settled``: orders trials in pairs of the agents, and skips the rest once the question is settled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.agents.registry import agent_id
from pytest_webarena.plugin.items import TaskItem
from pytest_webarena.plugin.stash import SEQUENTIAL_STOP, SETTINGS
from pytest_webarena.results.comparing.sequential import Watch
from pytest_webarena.results.comparing.uncertainty import bounds, difference_bounds, reversible
from pytest_webarena.results.comparing.wording import points

if TYPE_CHECKING:
    from pytest_webarena.results import RunDir, TrialKey
    from pytest_webarena.results.records import Outcome

__all__ = ["SequentialStop", "prepare"]


@dataclass(slots=True)
class SequentialStop:
    """Results of two agents' trials so far, template by template in the order of their items.

    Only records on disk count, and only templates whose trials have all finished, up to the first one with an open
    trial. So all workers come to the same decision, and it does not depend on which trials end early. A decision that
    undecided trials or errors could reverse is not made, and the run continues.
    """

    agents: tuple[str, str]
    """The agents' ids; the question is whether the second is better than the first."""
    order: Sequence[Sequence[TrialKey]]
    """The trials of each template."""
    watch: Watch
    _bounds: tuple[list[tuple[float, float]], list[tuple[float, float]]] = field(default_factory=lambda: ([], []))
    """Each agent's rates of its tasks if undecided trials and errors had failed, and had passed."""
    _next: int = 0
    _why: str = field(default="")

    def stop_reason_of(self, run: RunDir) -> str:
        """Return why no further trial is needed; empty while the question is open."""
        while not self._why and self._next < len(self.order):
            outcomes: dict[str, dict[str, list[Outcome]]] = {}
            for key in self.order[self._next]:
                record = run.folder(key).record()
                if record is None:
                    return ""
                outcome = "error" if record.undecided else record.outcome  # unknown in both directions
                outcomes.setdefault(key.task, {}).setdefault(key.agent, []).append(outcome)
            self._next += 1
            differences = []
            for by_agent in outcomes.values():
                counts = [_counts(by_agent.get(agent, ())) for agent in self.agents]
                for agent, (passed, judged, errors) in enumerate(counts):
                    self._bounds[agent].append(bounds(passed, judged, errors))
                if all(judged for _, judged, _ in counts):
                    first, second = (passed / judged for passed, judged, _ in counts)
                    differences.append(second - first)
            decided = self.watch.add(differences)
            if decided and not reversible(decided, self._within(), margin=self.watch.difference):
                self._why = self._decision_text()
        return self._why

    def _within(self) -> tuple[float, float]:
        """The smallest and the largest difference of rates, over all outcomes of undecided trials and errors."""
        first, second = ((fmean(low), fmean(high)) for low, high in (zip(*some, strict=True) for some in self._bounds))
        return difference_bounds(first, second)

    def _decision_text(self) -> str:
        first, second = self.agents
        decision, size = self.watch.decided, f"{self.watch.difference * 100:g} points"
        text = f"{second} is {decision} than {first}"
        if decision == "alike":
            text = f"neither {second} nor {first} is better by {size}"
        low, high = self.watch.interval()
        return (
            f"settled after {self._next} of {len(self.order)} templates: {text} "
            f"({100 * self.watch.confidence:g}% at all times: {points(low)} to {points(high)} points)"
        )


def _counts(outcomes: Sequence[Outcome]) -> tuple[int, int, int]:
    """Numbers of trials that passed, of trials with a verdict, and of others."""
    errors = outcomes.count("error")
    return outcomes.count("passed"), len(outcomes) - errors, errors


def prepare(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort trials for ``--stop-when-settled``: those of one template together, alternating between both agents.

    Called before finished trials are deselected, because their results count too. All processes of a run compute the
    same.
    """
    settings = config.stash[SETTINGS]
    if settings.until is None:
        return
    templates: dict[object, int] = {}
    places: dict[int, tuple[int, int, int, int]] = {}
    tasks: dict[str, int] = {}
    ids = [agent_id(name) for name in settings.agents]
    for item in items:
        if isinstance(item, TaskItem):
            task = item.task
            suite = str(task.source.get("suite", "")) or item.nodeid.partition("::")[0]
            template = templates.setdefault((suite, task.template or task.id), len(templates))
            number = tasks.setdefault(task.id, len(tasks))
            places[id(item)] = (template, number, item.trial, ids.index(item.key.agent))
    found = [item for item in items if id(item) in places]
    found.sort(key=lambda item: places[id(item)])
    order: list[list[TrialKey]] = [[] for _ in templates]
    for item in found:
        assert isinstance(item, TaskItem)  # only task items have a place
        if not item.task.skip:
            order[places[id(item)][0]].append(item.key)
    items[:] = [*(item for item in items if id(item) not in places), *found]
    config.stash[SEQUENTIAL_STOP] = SequentialStop(
        agents=(ids[0], ids[1]),
        order=[each for each in order if each],
        watch=Watch(difference=settings.until, confidence=settings.gate.confidence),
    )
