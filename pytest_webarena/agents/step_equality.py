"""Compares an action with the recorded one: same kind, same element, same value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pytest_webarena.actions import Action, as_record
from pytest_webarena.agents.form_fields import named_elements
from pytest_webarena.agents.wire import action_from_record
from pytest_webarena.browser.acting.keys import UnknownKey, playwright_keys

if TYPE_CHECKING:
    from pytest_webarena.evidence import StepRecord

__all__ = ["difference"]

_NEAR = 3.0
"""Maximum distance in CSS pixels between points that count as the same place: less than the width of any control."""

_BY_ROLE = re.compile(r'^role=(\w+)\[name=(?:"((?:[^"\\]|\\.)*)"|\'((?:[^\'\\]|\\.)*)\')s?\]$')
_FREE = frozenset({"note"})
"""Kinds of actions whose text may differ, because it has no effect on any page."""


def difference(action: Action, step: StepRecord, text: str) -> str:
    """Why ``action`` differs from the recorded one; empty when it does not. ``text`` is the text on which both were
    decided.

    What cannot be determined counts as a difference, because a replay continues as if the effect were the same.

    >>> from pytest_webarena.actions import Click, Element
    >>> from pytest_webarena.evidence import StepRecord
    >>> step = StepRecord(index=0, action={"kind": "click", "target": {"id": "3"}}, raw="click [3]")
    >>> [difference(Click(Element(id)), step, "[3] link 'Home' [4] link 'Out'") for id in "34"]
    ['', 'another element']
    """
    if action.kind != step.action.get("kind"):
        return "another kind of action"
    try:
        actual, recorded = as_record(action), as_record(action_from_record(step.action))
    except ValueError as error:
        return f"a recorded action that can't be read ({error})"
    for name in ("target", "to"):
        if reason := _target_difference(actual.get(name), recorded.get(name), step if name == "target" else None, text):
            return reason
    for name in sorted((actual.keys() | recorded.keys()) - {"kind", "target", "to"}):
        one, other = (_normal(name, values.get(name)) for values in (actual, recorded))
        if one != other and not (name == "text" and actual["kind"] in _FREE):
            return f"another {name}"
    return ""


def _target_difference(actual: Any, recorded: Any, step: StepRecord | None, text: str) -> str:
    """Why the two targets differ; empty when they do not."""
    if actual == recorded:
        return ""
    if not isinstance(actual, Mapping) or not isinstance(recorded, Mapping):
        return "another element" if actual else "no element"
    if "x" in actual and "x" in recorded and actual.get("relative") == recorded.get("relative"):
        scale = 1.0 if not actual.get("relative") else 1000.0  # fractions of a window of about 1000 pixels
        distance = max(abs(float(actual[axis]) - float(recorded[axis])) * scale for axis in ("x", "y"))
        return "" if distance <= _NEAR else "another place"
    if "id" in actual and "id" in recorded:
        return "another element"  # both ids are from the same text
    known = named_elements(text)
    one, other = _identity(actual, known), _recorded_identity(recorded, step, known)
    if one is None or other is None:
        return "an element that may not be the recorded one"
    if one != other:
        return "another element"
    if sum((role, name) == one for _, role, name in known) > 1:
        return f"one of several elements {one[0]} {one[1]!r}, which may not be the recorded one"
    return ""


def _identity(target: Mapping[str, Any], known: list[tuple[str, str, str]]) -> tuple[str, str] | None:
    """Role and name of an action's target; None if they cannot be determined."""
    if "id" in target:
        return next(((role, name) for id, role, name in known if id == str(target["id"])), None)
    if found := _BY_ROLE.match(str(target.get("selector", ""))):
        name = found[2] if found[2] is not None else found[3]
        return found[1], re.sub(r"\\(.)", r"\1", name)
    return None


def _recorded_identity(
    target: Mapping[str, Any], step: StepRecord | None, known: list[tuple[str, str, str]]
) -> tuple[str, str] | None:
    """Role and name of the recorded target, preferably as the browser reported them."""
    if step is not None and step.target is not None and step.target.role and step.target.name:
        return step.target.role, step.target.name
    return _identity(target, known)


def _normal(name: str, value: Any) -> Any:
    """``value`` in a form in which equivalent spellings are equal. Text is compared literally, because it is typed
    literally."""
    if isinstance(value, list | tuple):
        return [_normal(name, each) for each in value]
    if not isinstance(value, str):
        return value
    if name == "url":
        return _address(value)
    if name == "keys":
        try:
            return playwright_keys(value)
        except UnknownKey:
            return value
    return value.replace("\r\n", "\n")


def _address(url: str) -> tuple[str, ...]:
    """The parts of ``url`` as a browser requests it."""
    try:
        parts = urlsplit(url.strip() if "://" in url else f"http://{url.strip()}")
        port = f":{parts.port}" if parts.port not in (None, 80 if parts.scheme == "http" else 443) else ""
    except ValueError:
        return (url,)
    return parts.scheme, f"{(parts.hostname or '').lower()}{port}", parts.path or "/", parts.query, parts.fragment
