"""Prints the accessibility tree like the original harness, including defects, to compare with published results.

Source: ``browser_env/processors.py`` of WebArena. Each step below is one of its rules; ``docs/observations.md`` lists
the defects. Two things differ: ids are the browser's node ids, with which actions work, and the inner parts of a
control have the control's box.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_webarena.browser.config import ObservationConfig
from pytest_webarena.browser.messages import writable
from pytest_webarena.browser.observation.axtree import HIDDEN_PROPERTIES, PLAIN_ROLES, RenderedTree
from pytest_webarena.browser.observation.extraction import Box, ElementInfo
from pytest_webarena.browser.observation.snapshot import DocumentLayout

__all__ = ["render_compat"]

_NEVER_BOXED = frozenset({"ListMarker", "MenuListPopup", "LineBreak"})
"""Roles without a rectangle, or with one of no width."""
_LEAST_RATIO = 0.6
_LINES_BEFORE = 3
_STATIC_TEXT = re.compile(r"\[\d+\] StaticText (.+)", re.DOTALL)

AXNode = Mapping[str, Any]


def render_compat(nodes: Sequence[AXNode], layout: DocumentLayout, config: ObservationConfig) -> RenderedTree:
    """Return the main frame's lines, with one line per iframe as upstream. Linear in the number of nodes."""
    by_id: dict[str, AXNode] = {}
    for node in nodes:
        by_id.setdefault(node["nodeId"], node)
    lines: list[str] = []
    elements: dict[str, ElementInfo] = {}
    focused = ""
    # Node, depth, and the box of the nearest ancestor that has one.
    stack: list[tuple[AXNode, int, Box]] = [(nodes[0], 0, layout.window)] if nodes else []
    while stack:
        node, depth, parent_box = stack.pop()
        backend = node.get("backendDOMNodeId")
        box = _box(node, backend, layout, parent_box)
        valid = not config.current_viewport_only or _passes(node, box, layout.window)
        if valid:
            line = _line(node, backend, config)
            valid = bool(line) and backend is not None
            if line:
                lines.append("\t" * depth + line)
            if valid:
                info = _info(node, backend, layout)
                elements[str(backend)] = info
                if info.role != "RootWebArea" and _is_focused(node):
                    focused = f"[{backend}] {info.role} {info.name!r}"
        inside = depth + 1 if valid else depth
        for child_id in reversed(node.get("childIds", ())):
            child = by_id.get(child_id)
            if child is not None:
                stack.append((child, inside, box or parent_box))
    title = _name(nodes[0]) or "" if nodes else ""
    cleaned = _without_repeats("\n".join(lines).split("\n"))
    return RenderedTree(lines=tuple(cleaned), elements=elements, title=title, focused=focused)


def _box(node: AXNode, backend: int | None, layout: DocumentLayout, parent_box: Box) -> Box | None:
    if backend is None or _role(node) in _NEVER_BOXED:
        return None
    box = layout.boxes.get(backend)
    # Nodes in the snapshot without a box have none: options of closed lists, elements with display: contents.
    return parent_box if box is None and backend not in layout.names else box


def _passes(node: AXNode, box: Box | None, window: Box) -> bool:
    """Apply the viewport rule with its missing brackets: the overlap's share is multiplied, not divided, by the
    height."""
    if _role(node) == "RootWebArea":
        return True
    if box is None or box.width == 0 or box.height == 0:
        return False
    overlap = box.clip(window)
    return overlap.width * overlap.height / box.width * box.height >= _LEAST_RATIO


def _line(node: AXNode, backend: int | None, config: ObservationConfig) -> str:
    name, role = _name(node), _role(node)
    if name is None:
        return ""
    properties = [
        f"{each['name']}: {each['value']['value']}"
        for each in node.get("properties", ())
        if each["name"] not in HIDDEN_PROPERTIES
        and "value" in each.get("value", {})
        and (each["name"] != "url" or config.link_urls)
    ]
    if not name.strip() and (role == "listitem" if properties else role in PLAIN_ROLES):
        return ""
    number = node["nodeId"] if backend is None else backend
    return " ".join([f"[{number}] {role} {name!r}", *map(writable, properties)])


def _without_repeats(lines: Sequence[str]) -> list[str]:
    """Remove texts that any of the three lines before contains, even as part of another word or of an id."""
    unique_lines: list[str] = []
    for line in lines:
        if "statictext" in line.lower():
            match = _STATIC_TEXT.search(line)
            text = match[1][1:-1] if match else ""
            if not text or any(text in before for before in unique_lines[-_LINES_BEFORE:]):
                continue
        unique_lines.append(line)
    return unique_lines


def _info(node: AXNode, backend: int | None, layout: DocumentLayout) -> ElementInfo:
    assert backend is not None
    node_name = layout.names.get(backend, "")
    return ElementInfo(backend=backend, node_name=node_name, role=_role(node), name=_name(node) or "")


def _is_focused(node: AXNode) -> bool:
    return any(each["name"] == "focused" and each["value"].get("value") for each in node.get("properties", ()))


def _role(node: AXNode) -> str:
    return str(node.get("role", {}).get("value", ""))


def _name(node: AXNode) -> str | None:
    """Return the name; None without one, which upstream treats as invalid."""
    value = node.get("name", {}).get("value")
    return writable(value) if isinstance(value, str) else None
