"""Key nodes in WebCanvas' own form, and their evaluation after one step: order, persistence and early ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pytest_webarena.checks.webcanvas.addresses import address_subject, site_label
from pytest_webarena.checks.webcanvas.elements import same_element
from pytest_webarena.checks.webcanvas.numbers import Replies, judged

__all__ = ["FUNCTIONS", "NEVER_SCORED", "BreaksOff", "Moment", "Node", "evaluate", "score_of"]

FUNCTIONS: Mapping[str, tuple[str, str]] = {
    "url_exactly_match": ("url", "exact"),
    "url_included_match": ("url", "includes"),
    "url_semantic_match": ("url", "semantic"),
    "element_path_exactly_match": ("element", "exact"),
    "element_path_included_match": ("element", "includes"),
    "element_value_exactly_match": ("value", "exact"),
    "element_value_included_match": ("value", "includes"),
    "element_value_semantic_match": ("value", "semantic"),
    "cache_data_exact_match": ("noted", "exact"),
    "cache_data_included_match": ("noted", "includes"),
    "cache_data_semantic_match": ("noted", "semantic"),
    "final_answer_exact_match": ("answer", "exact"),
    "final_answer_included_match": ("answer", "includes"),
    "final_answer_semantic_match": ("answer", "semantic"),
}
"""For each function name in the data: what it uses, and how it compares. The spelling is the data's."""

NEVER_SCORED = frozenset({"element_path_included_match"})
"""Reserved functions that never change a score."""


class BreaksOff(Exception):
    """An evaluation that raises in the original, which then skips this node and all later ones of the step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One key node as in the compact data."""

    function: str
    """One of `FUNCTIONS`; any other never scores, as in the original."""
    reference: str
    key: str = ""
    """Name of a parameter; empty: the whole address."""
    label: str = ""
    """Label of the site (called ``netloc`` in the data, although it is not one)."""
    path: str | None = None
    """For a value: the selector that must match, too."""
    method: str = "selector"
    """For an element: ``selector`` or ``xpath``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The page on which an agent decided on an action, and the action's element and text."""

    url: str
    html: str
    """The serialised document."""
    selector: str | None = None
    """Selector of the action's element; None for actions without one."""
    value: str | None = ""
    """The typed text, or the text shown for the element."""
    text: str | None = ""
    """The text of a note or an answer."""


def evaluate(nodes: Sequence[Node], scores: Sequence[float], moment: Moment, replies: Replies) -> tuple[float, ...]:
    """Returns the scores after one more moment. A node with score 1 is not evaluated again; no score ever decreases."""
    found = list(scores)
    for index, node in enumerate(nodes):
        if found[index] == 1:
            continue
        try:
            found[index] = max(found[index], score_of(node, moment, replies))
        except BreaksOff:
            break
    return tuple(found)


def score_of(node: Node, moment: Moment, replies: Replies) -> float:
    """Returns one node's score, from 0 to 1. Raises `BreaksOff` where the original raises an error."""
    target, match = FUNCTIONS.get(node.function, ("", ""))
    if node.function in NEVER_SCORED:
        return 0.0
    if target == "url":
        subject = address_subject(moment.url, match, node.key)
        return 0.0 if subject is None else _compared(match, subject, node.reference, replies)
    if target == "element":
        label = _label(moment.url)
        return _at(node, node.reference, node.method, moment, label)
    if target == "value":
        return _value(node, match, moment, replies)
    if target in ("noted", "answer") and moment.text:
        if match == "semantic":
            raise BreaksOff("the original compares a coroutine with a number")
        return _compared(match, moment.text.lower(), node.reference.lower(), replies)
    return 0.0


def _value(node: Node, match: str, moment: Moment, replies: Replies) -> float:
    if moment.selector is None or moment.value is None:
        return 0.0
    label = _label(moment.url)
    if match == "semantic" and not moment.value:
        return 0.0
    if node.path is not None and not _at(node, node.path, "selector", moment, label):
        return 0.0
    return _compared(match, moment.value, node.reference, replies) if label == node.label else 0.0


def _at(node: Node, reference: str, method: str, moment: Moment, label: str) -> float:
    """Returns 1 if the action's element is the one that ``reference`` selects, on the node's site; else 0."""
    if method not in ("selector", "xpath") or label != node.label:
        return 0.0
    try:
        return float(same_element(moment.html, moment.selector, reference, method))
    except LookupError as error:
        raise BreaksOff(str(error)) from None


def _label(url: str) -> str:
    try:
        return site_label(url)
    except ValueError as error:
        raise BreaksOff(str(error)) from None


def _compared(match: str, subject: str, reference: str, replies: Callable[[str, str], str]) -> float:
    if match == "semantic":
        return judged(subject, reference, replies)
    return float(subject == reference if match == "exact" else reference in subject)
