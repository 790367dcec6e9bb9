"""Agents that need no model: the oracle, the null family that must fail, and a random walker."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from pytest_webarena.actions import Action, Back, Click, Element, Goto, Scroll, Selector, Stop, Type, as_record
from pytest_webarena.answers import as_response, read_response
from pytest_webarena.errors import BrowserError, TaskError
from pytest_webarena.tasks.addresses import resolve

if TYPE_CHECKING:
    from pytest_webarena.agents.protocol import Reply, TaskView
    from pytest_webarena.browser.observation import Observation
    from pytest_webarena.tasks.model import Task

__all__ = [
    "Answering",
    "BuiltIn",
    "Dump",
    "Oracle",
    "RandomWalk",
    "Typed",
    "describe_step",
    "refused_step",
    "with_full_address",
]

_DESCRIPTIVE = ("text", "url", "keys", "answer", "options", "files", "direction", "seconds")
"""Fields of actions that describe what was done; the first one present is shown."""


class Oracle:
    """Replays the task's ``solution``. If it fails, the task is broken, not an agent."""

    def __init__(self, task: Task, view: TaskView, refusal: Callable[[str], str] = lambda url: "") -> None:
        """``refusal`` returns why the gateway refused an address (`Assignment.refusal`)."""
        if task.solution is None:
            raise TaskError(
                f"task {task.id} has no solution for the oracle to replay: "
                "write one under 'solution:', or run another agent"
            )
        self._task = task.id
        self._steps = tuple(with_full_address(step, view.sites) for step in task.solution)
        self._refusal = refusal
        self._next = 0

    def act(self, observation: Observation) -> Action:
        """The next step of the solution. `TaskError` when the previous step had no effect; `BrowserError` when its page
        did not answer in time, which may happen with any solution on a busy machine, so that another attempt is
        worthwhile."""
        done_count = self._next
        refused = refused_step(self._steps[done_count - 1], observation.url, self._refusal) if done_count else ""
        if done_count and (error := "; ".join(filter(None, (observation.error, refused)))):
            from pytest_webarena.browser.reports import STOPPED_RESPONDING  # only for a step that failed

            raise (BrowserError if STOPPED_RESPONDING in observation.error else TaskError)(
                f"solution of {self._task}, step {done_count} of {len(self._steps)} "
                f"({describe_step(self._steps[done_count - 1])}) failed at {observation.url}: {error}"
                f"{self._hint(done_count - 1)}"
            )
        step = self._steps[self._next] if self._next < len(self._steps) else Stop()
        self._next += 1
        return step

    def _hint(self, number: int) -> str:
        """A hint for the error message when the failed step has further selectors."""
        target = getattr(self._steps[number], "target", None)
        repairable = isinstance(target, Selector) and target.repair_selectors
        return "; 'webarena tasks heal' looks for it by the step's 'repair_selectors'" if repairable else ""


class Answering:
    """Stops at once with a fixed answer, which no task should accept."""

    def __init__(self, answer: str) -> None:
        self._answer = answer

    def act(self, observation: Observation) -> Action:
        """Stop with the answer."""
        return Stop(self._answer)


class Dump:
    """Stops at once with the whole observation as its answer: passes checks that only search for a substring."""

    def act(self, observation: Observation) -> Action:
        """Stop with the whole observation as the answer."""
        return Stop(observation.text)


class RandomWalk:
    """Clicks, types and scrolls at random among the elements in the observation; the same seed gives the same walk."""

    _ACTIVE = re.compile(r"^\s*\[(\d+)\] (link|button|textbox|searchbox|checkbox|radio|tab|menuitem)\b", re.MULTILINE)
    _WORDS = ("hello", "42", "blue", "yes", "north", "monday")

    def __init__(self, view: TaskView) -> None:
        self._random = random.Random(view.seed)

    def act(self, observation: Observation) -> Action:
        """A random action; about one step in twelve stops."""
        chance = self._random.random()
        elements = self._ACTIVE.findall(observation.text)
        if chance < 0.08:
            return Stop(self._random.choice(self._WORDS))
        if chance < 0.16 or not elements:
            elsewhere: tuple[Action, ...] = (Scroll("down"), Scroll("up"), Back())
            return self._random.choice(elsewhere)
        element, role = self._random.choice(elements)
        if role in ("textbox", "searchbox"):
            return Type(
                Element(element), self._random.choice(self._WORDS), clear=True, enter=self._random.random() < 0.5
            )
        return Click(Element(element))


class BuiltIn(Protocol):
    """An agent that replies with actions immediately."""

    def act(self, observation: Observation) -> Action | Reply:
        """The next action."""


class Typed:
    """Wraps an agent without a model so that its plain answers become typed responses."""

    def __init__(self, agent: BuiltIn) -> None:
        self._agent = agent

    def act(self, observation: Observation) -> Action | Reply:
        """The agent's action, with a plain answer converted to a typed response."""
        action = self._agent.act(observation)
        if isinstance(action, Stop) and read_response(action.answer) is None:
            return replace(action, answer=as_response(action.answer))
        return action


def with_full_address(step: Action, sites: Mapping[str, str]) -> Action:
    """``step`` with an address like ``shopping:/cart`` resolved to a URL."""
    if not isinstance(step, Goto) or step.url.startswith("/"):  # a path without a site refers to the current tab's site
        return step
    return Goto(resolve(step.url, sites) or step.url)


def refused_step(step: Action, url: str, refusal: Callable[[str], str]) -> str:
    """Why a ``goto`` shows no page of a site, with a remedy, if the gateway refused its address or ``url``, where it
    led; otherwise empty. ``refusal`` is `Assignment.refusal`."""
    if not isinstance(step, Goto):
        return ""
    reason = next(filter(None, (refusal(each) for each in (url, step.url))), "")
    remedy = "name its site in the task's 'sites', its domain under 'live' if it is a live one, or correct the address"
    return f"the gateway refused it, for {reason}: {remedy}" if reason else ""


def describe_step(action: Action) -> str:
    """A short description of an action.

    >>> describe_step(Scroll("down"))
    "scroll 'down'"
    >>> from pytest_webarena.actions import Select
    >>> describe_step(Select(Selector("css=#corn"), ("Rye", "Oats")))
    "select css=#corn 'Rye', 'Oats'"
    """
    record = as_record(action)
    where, to = (_target_text(record.get(key) or {}) for key in ("target", "to"))
    detail = next((record[key] for key in _DESCRIPTIVE if record.get(key)), "")
    what = (
        ", ".join(repr(each) for each in detail)
        if isinstance(detail, list | tuple)
        else repr(str(detail))
        if detail
        else ""
    )
    return " ".join(part for part in (action.kind, where, what, f"to {to}" if to else "") if part)


def _target_text(target: Mapping[str, object]) -> str:
    point = f"{target['x']}, {target['y']}" if "x" in target else ""
    return str(target.get("selector") or target.get("id") or point)
