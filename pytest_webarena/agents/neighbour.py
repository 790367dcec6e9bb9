"""An audit's wrong agent that acts on a neighbour of the intended element: the next project, row or size."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from pytest_webarena.actions import Action, Check, Click, Goto, Press, Select, Selector, Stop, Type
from pytest_webarena.agents.audit_trials import NO_NEIGHBOUR, Replay, neighbourly_steps
from pytest_webarena.agents.protocol import Reply
from pytest_webarena.text import clip

if TYPE_CHECKING:
    from pytest_webarena.agents.protocol import Assignment
    from pytest_webarena.browser.observation import Observation
    from pytest_webarena.browser.reports import AdjacentControl, ListOption
    from pytest_webarena.evidence import TargetRecord
    from pytest_webarena.tasks.model import Task

__all__ = ["Neighbour", "next_address"]

_NUMBER = re.compile(r"(?P<before>.*/)(?P<number>\d+)(?P<after>/?)")


class Neighbour:
    """Replays a solution, except that one step acts on a neighbour of its target, as the reply's thought states. Task
    id and trial number choose the step; if it has no neighbour, the next one that has is used. Afterwards it continues
    like `Replay`.

    If no step has a neighbour, the trial ends before the last of these steps with `NO_NEIGHBOUR`, because it proves
    nothing.
    """

    def __init__(self, assignment: Assignment) -> None:
        self._replay = Replay(assignment.task, assignment.view)
        self._find_neighbour = assignment.find_neighbour
        self._candidate_steps = _to_try(assignment.task, assignment.trial)
        self._has_deviated = False
        self._number = -1

    def act(self, observation: Observation) -> Action | Reply:
        """The next step, or its replacement."""
        step = self._replay.act(observation)
        self._number += 1
        if self._has_deviated:
            return step
        if not isinstance(step, Stop) and self._number in self._candidate_steps:
            other, description = step_on_neighbour(step, self._find_neighbour)
            if other is not None:
                self._has_deviated = True
                return Reply(other, thought=f"in place of step {self._number + 1}: {description}")
            self._candidate_steps = [number for number in self._candidate_steps if number > self._number]
        if isinstance(step, Stop) or not self._candidate_steps:
            return Reply(Stop(""), ended=("invalid", NO_NEIGHBOUR))
        return step


def step_on_neighbour(
    step: Action, find_neighbour: Callable[[str], AdjacentControl | None]
) -> tuple[Action | None, str]:
    """The step applied to a neighbour, and its description; None when the target has no neighbour."""
    if isinstance(step, Goto):
        address = next_address(step.url)
        return (Goto(address), f"{address}, not {step.url}") if address else (None, "")
    if not isinstance(step, Click | Type | Check | Select | Press) or not isinstance(step.target, Selector):
        return None, ""
    found = find_neighbour(step.target.selector)
    if found is None:
        return None, ""
    if isinstance(step, Select):
        option = _next_option(step.options, found.options)
        if option is None:
            return None, ""
        same = sum(each.label == option.label for each in found.options) > 1
        chosen = option.value if same or not option.label else option.label
        return replace(step, options=(chosen,)), f"option {chosen!r}, not {', '.join(map(repr, step.options))}"
    if not found.neighbour or found.neighbour_target is None:
        return None, ""
    description = f"{_label(found.neighbour_target)}, not {_label(found.target)}"
    return replace(step, target=Selector(found.neighbour)), description


def next_address(address: str) -> str:
    """``address`` with the next number if its path ends in one; otherwise empty.

    >>> next_address("/anders/clock/-/issues/247"), next_address("http://shop.test/orders/9/?page=2")
    ('/anders/clock/-/issues/248', 'http://shop.test/orders/10/?page=2')
    >>> next_address("/issues")
    ''
    """
    parts = urlsplit(address)
    found = _NUMBER.fullmatch(parts.path)
    if found is None:
        return ""
    path = f"{found['before']}{int(found['number']) + 1}{found['after']}"
    return urlunsplit(parts._replace(path=path))


def _to_try(task: Task, trial: int) -> list[int]:
    """The step chosen for this trial, followed by those that may replace it. Typing and keys come last in the choice,
    because another field rarely accepts them."""
    steps, solution = neighbourly_steps(task), task.solution or ()
    if not steps:
        return []
    shuffled = random.Random(task.id).sample(steps, len(steps))
    shuffled.sort(key=lambda step: isinstance(solution[step], Type | Press))
    first = shuffled[(trial - 1) % len(shuffled)]
    return [step for step in steps if step >= first]


def _next_option(chosen: Sequence[str], options: Sequence[ListOption]) -> ListOption | None:
    """The option after the first chosen one, cyclically; an empty one only if there is no other."""
    position = next((n for n, each in enumerate(options) if chosen and chosen[0] in (each.label, each.value)), None)
    if position is None:
        return None
    others = [
        each for each in (*options[position + 1 :], *options[:position])
        if each.label not in chosen and each.value not in chosen
    ]  # fmt: skip
    return next((each for each in others if each.value), others[0] if others else None)


def _label(target: TargetRecord) -> str:
    what = target.role if target.role and target.role != "generic" else target.tag
    where = f" ({target.selector})" if target.selector else ""
    return f"{what} {clip(target.name, 60)!r}{where}" if target.name else f"{what}{where}"
