"""An example agent without a model: follows the links that share words with the intent, then quotes the page.

Copy it, rename it and replace `act`. ``pytest --agent=keyword tasks/`` runs it as it is.
"""

from __future__ import annotations

import re

from pytest_webarena.actions import Action, Click, Element, Stop
from pytest_webarena.agents import Observation, TaskView

_LINE = re.compile(r"^\s*\[(\d+)\] (\w+) '(.*)'")
_DULL = frozenset(
    [
        "a",
        "an",
        "and",
        "at",
        "by",
        "did",
        "do",
        "does",
        "for",
        "from",
        "how",
        "i",
        "in",
        "is",
        "it",
        "many",
        "me",
        "much",
        "my",
        "of",
        "on",
        "or",
        "the",
        "to",
        "was",
        "what",
        "which",
        "who",
        "with",
    ]
)


class KeywordAgent:
    """Follows at most ``patience`` links, always the unvisited one that shares most words with the intent."""

    def __init__(self, task: TaskView, patience: int = 4) -> None:
        self._wanted = _words(task.intent)
        self._patience = patience
        self._clicked: set[str] = set()

    def act(self, observation: Observation) -> Action:
        """Click the most promising link, or stop with the most promising line."""
        lines = [match.groups() for line in observation.text.splitlines() if (match := _LINE.match(line))]
        links = [
            (self._score(name), name, element)
            for element, role, name in lines
            if role == "link" and name not in self._clicked
        ]
        score, name, element = max(links, default=(0, "", ""))
        if score and len(self._clicked) < self._patience:
            self._clicked.add(name)
            return Click(Element(element))
        quotes = [(self._score(name), name) for _, role, name in lines if role != "link"]
        return Stop(max(quotes, default=(0, ""))[1])

    def _score(self, text: str) -> int:
        return len(self._wanted & _words(text))


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+", text.lower())) - _DULL
