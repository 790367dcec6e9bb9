"""``--until=decided``: trials in an order that pairs the agents, and none any more once the question is decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.agents.registry import agent_id
from pytest_webarena.plugin.items import TaskItem
from pytest_webarena.plugin.stash import SETTINGS
from pytest_webarena.results.comparing.sequential import Watch
from pytest_webarena.results.comparing.wording import points

if TYPE_CHECKING:
    from pytest_webarena.results import RunDir, TrialKey

__all__ = ["DECIDING", "Deciding", "prepare"]


@dataclass(slots=True)
class Deciding:
    """What two agents' trials say so far, template by template in the order of their items.

    It goes by the records on disk alone, and only by templates of which all trials are over, up to the first one that
    has any open: so all workers come to the same, and trials that end early decide nothing.
    """

    agents: tuple[str, str]
    """Their ids; whether the second is better than the first is the question."""
    order: Sequence[Sequence[TrialKey]]
    """The trials of each template."""
    watch: Watch
    _next: int = 0
    _why: str = field(default="")

    def why_left(self, run: RunDir) -> str:
        """Why no further trial is needed; empty while the question is open."""
        while not self._why and self._next < len(self.order):
            rates: dict[str, dict[str, list[bool]]] = {}
            for key in self.order[self._next]:
                record = run.folder(key).record()
                if record is None:
                    return ""
                if record.outcome != "error":
                    by_agent = rates.setdefault(key.task, {})
                    by_agent.setdefault(key.agent, []).append(record.outcome == "passed")
            self._next += 1
            first, second = self.agents
            both = [each for each in rates.values() if first in each and second in each]
            if self.watch.add([_mean(each[second]) - _mean(each[first]) for each in both]):
                self._why = self._told()
        return self._why

    def _told(self) -> str:
        first, second = self.agents
        decision, size = self.watch.decided, f"{self.watch.difference * 100:g} points"
        told = f"{second} is {decision} than {first}"
        if decision == "alike":
            told = f"neither {second} nor {first} is better by {size}"
        low, high = self.watch.interval()
        return (
            f"decided after {self._next} of {len(self.order)} templates: {told} "
            f"({100 * self.watch.confidence:g}% at all times: {points(low)} to {points(high)} points)"
        )


DECIDING: pytest.StashKey[Deciding] = pytest.StashKey()
"""Where items are collected, with ``--until``."""


def _mean(passed: Sequence[bool]) -> float:
    return sum(passed) / len(passed)


def prepare(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With ``--until``, put trials of one template next to each other, those of both agents in turn.

    Called before finished trials are left out, which say as much as others. All processes of a run come to the same.
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
        assert isinstance(item, TaskItem)  # others have no place
        if not item.task.skip:
            order[places[id(item)][0]].append(item.key)
    items[:] = [*(item for item in items if id(item) not in places), *found]
    config.stash[DECIDING] = Deciding(
        agents=(ids[0], ids[1]),
        order=[each for each in order if each],
        watch=Watch(difference=settings.until, confidence=settings.gate.confidence),
    )
