"""What an author changes of recorded steps: values, names for them, steps that are left out, the answer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pytest_webarena.actions import AcceptDialog, Action, Check, Click, Goto, Select, Selector, Type
from pytest_webarena.recorder.steps import RecordedStep

__all__ = ["ANSWER", "Edits", "editable", "key_of", "value_of"]

ANSWER = "answer"
"""Stands for the answer where others are keys of steps."""
_NAMED = re.compile(r'(?:role=[a-z]+\[name|text)=?(?P<name>"(?:[^"\\]|\\.)*")s?\]?')


@dataclass(frozen=True, slots=True, kw_only=True)
class Edits:
    """All changes that count. Each makes another value, so the one before can be gone back to."""

    left_out: frozenset[str] = frozenset()
    values: Mapping[str, str] = field(default_factory=dict)
    """By key of a step."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Variables that stand for a step's value, or for the answer."""
    answer: str = ""

    def leave_out(self, key: str) -> Edits:
        """Without that step."""
        names = {each: name for each, name in self.names.items() if each != key}
        return replace(self, left_out=self.left_out | {key}, names=names)

    def give(self, key: str, value: str) -> Edits:
        """With another value in that step."""
        return replace(self, values={**self.values, key: value})

    def name(self, key: str, variable: str) -> Edits:
        """With a variable for a value; without one if it is empty."""
        names = {each: name for each, name in self.names.items() if each != key}
        return replace(self, names={**names, key: variable} if variable else names)

    def applied(self, steps: Sequence[RecordedStep]) -> tuple[RecordedStep, ...]:
        """The steps as they are meant."""
        found = []
        for step in steps:
            key = key_of(step)
            if key in self.left_out:
                continue
            given = self.values.get(key)
            found.append(step if given is None else replace(step, action=_with_value(step.action, given), problem=""))
        return tuple(found)

    def variables(self, steps: Sequence[RecordedStep]) -> dict[str, str]:
        """Each variable's value as it was recorded, in the steps' order."""
        found: dict[str, str] = {}
        for step in self.applied(steps):
            name, value = self.names.get(key_of(step)), value_of(step.action)
            if name and value is not None:
                found.setdefault(name, value)
        if (name := self.names.get(ANSWER)) and self.answer:
            found.setdefault(name, self.answer)
        return found


def key_of(step: RecordedStep) -> str:
    """By what a step is known while others come. Who types on into a field makes another step of it."""
    return f"{step.time:.4f}-{step.action.kind}"


def value_of(action: Action) -> str | None:
    """What of a step could be another one: what was typed or chosen, the name of what was clicked or ticked; None for
    nothing."""
    match action:
        case Type(_, text):
            return text
        case Select(_, (option,)):
            return option
        case Goto(url):
            return url
        case AcceptDialog(str(text)):
            return text
        case Click(Selector(selector)) | Check(Selector(selector)):
            found = _NAMED.fullmatch(selector)
            return str(json.loads(found["name"])) if found else None
    return None


def editable(action: Action) -> bool:
    """Whether its value can be changed by hand. What was clicked or ticked can't: it would be found by its
    place all the same."""
    return value_of(action) is not None and not isinstance(action, Click | Check)


def _with_value(action: Action, value: str) -> Action:
    match action:
        case Type():
            return replace(action, text=value)
        case Select():
            return replace(action, options=(value,))
        case Goto():
            return replace(action, url=value)
        case AcceptDialog():
            return replace(action, text=value)
    return action
