"""What people see of editors and scrolling areas that the accessibility tree does not report, from a layout snapshot.

The script of the ``fast`` extractor finds the same in the page (`fast/js/fields.js`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_webarena.browser.messages import writable
from pytest_webarena.browser.observation.extraction import Box
from pytest_webarena.browser.observation.model import ScrollPosition
from pytest_webarena.browser.observation.usable import Usable, find_usable

__all__ = ["STYLES", "SnapshotDocument", "Surroundings", "read_surroundings"]

STYLES = ("pointer-events", "cursor", "opacity", "overflow-y")
"""Computed styles that the snapshot must include, at the end of its list; the overflow is the last."""

_LEAST = 6
"""Minimum width and height in pixels of a field that is drawn."""
_SURFACE = (24, 12)
"""Minimum width and height of an editor's surface."""
_FORMS: Mapping[str, str] = {"": "richtext", "true": "richtext", "plaintext-only": "plaintext"}
"""What can be edited, by the attribute ``contenteditable``."""
_PLACEHOLDERS = ("placeholder", "data-placeholder")
_OWN_SCROLLING = frozenset({"HTML", "INPUT", "SELECT", "TEXTAREA"})
_TEXT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Facts about the elements of one document, by backend node id."""

    placeholders: Mapping[int, str] = field(default_factory=dict)
    """Text of the attribute for a placeholder."""
    editable: Mapping[int, str] = field(default_factory=dict)
    """What can be edited of elements that make their content editable: ``richtext`` or ``plaintext``."""
    draggable: frozenset[int] = frozenset()
    """Elements that can be dragged."""
    scrolls: Mapping[int, str] = field(default_factory=dict)
    """How far an area can be scrolled, e.g. ``3 screens below``."""
    surfaces: Mapping[int, Box] = field(default_factory=dict)
    """Box of the editor around a field that nobody sees."""
    spare: frozenset[int] = frozenset()
    """Fields that are only there for scripts: neither the pointer nor the keyboard reaches them."""
    usable: Usable = field(default_factory=Usable)
    """Elements that only scripts make usable."""
    texts: Mapping[int, Sequence[tuple[int, str]]] = field(default_factory=dict)
    """Id and content of the texts of an editor that are hidden from accessibility, by the id of its field."""


class SnapshotDocument:
    """One document of the snapshot with its lookup tables."""

    def __init__(self, raw: Mapping[str, Any], strings: Sequence[str], boxes: Mapping[int, Box]) -> None:
        nodes = raw["nodes"]
        self.raw, self.strings, self.boxes = raw, strings, boxes
        self.ids: list[int] = nodes["backendNodeId"]
        self.parents: list[int] = nodes["parentIndex"]
        self.names: list[int] = nodes["nodeName"]
        self.attributes: list[list[int]] = nodes["attributes"]
        self.styles: dict[int, list[int]] = {}
        for node, styles in zip(raw["layout"]["nodeIndex"], raw["layout"]["styles"], strict=True):
            if styles:
                self.styles.setdefault(node, styles)

    def box(self, node: int) -> Box | None:
        return self.boxes.get(self.ids[node])

    def name(self, node: int) -> str:
        return self.strings[self.names[node]]

    def style(self, node: int, name: str) -> str:
        return self.strings[self.style_number(node, name)] if node in self.styles else ""

    def style_number(self, node: int, name: str) -> int:
        """Return the index of a style in `strings`. The node must have styles."""
        return self.styles[node][STYLES.index(name) - len(STYLES)]

    def attributes_of(self, node: int) -> dict[str, str]:
        pairs = self.attributes[node]
        values = ((pairs[at], pairs[at + 1]) for at in range(0, len(pairs), 2))
        return {self.strings[name]: self.strings[value] if value >= 0 else "" for name, value in values}

    def attribute(self, node: int, name: str) -> str:
        pairs = self.attributes[node]
        found = (pairs[at + 1] for at in range(0, len(pairs), 2) if self.strings[pairs[at]] == name)
        return next((self.strings[value] for value in found if value >= 0), "")

    def around(self, node: int) -> list[int]:
        """Return the ancestors, the nearest first."""
        found = []
        while (node := self.parents[node]) >= 0:
            found.append(node)
        return found


def read_surroundings(raw: Mapping[str, Any], strings: Sequence[str], boxes: Mapping[int, Box]) -> Surroundings:
    """Read one document of a snapshot with `STYLES`. Linear in the number of nodes."""
    document = SnapshotDocument(raw, strings, boxes)
    surfaces: dict[int, Box] = {}
    texts: dict[int, Sequence[tuple[int, str]]] = {}
    for node in _text_fields(document):
        surface = _surface(document, node)
        if surface is not None:
            surfaces[document.ids[node]] = boxes[document.ids[surface]]
            texts[document.ids[node]] = _muted_texts(document, surface, node)
    return Surroundings(
        placeholders=_placeholders(document),
        editable=_editable(document),
        draggable=_draggable(document),
        scrolls=_scrolls(document),
        spare=_spare(document),
        usable=find_usable(document),
        surfaces=surfaces,
        texts=texts,
    )


def _with_string(document: SnapshotDocument, string: str) -> list[int]:
    """Return the elements with an attribute of this name or value."""
    try:
        number = document.strings.index(string)
    except ValueError:
        return []
    return [node for node, pairs in enumerate(document.attributes) if number in pairs]


def _placeholders(document: SnapshotDocument) -> dict[int, str]:
    found: dict[int, str] = {}
    for name in _PLACEHOLDERS:
        for node in _with_string(document, name):
            if text := " ".join(document.attribute(node, name).split()):
                found.setdefault(document.ids[node], writable(text))
    return found


def _editable(document: SnapshotDocument) -> dict[int, str]:
    found = {}
    for node in _with_string(document, "contenteditable"):
        form = _FORMS.get(document.attributes_of(node).get("contenteditable", "false").lower())
        if form is not None:
            found[document.ids[node]] = form
    return found


def _draggable(document: SnapshotDocument) -> frozenset[int]:
    nodes = _with_string(document, "draggable")
    return frozenset(document.ids[node] for node in nodes if document.attribute(node, "draggable").lower() == "true")


def _spare(document: SnapshotDocument) -> frozenset[int]:
    found = set()
    for node in _with_string(document, "tabindex"):
        kind = document.attribute(node, "type").lower()
        labelled = document.name(node) == "INPUT" and kind in ("checkbox", "file", "radio")
        if document.name(node) not in _OWN_SCROLLING or labelled or document.attribute(node, "tabindex") != "-1":
            continue
        unreachable = document.style(node, "opacity") == "0" and document.style(node, "pointer-events") == "none"
        if not _has_size(document, node) or unreachable:
            found.add(document.ids[node])
    return frozenset(found)


def _has_size(document: SnapshotDocument, field: int) -> bool:
    """Return whether a field is neither tiny nor clipped to something tiny."""
    for node in (field, *document.around(field)):
        box = document.box(node)
        hides = document.style(node, "overflow-y") != "visible"
        if box is not None and (node == field or hides) and min(box.width, box.height) < _LEAST:
            return False
    return document.box(field) is not None


def _text_fields(document: SnapshotDocument) -> list[int]:
    try:
        number = document.strings.index("TEXTAREA")
    except ValueError:
        areas = []
    else:
        areas = [node for node, name in enumerate(document.names) if name == number]
    boxes = (node for node in _with_string(document, "textbox") if document.attribute(node, "role") == "textbox")
    return [*areas, *(node for node in boxes if node not in areas)]


def _surface(document: SnapshotDocument, field: int) -> int | None:
    """Return the element that people see for a field; None if they see the field itself, or nothing."""
    transparent = any(document.style(node, "opacity") == "0" for node in (field, *document.around(field)))
    if (_has_size(document, field) and not transparent) or document.box(field) is None:
        return None
    for node in document.around(field):
        box = document.box(node)
        if document.name(node) == "BODY":
            return None
        if box is not None and box.width >= _SURFACE[0] and box.height >= _SURFACE[1]:
            return node
    return None


def _muted_texts(document: SnapshotDocument, surface: int, field: int) -> list[tuple[int, str]]:
    """Return the texts of an editor all of whose text is hidden from accessibility. Nodes are in document order."""
    found: list[tuple[int, str]] = []
    hidden: dict[int, bool | None] = {surface: None}
    """For each element in it: None if not hidden, else whether it has text that can be edited."""
    for node in range(surface + 1, len(document.parents)):
        parent = document.parents[node]
        if parent < surface:
            break
        state = hidden.get(parent)
        if state is None and document.attribute(node, "aria-hidden") == "true":
            state = document.style(node, "cursor") == "text"
        hidden[node] = state
        if document.raw["nodes"]["nodeType"][node] != _TEXT or node == field or field in document.around(node):
            continue
        text = document.strings[document.raw["nodes"]["nodeValue"][node]]
        if not text.strip() or document.box(node) is None:
            continue
        if state is None:
            return []
        if state:
            found.append((document.ids[node], writable(text.replace("\N{NO-BREAK SPACE}", " "))))
    return found


def _scrolls_page(document: SnapshotDocument, node: int) -> bool:
    """Return whether the whole page scrolls by this element: the body, unless its parent clips it."""
    return document.name(node) == "BODY" and document.style(document.parents[node], "overflow-y") == "visible"


def _scrolls(document: SnapshotDocument) -> dict[int, str]:
    """Estimate scroll positions from the boxes of the content; the snapshot has none."""
    overflow = {node: styles[-1] for node, styles in document.styles.items()}
    scrolling = {document.strings.index(each) for each in ("auto", "scroll") if each in document.strings}
    areas = {
        node
        for node, number in overflow.items()
        if number in scrolling and document.name(node) not in _OWN_SCROLLING and not _scrolls_page(document, node)
    }
    if not areas:
        return {}
    visible = document.strings.index("visible") if "visible" in document.strings else -1
    owners: list[int] = []
    """Nearest ancestor that clips, for each node; parents come before their children."""
    extents: dict[int, tuple[float, float]] = {}
    for node, parent in enumerate(document.parents):
        clips = parent >= 0 and overflow.get(parent, visible) != visible
        owners.append(parent if clips else owners[parent] if parent >= 0 else -1)
        box = document.box(node)
        if owners[node] in areas and box is not None:
            top, bottom = extents.get(owners[node], (box.y, box.y))
            extents[owners[node]] = (min(top, box.y), max(bottom, box.y + box.height))
    found = {}
    for node, (top, bottom) in extents.items():
        box = document.box(node)
        assert box is not None
        above, below = max(0.0, box.y - top), max(0.0, bottom - box.y - box.height)
        position = ScrollPosition(y=above, viewport_height=box.height, content_height=above + box.height + below)
        if text := position.describe():
            found[document.ids[node]] = text.removeprefix("… ")
    return found
