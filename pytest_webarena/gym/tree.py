"""An observation's accessibility tree as BrowserGym's agents expect it: nodes parsed from the lines of its text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Any

from gymnasium import Space

__all__ = ["AnyTree", "tree"]

_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_LINE = re.compile(rf"(\t*)\[(\d+)\] (\S+) ({_QUOTED})((?: \w+: .*)?)", re.ASCII)
_PROPERTY = re.compile(rf" (\w+): ({_QUOTED}|.*?)(?= \w+: |$)", re.ASCII)
_PLAIN = re.compile(r"True|False|-?\d+(?:\.\d+)?", re.ASCII)


def tree(text: str) -> dict[str, Any]:
    """The nodes of ``text`` in the form of `Accessibility.getFullAXTree`, as far as its lines contain them.

    A node's ``browsergym_id`` is the id that actions may use. Lines of other forms are skipped.

    >>> root, link = tree("Tab 0: x\\n\\n[1] RootWebArea 'x'\\n\\t[2] link 'y' expanded: False")["nodes"]
    >>> root["childIds"], link["properties"]
    (['2'], [{'name': 'expanded', 'value': {'type': 'token', 'value': False}}])
    """
    nodes: list[dict[str, Any]] = []
    above: list[tuple[int, dict[str, Any]]] = []
    for line in text.split("\n"):
        if (match := _LINE.fullmatch(line)) is None:
            continue
        node = _node(match)
        depth = len(match[1])
        while above and above[-1][0] >= depth:
            above.pop()
        if above:
            parent = above[-1][1]
            parent["childIds"].append(node["nodeId"])
            node["parentId"] = parent["nodeId"]
        above.append((depth, node))
        nodes.append(node)
    return {"nodes": nodes}


def _node(match: re.Match[str]) -> dict[str, Any]:
    fields = dict(_PROPERTY.findall(match[5]))
    value = fields.pop("value", None)
    node: dict[str, Any] = {
        "nodeId": match[2],
        "ignored": False,
        "role": {"type": "role", "value": match[3]},
        "name": {"type": "computedString", "value": ast.literal_eval(match[4])},
        "properties": [
            {"name": name, "value": {"type": "token", "value": _read(each)}} for name, each in fields.items()
        ],
        "childIds": [],
        "browsergym_id": match[2],
    }
    if value is not None:
        node["value"] = {"type": "string", "value": _read(value)}
    return node


def _read(written: str) -> Any:
    return ast.literal_eval(written) if _PLAIN.fullmatch(written) or re.fullmatch(_QUOTED, written) else written


class AnyTree(Space[dict[str, Any]]):
    """Space of mappings that can be written as JSON."""

    def __init__(self, *, seed: int | None = None) -> None:
        super().__init__(dtype=dict, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        """False: trees have no shape."""
        return False

    def sample(self, mask: Any = None, probability: Any = None) -> dict[str, Any]:
        """A tree without nodes; masks are ignored."""
        return {"nodes": []}

    def contains(self, x: Any) -> bool:
        """Whether ``x`` is such a mapping."""
        return isinstance(x, dict) and _is_plain(x.values()) and all(isinstance(name, str) for name in x)

    def __repr__(self) -> str:
        return "AnyTree()"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnyTree)

    __hash__ = None  # type: ignore[assignment]  # as in all spaces of Gymnasium


def _is_plain(values: Iterable[Any]) -> bool:
    """Whether all values are JSON values. Works level by level, because trees may be too deep for recursion."""
    level = list(values)
    while level:
        below: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                below += [*each, *each.values()]
            elif isinstance(each, list):
                below += each
            elif not (each is None or isinstance(each, str | int | float)):
                return False
        level = below
    return True
