"""Proposes key nodes by the decision tree of WebCanvas' annotators: is it needed, and does the address show it?

Whether a step is needed nobody can see in one recording: the author says so. The rest can be seen.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from pytest_webarena.actions import Action, Check, Click, Goto, Press, Select, Selector, Type
from pytest_webarena.recorder.selector_proving import relative

__all__ = ["Passed", "ProposedNode", "proposed_nodes"]

_UNDECIDED = re.compile(r"^xpath=|:has\(|nth=|:nth-match|internal:|>>|\+|~")
"""In a selector: the record of a trial can't tell what it means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """A step that was done, and between which addresses."""

    action: Action
    before: str
    after: str
    text: str = ""
    """What was written on the element."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedNode:
    """A key node, and after which step it stands."""

    step: int
    """From 0."""
    about: str
    """In words."""
    node: Mapping[str, Any]
    """As an item of ``key_nodes``."""


def proposed_nodes(passed: Sequence[Passed], sites: Mapping[str, str]) -> list[ProposedNode]:
    """At most one node for each step, in their order; none twice."""
    found: list[ProposedNode] = []
    for number, step in enumerate(passed):
        node = _node(number, passed, sites)
        if node is not None and all(node != each.node for each in found):
            found.append(ProposedNode(step=number, about=_about(node, step), node=node))
    return found


def _node(number: int, passed: Sequence[Passed], sites: Mapping[str, str]) -> dict[str, Any] | None:
    step = passed[number]
    entered = _entered(step.action)
    if entered is not None:
        return _shown_later(entered, passed[number:], sites) or _value(step, entered, sites)
    if isinstance(step.action, Click | Goto | Press):
        shown = _landed(step, passed[number - 1].after if number else step.before, sites)
        if shown is not None or not isinstance(step.action, Click):
            return shown
        return _element(step, sites)
    return None


def _entered(action: Action) -> str | None:
    match action:
        case Type(_, text):
            return text or None
        case Select(_, options):
            return " ".join(options)
        case Check(_, checked):
            return "on" if checked else "off"
    return None


def _shown_later(entered: str, rest: Sequence[Passed], sites: Mapping[str, str]) -> dict[str, Any] | None:
    """The address that has what was entered in its query, if one comes before something else is entered there."""
    for number, step in enumerate(rest):
        if number and step.before != rest[0].before:
            return None
        if step.after == step.before:
            continue
        place = _place(step.after, sites)
        known = parse_qsl(urlsplit(step.before).query)
        for name, value in parse_qsl(urlsplit(step.after).query):
            if place is not None and value == entered and (name, value) not in known:
                return {"url": {**place, "at": urlsplit(step.after).path, "param": name, "exact": value}}
    return None


def _landed(step: Passed, before: str, sites: Mapping[str, str]) -> dict[str, Any] | None:
    """What the address says of the step: another page, or another parameter."""
    place = _place(step.after, sites)
    was, now = urlsplit(before), urlsplit(step.after)
    if place is None or before == step.after:
        return None
    if now.path != was.path and now.path.strip("/"):
        return {"url": {**place, **_address(now.path, now.query)}}
    old = parse_qsl(was.query)
    new = [(name, value) for name, value in parse_qsl(now.query) if (name, value) not in old]
    if len(new) == 1:
        return {"url": {**place, "at": now.path, "param": new[0][0], "exact": new[0][1]}}
    return None


def _address(path: str, query: str) -> dict[str, str]:
    """How to ask for a path so that no other one will do: what includes ``/issues/24`` may be ``/issues/247``. Pages
    below a path that ends with a slash count; a query that is no part of what was done doesn't, if it can be left."""
    if not path.endswith("/") and not query:
        return {"exact": path}
    return {"exact": f"{path}?{query}"} if path[-1].isdigit() else {"includes": path}


def _value(step: Passed, entered: str, sites: Mapping[str, str]) -> dict[str, Any] | None:
    locate, place = _locate(step.action), _place(step.before, sites)
    return {"value": {"locate": locate, "exact": entered, **place}} if locate and place is not None else None


def _element(step: Passed, sites: Mapping[str, str]) -> dict[str, Any] | None:
    locate, place = _locate(step.action), _place(step.before, sites)
    return {"element": {"locate": locate, "event": "click", **place}} if locate and place is not None else None


def _locate(action: Any) -> str:
    """The step's selector, where a record can decide it; empty elsewhere."""
    target = getattr(action, "target", None)
    return target.selector if isinstance(target, Selector) and not _UNDECIDED.search(target.selector) else ""


def _place(url: str, sites: Mapping[str, str]) -> dict[str, str] | None:
    """The key ``site``, where it is needed; None for an address that is on no site."""
    found = relative(Goto(url), sites)
    if not isinstance(found, Goto) or found.url == url:
        return None
    return {} if found.url.startswith("/") else {"site": found.url.partition(":")[0]}


def _about(node: Mapping[str, Any], step: Passed) -> str:
    ((kind, asked),) = node.items()
    if kind == "url":
        if "param" in asked:
            return f"the address has {asked['param']} = {asked['exact']}"
        return f"the address is {asked['exact']}" if "exact" in asked else f"the address is below {asked['includes']}"
    if kind == "value":
        return f"{_named(step, asked['locate'])} holds {asked['exact']!r}"
    return f"{_named(step, asked['locate'])} is clicked"


def _named(step: Passed, locate: str) -> str:
    return f"{step.text!r}" if step.text else locate
