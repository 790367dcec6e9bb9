"""Agents of kind ``scripted``: a fixed list of actions per task, for tests of sites, checks and the harness."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_webarena.actions import Action, Stop, answers_dialogs
from pytest_webarena.agents.builtin import with_full_address
from pytest_webarena.agents.kinds import AgentKind, Common
from pytest_webarena.agents.protocol import AgentDefinition, Assignment
from pytest_webarena.agents.wire import action_from_record
from pytest_webarena.browser.config import DialogPolicy
from pytest_webarena.browser.grammars import grammar as find_grammar
from pytest_webarena.errors import TaskError, UsageError

if TYPE_CHECKING:
    from pytest_webarena.browser.observation import Observation
    from pytest_webarena.tasks.model import Task

__all__ = ["KIND", "ScriptedKeys"]

_ANY = "*"
_FIRST = "0-first-site-of-the-task-0"
"""Placeholder of the task's first site in addresses, until the task is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedKeys:
    """Keys of a definition of kind ``scripted``."""

    tasks: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """Task id, or ``*`` for all others, to its steps. A step is a text in the definition's grammar, a step as in a
    task's ``solution``, or an action with its ``kind``. After the last one the agent stops with an empty answer."""


class Scripted:
    """Does one step after the other, whatever their effect."""

    def __init__(self, steps: Sequence[Action | str], sites: Mapping[str, str]) -> None:
        self._steps = [step if isinstance(step, str) else with_full_address(step, sites) for step in steps]

    def act(self, observation: Observation) -> Action | str:
        """The next step."""
        return self._steps.pop(0) if self._steps else Stop("")


def _build(common: Common, keys: ScriptedKeys) -> AgentDefinition:
    scripts = {
        task: tuple(
            action for number, step in enumerate(steps) for action in _read(step, f"{common.where}: {task}[{number}]")
        )
        for task, steps in keys.tasks.items()
    }

    def steps_of(task: str) -> tuple[Action | str, ...] | None:
        return scripts.get(task, scripts.get(_ANY))

    def dialogs(task: Task, trial: int) -> DialogPolicy | None:
        language = find_grammar(common.keys.grammar)
        steps = (language.parse(step) if isinstance(step, str) else step for step in steps_of(task.id) or ())
        return "hold" if answers_dialogs(steps) else None

    def make(assignment: Assignment) -> Scripted:
        steps = steps_of(assignment.task.id)
        if steps is None:
            raise TaskError(
                f"{common.where}: expected steps for {assignment.task.id} or '*', found {', '.join(scripts) or 'none'}"
            )
        sites = assignment.view.sites
        first = next(iter(sites.values()), "")
        return Scripted(steps, {**sites, **assignment.view.reach, _FIRST: first})

    return common.definition(make, dialogs=dialogs, asks_models=False, raises=(TaskError,))


KIND = AgentKind(
    name="scripted",
    about="a fixed list of actions per task, for tests",
    keys=ScriptedKeys,
    build=_build,
    remembers=False,
)


def _read(step: Any, where: str) -> tuple[Action | str, ...]:
    if isinstance(step, Mapping) and "kind" in step:
        try:
            return (action_from_record(step),)
        except ValueError as error:
            raise UsageError(f"{where}: {error}") from None
    if isinstance(step, str) and step != "stop":
        return (step,)
    return _solution_step(step, where)


def _solution_step(step: Any, where: str) -> tuple[Action, ...]:
    """The actions of a step in the syntax of task files."""
    from pytest_webarena.tasks.file_reading import Reading
    from pytest_webarena.tasks.nodes import compose
    from pytest_webarena.tasks.steps import ANSWERED_STEPS

    path = step.get("goto") if isinstance(step, Mapping) else None
    if isinstance(path, str) and path.startswith("/"):
        step = {**step, "goto": f"{_FIRST}:{path}"}
    # JSON, in which every text is quoted: what the definition's author quoted must not be read again.
    node, problems = compose(json.dumps([step], ensure_ascii=False, default=str).encode(), "step")
    if node is not None and not problems:
        reading = Reading("step")
        actions = ANSWERED_STEPS.read(node, reading)
        problems = reading.problems
        if isinstance(actions, tuple) and not problems:
            is_stop = "stop" in step if isinstance(step, Mapping) else step == "stop"
            return actions if is_stop else actions[:-1]  # without the added stop
    first = problems[0]
    raise UsageError(f"{where}: expected {first.expected}, found {first.found}")
