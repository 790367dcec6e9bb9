"""An example agent without a model: it searches, follows links that match the intent, and reads values off the page.

It knows no site in advance. It has only the words of the intent and the page's accessibility tree. ``make demo`` shows
it next to the oracle, so that the demo contains passed and failed trials.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from pytest_webarena.actions import Action, Click, Element, Stop, Type
from pytest_webarena.agents import Observation, TaskView

_LINE = re.compile(r"^\s*\[(\d+)\] (\w+) (?:'(.*?)'|\"(.*?)\")(?: \w+: .*)?$")
_SAYS_NOTHING = """
a about all an and answer any are as at be by did do does each exactly find for from full give had has have how i in is
it its leave made make many me much my name nothing of on one only open or page say says see show store takes tell than
that the their them there these this those to up was were what when where which who whose with you
"""
_SILENT = frozenset(_SAYS_NOTHING.split())
_NUMBERS = dict(zip(("two", "three", "four", "five", "six", "seven", "eight"), "2345678", strict=True))
_PATIENCE = 6
"""Maximum number of links that the agent follows."""


@dataclass(frozen=True, slots=True)
class Node:
    """One line of the accessibility tree."""

    element: str
    role: str
    name: str


class ReadingAgent:
    """Searches first and follows matching links; then operates the form that the intent mentions, or answers."""

    def __init__(self, task: TaskView) -> None:
        self._intent = task.intent
        self._wanted = words(task.intent)
        self._query = query(task.intent)
        self._done: set[str] = set()
        self._followed = 0

    def act(self, observation: Observation) -> Action:
        """Returns the next action: a search, a choice, a button, a link, or the answer."""
        page = nodes(observation.text)
        return self._search(page) or self._follow(page) or self._choose(page) or Stop(self._answer(page))

    def _search(self, page: list[Node]) -> Action | None:
        """Fill in the first field for searches."""
        for node in page:
            if node.role in ("textbox", "searchbox") and "search" in node.name.lower() and self._once("search"):
                return Type(Element(node.element), self._query, clear=True, enter=True)
        return None

    def _follow(self, page: list[Node]) -> Action | None:
        """Click the link that matches best, if any does. Links after the first one need a better match."""
        links = [(self._fit(node.name), node) for node in page if node.role == "link"]
        links = [(fit, node) for fit, node in links if _plain(node.name) not in self._done]
        fit, best = max(links, key=lambda each: each[0], default=(0, None))
        if best is None or not fit or self._followed >= _PATIENCE or (self._followed and fit < 0.8):
            return None
        self._done.add(_plain(best.name))
        self._followed += 1
        return Click(Element(best.element))

    def _fit(self, name: str) -> float:
        """Returns the share of a link's words that occur in the intent, slightly raised for many; at most 0.1 for one
        word."""
        name_words = words(_plain(name))
        shared = name_words & self._wanted
        if len(shared) < 2:
            return 0.1 if shared and shared == name_words else 0
        return len(shared) / len(name_words) + len(shared) / 100

    def _choose(self, page: list[Node]) -> Action | None:
        """Fill in the form of a button that the intent mentions, then press the button."""
        for button in page:
            if (
                button.role != "button"
                or button.name in self._done
                or not words(button.name) & self._wanted - {"searc"}
            ):
                continue
            for node in page:
                if node.role == "radio" and words(node.name) <= self._wanted and self._once("choice"):
                    return Click(Element(node.element))
                if node.role == "spinbutton" and (amount := self._amount()) and self._once("amount"):
                    return Type(Element(node.element), amount, clear=True)
            self._done.add(button.name)
            return Click(Element(button.element))
        return None

    def _amount(self) -> str | None:
        """Returns the number that the intent asks for, or None."""
        match = re.search(rf"\b({'|'.join(_NUMBERS)})\b", self._intent)
        return _NUMBERS[match[1]] if match else None

    def _answer(self, page: list[Node]) -> str:
        """Returns the value next to the label that the question is about; empty without a label or a question."""
        labels = [
            (len(words(label.name) & self._wanted), value.name)
            for label, value in pairwise(page)
            if label.role in ("rowheader", "term")
        ]
        known, value = max(labels, key=lambda each: each[0], default=(0, ""))
        return value if known and "?" in self._intent else ""

    def _once(self, what: str) -> bool:
        """Returns whether ``what`` was not done before, and marks it as done."""
        new = what not in self._done
        self._done.add(what)
        return new


def nodes(text: str) -> list[Node]:
    """The lines of an accessibility tree that have a name."""
    found = (match.groups() for line in text.splitlines() if (match := _LINE.match(line)))
    return [Node(element, role, single or double) for element, role, single, double in found if single or double]


def _plain(name: str) -> str:
    """Returns a link's name without the count in parentheses."""
    return re.sub(r"\(.*?\)", "", name).strip()


def words(text: str) -> set[str]:
    """Returns the stems of a text's content words, with number words as digits."""
    found = (word for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in _SILENT)
    return {_NUMBERS.get(word, word.rstrip("s")[:5]) for word in found}


def query(intent: str) -> str:
    """Returns what to search for: the quoted text of the intent, or its names, or its two longest words."""
    if quoted := re.search(r'"([^",]+)', intent):
        return quoted[1]
    names = [word for word in re.findall(r"(?<=[a-z,] )[A-Z][a-z]+\b", intent) if word.lower() not in _SILENT]
    return " ".join(names or sorted(re.findall(r"[a-z]+", intent), key=len)[-2:])
