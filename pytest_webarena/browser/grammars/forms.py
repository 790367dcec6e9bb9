"""What the bracket grammars share: one action between two ``` as a verb and ``[arguments]``, in one of its forms."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pytest_webarena.actions import Action, Invalid
from pytest_webarena.browser.grammars.replies import fenced, to_its_end
from pytest_webarena.errors import closest

__all__ = ["Form", "Verbs", "number", "parse_form"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One way to write a verb's arguments."""

    shown: str
    """As the agent is told, e.g. ``click [id]``."""
    pattern: re.Pattern[str]
    """Of the whole text after the verb."""
    make: Callable[[re.Match[str]], Action | None]
    """The action; None when the arguments are of the right shape but make no sense."""


Verbs = Mapping[str, tuple[Form, ...]]


def parse_form(text: str, verbs: Verbs, example: str) -> Action:
    """The action in an agent's reply; `Invalid` with a reason when there is none. Never raises."""
    action = fenced(text, example)
    if isinstance(action, Invalid):
        return action
    action = to_its_end(text, action, verbs)
    verb = re.split(r"[\s\[]", action, maxsplit=1)[0]
    if verb not in verbs:
        known = closest(verb[:40], verbs)
        return Invalid(text, f"{verb[:80]!r} is no action; {known}. The action comes first inside the ```.")
    rest = action[len(verb) :].strip()
    for form in verbs[verb]:
        match = form.pattern.fullmatch(rest)
        made = form.make(match) if match else None
        if made is not None:
            return made
    forms = " or ".join(form.shown for form in verbs[verb])
    return Invalid(text, f"{action[:200]!r} is not a valid {verb} action. The format is: {forms}")


def number(text: str | None) -> float | None:
    """A number an agent wrote, within what makes sense on a page; None for any other."""
    try:
        value = float(text) if text else None
    except ValueError:
        return None
    return value if value is not None and abs(value) < 1e9 else None
