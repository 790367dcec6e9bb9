"""Common parser of bracket grammars: one action between two ``` as a verb with ``[arguments]``, in one of its forms."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from pytest_webarena.actions import Action, Invalid
from pytest_webarena.browser.grammars.replies import fenced_text, to_its_end
from pytest_webarena.errors import closest

__all__ = ["ArgumentForm", "Verbs", "no_verb", "number", "parse_form", "wrong_form"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentForm:
    """One notation of a verb's arguments."""

    shown: str
    """Notation in messages to the agent, e.g. ``click [id]``."""
    pattern: re.Pattern[str]
    """Pattern of the complete text after the verb."""
    make: Callable[[re.Match[str]], Action | None]
    """Returns the action; None if the arguments have the right form but no valid meaning."""


Verbs = Mapping[str, tuple[ArgumentForm, ...]]


def parse_form(text: str, verbs: Verbs, example: str) -> Action:
    """Return the action in an agent's reply; `Invalid` with a reason if there is none. Never raises."""
    action = fenced_text(text, example)
    if isinstance(action, Invalid):
        return action
    action = to_its_end(text, action, verbs)
    verb = re.split(r"[\s\[]", action, maxsplit=1)[0]
    if verb not in verbs:
        return Invalid(text, no_verb(action, verb, verbs, example))
    rest = action[len(verb) :].strip()
    for form in verbs[verb]:
        match = form.pattern.fullmatch(rest)
        parsed = form.make(match) if match else None
        if parsed is not None:
            return parsed
    forms = " or ".join(form.shown for form in verbs[verb])
    return Invalid(text, wrong_form(action, verb, forms))


_CALL = re.compile(r"(\w+)\s*\(")


def no_verb(action: str, verb: str, verbs: Iterable[str], example: str) -> str:
    """Return the message for an agent whose action begins with none of ``verbs``."""
    if (call := _CALL.match(action)) is not None:
        known = "" if call[1] in verbs else f"; {call[1][:40]!r} is no action, {closest(call[1][:40], verbs)}"
        expected = f"expected a verb and its arguments in brackets, e.g. {example}"
        return f"{action[:80]!r} is written as a call; {expected}{known}."
    return f"{verb[:80]!r} is no action; {closest(verb[:40], verbs)}. The action comes first inside the ```."


def wrong_form(action: str, verb: str, forms: str) -> str:
    """Return the message for an agent whose arguments are in none of the ``forms`` of the verb."""
    ids = "; id is the number in brackets before an element of the latest observation" if "[id]" in forms else ""
    return f"{action[:200]!r} is not a valid {verb} action. The format is: {forms}{ids}"


def number(text: str | None) -> float | None:
    """Return the number that an agent wrote; None if it is not a number or too large to make sense on a page."""
    try:
        value = float(text) if text else None
    except ValueError:
        return None
    return value if value is not None and abs(value) < 1e9 else None
