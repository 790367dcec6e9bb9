"""An author's edits of recorded steps: changed values, variables, deleted steps and the answer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pytest_webarena.actions import AcceptDialog, Action, Check, Click, Goto, Select, Selector, Type
from pytest_webarena.recorder.steps import RecordedStep

__all__ = ["ANSWER", "Edits", "editable", "key_of", "value_of"]

ANSWER = "answer"
"""Key of the answer, where other keys are those of steps."""
_NAMED = re.compile(r'(?:role=[a-z]+\[name|text)=?(?P<name>"(?:[^"\\]|\\.)*")s?\]?')


@dataclass(frozen=True, slots=True, kw_only=True)
class Edits:
    """All edits in effect. Methods return a new value, so that earlier ones can be restored."""

    deleted_steps: frozenset[str] = frozenset()
    values: Mapping[str, str] = field(default_factory=dict)
    """Changed values by key of the step."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Variables for the value of a step, or for the answer, by key."""
    answer: str = ""

    def delete_step(self, key: str) -> Edits:
        """Delete that step."""
        names = {each: name for each, name in self.names.items() if each != key}
        return replace(self, deleted_steps=self.deleted_steps | {key}, names=names)

    def set_value(self, key: str, value: str) -> Edits:
        """Change the value of that step."""
        return replace(self, values={**self.values, key: value})

    def name(self, key: str, variable: str) -> Edits:
        """Use a variable for a value; an empty name removes it."""
        names = {each: name for each, name in self.names.items() if each != key}
        return replace(self, names={**names, key: variable} if variable else names)

    def applied(self, steps: Sequence[RecordedStep]) -> tuple[RecordedStep, ...]:
        """Return the steps with the edits."""
        found = []
        for step in steps:
            key = key_of(step)
            if key in self.deleted_steps:
                continue
            new_value = self.values.get(key)
            found.append(
                step if new_value is None else replace(step, action=_with_value(step.action, new_value), problem="")
            )
        return tuple(found)

    def variables(self, steps: Sequence[RecordedStep]) -> dict[str, str]:
        """Return each variable's recorded value, in the order of the steps."""
        found: dict[str, str] = {}
        for step in self.applied(steps):
            name, value = self.names.get(key_of(step)), value_of(step.action)
            if name and value is not None:
                found.setdefault(name, value)
        if (name := self.names.get(ANSWER)) and self.answer:
            found.setdefault(name, self.answer)
        return found


def key_of(step: RecordedStep) -> str:
    """Return a key that identifies a step while others are recorded. A field that gets more text has a new key."""
    return f"{step.time:.4f}-{step.action.kind}"


def value_of(action: Action) -> str | None:
    """Return the part of a step that can be a variable: the typed or chosen text, or the name of a clicked or ticked
    element; None if there is none."""
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
    """Return whether the author can change the value. The name of a clicked or ticked element can't be changed: the
    element would still be found by its place."""
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
