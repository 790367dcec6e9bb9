"""Proposes key nodes by the decision tree of WebCanvas' annotators: is the step needed, and does the address show it?

One recording can't show whether a step is needed, so the author decides that. The rest is read from the recording.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from pytest_webarena.actions import Action, Check, Click, Goto, Press, Select, Selector, Type
from pytest_webarena.recorder.selector_proving import relative

__all__ = ["ProposedNode", "VisitedStep", "proposed_nodes"]

_UNDECIDED = re.compile(r"^xpath=|:has\(|nth=|:nth-match|internal:|>>|\+|~")
"""Pattern of selectors that can't be evaluated on the record of a trial."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitedStep:
    """A step with the addresses before and after it."""

    action: Action
    before: str
    after: str
    text: str = ""
    """Text on the element."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedNode:
    """A proposed key node and the step that reaches it."""

    step: int
    """Index of the step, from 0."""
    about: str
    """Description in words."""
    node: Mapping[str, Any]
    """Data of an item of ``key_nodes``."""


def proposed_nodes(passed: Sequence[VisitedStep], sites: Mapping[str, str]) -> list[ProposedNode]:
    """Return at most one node for each step, in their order, without duplicates."""
    found: list[ProposedNode] = []
    for number, step in enumerate(passed):
        node = _node(number, passed, sites)
        if node is not None and all(node != each.node for each in found):
            found.append(ProposedNode(step=number, about=_about(node, step), node=node))
    return found


def _node(number: int, passed: Sequence[VisitedStep], sites: Mapping[str, str]) -> dict[str, Any] | None:
    step = passed[number]
    entered = _entered(step.action)
    if entered is not None:
        return _shown_later(entered, passed[number:], sites) or _value(step, entered, sites)
    if isinstance(step.action, Click | Goto | Press):
        landing = _landed(step, passed[number - 1].after if number else step.before, sites)
        if landing is not None or not isinstance(step.action, Click):
            return landing
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


def _shown_later(entered: str, later_steps: Sequence[VisitedStep], sites: Mapping[str, str]) -> dict[str, Any] | None:
    """Return a node for the address whose query has the entered text, if the form is submitted before anything else."""
    for number, step in enumerate(later_steps):
        if number and step.before != later_steps[0].before:
            return None
        if step.after == step.before:
            continue
        place = _place(step.after, sites)
        known = parse_qsl(urlsplit(step.before).query)
        for name, value in parse_qsl(urlsplit(step.after).query):
            if place is not None and value == entered and (name, value) not in known:
                return {"url": {**place, "at": urlsplit(step.after).path, "param": name, "exact": value}}
    return None


def _landed(step: VisitedStep, before: str, sites: Mapping[str, str]) -> dict[str, Any] | None:
    """Return a node for the address that the step leads to: another page, or another parameter."""
    place = _place(step.after, sites)
    url_before, url_after = urlsplit(before), urlsplit(step.after)
    if place is None or before == step.after:
        return None
    if url_after.path != url_before.path and url_after.path.strip("/"):
        return {"url": {**place, **_address(url_after.path, url_after.query)}}
    old = parse_qsl(url_before.query)
    new = [(name, value) for name, value in parse_qsl(url_after.query) if (name, value) not in old]
    if len(new) == 1:
        return {"url": {**place, "at": url_after.path, "param": new[0][0], "exact": new[0][1]}}
    return None


def _address(path: str, query: str) -> dict[str, str]:
    """Return the condition for a path that no other path meets: ``/issues/24`` is included in ``/issues/247``.

    Pages below a path that ends with a slash match, too. An irrelevant query is omitted where that is possible.
    """
    if not path.endswith("/") and not query:
        return {"exact": path}
    return {"exact": f"{path}?{query}"} if path[-1].isdigit() else {"includes": path}


def _value(step: VisitedStep, entered: str, sites: Mapping[str, str]) -> dict[str, Any] | None:
    locate, place = _locate(step.action), _place(step.before, sites)
    return {"value": {"locate": locate, "exact": entered, **place}} if locate and place is not None else None


def _element(step: VisitedStep, sites: Mapping[str, str]) -> dict[str, Any] | None:
    locate, place = _locate(step.action), _place(step.before, sites)
    return {"element": {"locate": locate, "event": "click", **place}} if locate and place is not None else None


def _locate(action: Any) -> str:
    """Return the step's selector if a record can evaluate it; else empty."""
    target = getattr(action, "target", None)
    return target.selector if isinstance(target, Selector) and not _UNDECIDED.search(target.selector) else ""


def _place(url: str, sites: Mapping[str, str]) -> dict[str, str] | None:
    """Return the key ``site`` if it is needed; None for an address that is on no site."""
    found = relative(Goto(url), sites)
    if not isinstance(found, Goto) or found.url == url:
        return None
    return {} if found.url.startswith("/") else {"site": found.url.partition(":")[0]}


def _about(node: Mapping[str, Any], step: VisitedStep) -> str:
    ((kind, condition),) = node.items()
    if kind == "url":
        if "param" in condition:
            return f"the address has {condition['param']} = {condition['exact']}"
        return (
            f"the address is {condition['exact']}"
            if "exact" in condition
            else f"the address is below {condition['includes']}"
        )
    if kind == "value":
        return f"{_named(step, condition['locate'])} holds {condition['exact']!r}"
    return f"{_named(step, condition['locate'])} is clicked"


def _named(step: VisitedStep, locate: str) -> str:
    return f"{step.text!r}" if step.text else locate
