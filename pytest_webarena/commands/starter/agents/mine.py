"""An agent: a class with ``act``. Each trial creates a new instance, which gets one observation at a time."""

from __future__ import annotations

import re

from pytest_webarena.actions import Action, Element, Stop, Type
from pytest_webarena.agents import Observation, TaskView


class MyAgent:
    """Types the quoted texts of the task into the first field of the page. Replace it with your own agent."""

    def __init__(self, task: TaskView) -> None:
        self._quoted = re.findall(r'"([^"]+)"', task.intent)

    def act(self, observation: Observation) -> Action:
        """Return the next action for the current page."""
        field = re.search(r"\[(\d+)\] textbox", observation.text)
        if not self._quoted or field is None:
            return Stop(answer="")
        return Type(Element(field[1]), self._quoted.pop(), enter=True)
