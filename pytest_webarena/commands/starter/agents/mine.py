"""An agent: a class with ``act``. It is made anew for each trial and sees one observation at a time."""

from __future__ import annotations

import re

from pytest_webarena.actions import Action, Element, Stop, Type
from pytest_webarena.agents import Observation, TaskView


class MyAgent:
    """Types what the task quotes into the first field of the page. Put your own in its place."""

    def __init__(self, task: TaskView) -> None:
        self._quoted = re.findall(r'"([^"]+)"', task.intent)

    def act(self, observation: Observation) -> Action:
        """The next action, given what the page shows."""
        field = re.search(r"\[(\d+)\] textbox", observation.text)
        if not self._quoted or field is None:
            return Stop(answer="")
        return Type(Element(field[1]), self._quoted.pop(), enter=True)
