"""The form of key nodes in task files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_webarena.checks.key_nodes.model import KeyNode, KeyNodes, Target
from pytest_webarena.checks.key_nodes.target_forms import ELEMENT, TEXT, URL, VALUE
from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.nodes import MapNode, near
from pytest_webarena.tasks.record_shapes import Convert, Either, Field, ListOf, Record
from pytest_webarena.tasks.shapes import Bool, Choice, Fault, Number, Text
from pytest_webarena.text import clip

__all__ = ["FORM", "MOST_NODES"]

MOST_NODES = 200

_TARGETS = ("url", "element", "value", "text")


def _node_fault(values: dict[str, Any], node: MapNode, reading: Reading) -> Fault | None:
    given = [key for key in _TARGETS if values[key] is not None]
    if len(given) != 1:
        return Fault("one of 'url', 'element', 'value' and 'text'", " and ".join(map(repr, given)) or "none of them")
    if values["forbidden"] and values["weight"] is not None:
        return Fault(
            "a weight for a node to be reached", "it on a forbidden one", "one that is reached makes the score 0"
        )
    if values["forbidden"] and values["after"]:
        return Fault("'after' on a node to be reached", "it on a forbidden one")
    if values["hold"] and given[0] not in ("url", "value"):
        return Fault("'hold' on a url or a value", f"it on '{given[0]}'", "what was done or said does not end")
    if values["hold"] and given[0] == "value" and values["value"].of != "field":
        return Fault("'hold' on a value of a field", "it on one of what is clicked", "what was done does not end")
    return None


def _build_node(*, weight: float | None, hold: str | None, **values: Any) -> KeyNode:
    targets = {key: values.pop(key) for key in _TARGETS}
    target: Target = next(each for each in targets.values() if each is not None)
    return KeyNode(
        target=target,
        weight=1.0 if weight is None else weight,
        hold="end" if hold else "",
        **values,
    )


_NODE: Record[KeyNode] = Record(
    "key node",
    _build_node,
    [
        Field(
            key="url",
            shape=URL,
            default=None,
            default_text="none",
            doc="An address that a tab shows, or a parameter of its query.",
            example="- key_nodes: [{url: {includes: /search}}]",
        ),
        Field(
            key="element",
            shape=ELEMENT,
            default=None,
            default_text="none",
            doc="An element that the agent acts on.",
            example="- key_nodes: [{element: '#buy'}]",
        ),
        Field(
            key="value",
            shape=VALUE,
            default=None,
            default_text="none",
            doc="The value of a form field after it was changed.",
            example="- key_nodes: [{value: {locate: '#qty', exact: 2}}]",
        ),
        Field(
            key="text",
            shape=TEXT,
            default=None,
            default_text="none",
            doc="The agent's answer, or a note.",
            example="- key_nodes: [{text: {includes: 84.97}}]",
        ),
        Field(
            key="name",
            shape=Text("a name", strip=True),
            default="",
            default_text="a description",
            doc="Name of the node in reports and in `after`.",
            example="- key_nodes: [{url: {includes: /search}, name: searched}]",
        ),
        Field(
            key="weight",
            shape=Number(float, "a number above 0", above=0),
            default=None,
            default_text="1",
            doc="The node's share of the score.",
            example="- key_nodes: [{url: {includes: /search}}, {element: '#buy', weight: 2}]",
        ),
        Field(
            key="forbidden",
            shape=Bool(),
            default=False,
            doc="The node must never be reached; if it is, the score is 0. The start page does not count.",
            example="- key_nodes: [{element: '#buy'}, {element: '#delete', forbidden: true}]",
        ),
        Field(
            key="hold",
            shape=Choice("end"),
            default=None,
            default_text="reached once is enough",
            doc=(
                "`end`: the node must hold when the agent stops. A `url` is checked in the current tab, a "
                "`value` by the field's last change."
            ),
            example="- key_nodes: [{value: {locate: '#qty', exact: 2}, hold: end}]",
        ),
        Field(
            key="after",
            shape=ListOf(Text("the name of a node", strip=True), or_one=True, low=1),
            default=(),
            default_text="none",
            doc="Nodes that must be reached before this one, or at once. With `order: partial`.",
            example=("- key_nodes: {order: partial, nodes: [{element: '#a', name: a}, {element: '#b', after: a}]}"),
        ),
    ],
    rule=_node_fault,
    doc="A state or action that every correct solution passes: one of `url`, `element`, `value` and `text`.",
    owner="a key node",
)


def _checked(nodes: Sequence[KeyNode], order: str) -> KeyNodes | Fault:
    if len(nodes) > MOST_NODES:
        return Fault(f"at most {MOST_NODES} key nodes", str(len(nodes)))
    if all(node.forbidden for node in nodes):
        return Fault("at least one node to be reached", "only forbidden ones" if nodes else "none")
    names = [node.name for node in nodes if node.name]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        return Fault("names that differ", f"'{clip(twice)}' twice")
    named = {node.name: node for node in nodes if node.name}
    for node in nodes:
        for name in node.after:
            if name not in named:
                return Fault("the name of a node after 'after'", f"'{clip(name)}'", near(name, names))
            if named[name].forbidden:
                return Fault("'after' a node to be reached", f"'{clip(name)}', which is forbidden")
            if named[name].hold:
                return Fault("'after' a node that is reached once", f"'{clip(name)}', which has to hold at the end")
    if order != "partial" and any(node.after for node in nodes):
        return Fault("'order: partial' with 'after'", f"'order: {order}'")
    if order == "partial" and not any(node.after for node in nodes):
        return Fault("'after' on some nodes with 'order: partial'", "it on none", "in the order of the list: strict")
    if name := _circle(nodes):
        return Fault("nodes that can come one after the other", f"'{clip(name)}' after itself")
    return KeyNodes(nodes=tuple(nodes), order=order)  # type: ignore[arg-type]


def _circle(nodes: Sequence[KeyNode]) -> str:
    """Returns a node that must come after itself; empty when there is none."""
    before = {node.name: set(node.after) for node in nodes if node.name}
    while free := [name for name, names in before.items() if not names & set(before)]:
        for name in free:
            del before[name]
    return next(iter(before), "")


_LIST = ListOf(_NODE, label="a list of key nodes, at least one", low=1)


def _fault(values: dict[str, Any], node: MapNode, reading: Reading) -> Fault | None:
    made = _checked(values["nodes"], values["order"])
    return made if isinstance(made, Fault) else None


FORM: Any = Either(
    "a list of key nodes, or a mapping with 'nodes' and 'order'",
    sequence=Convert(_LIST, lambda nodes, _: _checked(nodes, "any")),
    mapping=Record(
        "key_nodes check",
        KeyNodes,
        [
            Field(
                key="nodes",
                shape=_LIST,
                doc="The nodes to reach, and those that are `forbidden`.",
                example="- key_nodes: {nodes: [{url: {includes: /search}}, {element: '#buy'}]}",
            ),
            Field(
                key="order",
                shape=Choice("any", "partial", "strict"),
                default="any",
                doc=(
                    "`any`: the order does not matter. `strict`: a node counts only after all earlier ones "
                    "in the list. `partial`: only after those in its `after`."
                ),
                example="- key_nodes: {order: strict, nodes: [{url: {includes: /search}}, {element: '#buy'}]}",
            ),
        ],
        rule=_fault,
        doc="Key nodes and their order. A list alone is short for `nodes`.",
        owner="key_nodes",
    ),
)
