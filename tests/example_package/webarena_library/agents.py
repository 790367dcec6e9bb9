"""An agent: borrows the book that its task names."""

from __future__ import annotations

import re

from pytest_webarena.actions import Action, Click, Element, Stop
from pytest_webarena.agents import Observation, TaskView

__all__ = ["Borrower"]


class Borrower:
    """Reads the form of observation of this package."""

    def __init__(self, task: TaskView) -> None:
        self._intent = task.intent

    def act(self, observation: Observation) -> Action:
        """Press the button of the first book that is asked for; stop when there is none."""
        for title in re.findall(r"^book: (.+)$", observation.text, re.MULTILINE):
            button = re.search(rf"\[(\d+)\] button 'Borrow {re.escape(title)}'", observation.text)
            if title in self._intent and button:
                return Click(Element(button[1]))
        return Stop("done")
