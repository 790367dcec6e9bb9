"""The browser's layout snapshot (``DOMSnapshot.captureSnapshot``), read for what an observation needs of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Box", "DocumentLayout", "read_snapshot"]


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in CSS pixels of the main frame's viewport."""

    x: float
    y: float
    width: float
    height: float

    def overlaps(self, other: Box) -> bool:
        """Whether any pixel is in both."""
        return (
            self.width > 0
            and self.height > 0
            and self.x < other.x + other.width
            and other.x < self.x + self.width
            and self.y < other.y + other.height
            and other.y < self.y + self.height
        )

    def clip(self, other: Box) -> Box:
        """What is in both; without area when they don't overlap."""
        x, y = max(self.x, other.x), max(self.y, other.y)
        right = min(self.x + self.width, other.x + other.width)
        bottom = min(self.y + self.height, other.y + other.height)
        return Box(x, y, max(0.0, right - x), max(0.0, bottom - y))


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentLayout:
    """One document: the main frame's, or a same-process iframe's."""

    frame_id: str
    window: Box
    """Where it is seen through, in the main frame's viewport."""
    boxes: Mapping[int, Box]
    """Backend node id to box; nodes without a layout box are missing."""
    names: Mapping[int, str]
    """Backend node id to node name, e.g. ``INPUT`` or ``#text``, of every node."""
    frames: Mapping[int, str]
    """Backend node id of an iframe to the frame id of its document."""
    scroll: tuple[float, float]
    content: tuple[float, float]
    """Width and height of everything that can be scrolled to."""


def read_snapshot(raw: Mapping[str, Any]) -> tuple[DocumentLayout, ...]:
    """All documents, the main frame's first, with boxes as the viewport shows them."""
    documents = raw["documents"]
    strings: list[str] = raw["strings"]
    read: list[DocumentLayout | None] = [None] * len(documents)
    if not documents:
        return ()
    # The first box of a document is its own: as large as its window.
    places: list[tuple[int, Box]] = [(0, Box(0, 0, *_own_size(documents[0])))]
    while places:
        index, window = places.pop()
        layout = _read_document(documents[index], strings, window, documents)
        read[index] = layout
        hosts = documents[index]["nodes"].get("contentDocumentIndex", {"index": [], "value": []})
        ids = documents[index]["nodes"]["backendNodeId"]
        for node, child in zip(hosts["index"], hosts["value"], strict=False):
            box = layout.boxes.get(ids[node])
            if box is not None and read[child] is None:
                places.append((child, box))
    return tuple(document for document in read if document is not None)


def _own_size(document: Mapping[str, Any]) -> tuple[float, float]:
    bounds = document["layout"]["bounds"]
    return (bounds[0][2], bounds[0][3]) if bounds else (0.0, 0.0)


def _read_document(
    document: Mapping[str, Any], strings: list[str], window: Box, documents: list[Mapping[str, Any]]
) -> DocumentLayout:
    nodes, layout = document["nodes"], document["layout"]
    ids: list[int] = nodes["backendNodeId"]
    scroll_x, scroll_y = document.get("scrollOffsetX", 0) or 0, document.get("scrollOffsetY", 0) or 0
    left, top = window.x - scroll_x, window.y - scroll_y
    boxes: dict[int, Box] = {}
    for node, (x, y, width, height) in zip(layout["nodeIndex"], layout["bounds"], strict=True):
        boxes.setdefault(ids[node], Box(left + x, top + y, width, height))
    hosts = nodes.get("contentDocumentIndex", {"index": [], "value": []})
    return DocumentLayout(
        frame_id=strings[document["frameId"]],
        window=window,
        boxes=boxes,
        names={ids[node]: strings[name] for node, name in enumerate(nodes["nodeName"])},
        frames={
            ids[node]: strings[documents[child]["frameId"]]
            for node, child in zip(hosts["index"], hosts["value"], strict=False)
        },
        scroll=(scroll_x, scroll_y),
        content=(document.get("contentWidth", 0) or 0, document.get("contentHeight", 0) or 0),
    )
