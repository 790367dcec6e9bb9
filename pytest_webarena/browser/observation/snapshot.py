"""Reads the browser's layout snapshot (``DOMSnapshot.captureSnapshot``) as far as observations need it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_webarena.browser.messages import writable
from pytest_webarena.browser.observation.editors import Surroundings, read_surroundings
from pytest_webarena.browser.observation.extraction import Box, RemoteFrame
from pytest_webarena.browser.observation.model import ScrollPosition

__all__ = ["Box", "DocumentLayout", "read_snapshot"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentLayout:
    """Layout of one document: the main frame's, or a same-process iframe's."""

    frame_id: str
    title: str
    window: Box
    """Visible area of the document, in the main frame's viewport."""
    boxes: Mapping[int, Box]
    """Backend node id to box; nodes without a layout box are missing."""
    names: Mapping[int, str]
    """Backend node id to node name, e.g. ``INPUT`` or ``#text``, of every node."""
    frames: Mapping[int, str]
    """Backend node id of an iframe to the frame id of its document."""
    scroll: tuple[float, float]
    content: tuple[float, float]
    """Width and height of the scrollable content."""
    height: float = 0.0
    """Height of the document's viewport."""
    remote: RemoteFrame | None = None
    """Frame whose process contains it; None: the page's own process."""
    surroundings: Surroundings = field(default_factory=Surroundings)
    """Editors and scrolling areas."""

    @property
    def base(self) -> int:
        """Offset from backend node ids to printed ids."""
        return self.remote.base if self.remote is not None else 0

    @property
    def remote_iframes(self) -> dict[int, Box]:
        """Visible iframes whose document is in another process: backend node id to box."""
        return {
            backend: self.boxes[backend]
            for backend, name in self.names.items()
            if name in ("IFRAME", "FRAME") and backend not in self.frames and backend in self.boxes
        }

    def describe_scroll(self) -> str:
        """Describe how far the document can be scrolled; empty if it can't."""
        position = ScrollPosition(y=self.scroll[1], viewport_height=self.height, content_height=self.content[1])
        return position.describe().removeprefix("… ")

    def with_frames(self, frames: Mapping[int, str]) -> DocumentLayout:
        """Return a copy with documents for its hollow iframes."""
        return replace(self, frames={**self.frames, **frames})


def read_snapshot(
    raw: Mapping[str, Any], *, window: Box | None = None, remote: RemoteFrame | None = None
) -> tuple[DocumentLayout, ...]:
    """Return all documents of a process, the outermost first, with boxes in the main frame's viewport.

    ``window`` is the visible area of the outermost document; by default the whole page's. The styles of
    the snapshot must end with `editors.STYLES`.
    """
    documents = raw["documents"]
    strings: list[str] = raw["strings"]
    read: list[DocumentLayout | None] = [None] * len(documents)
    if not documents:
        return ()
    # The first box of a document is that of the document itself, with the size of its window.
    places: list[tuple[int, Box]] = [(0, window or Box(0, 0, *_own_size(documents[0])))]
    while places:
        index, window = places.pop()
        layout = replace(_read_document(documents[index], strings, window, documents), remote=remote)
        layout = replace(layout, surroundings=read_surroundings(documents[index], strings, layout.boxes))
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
        title=writable(strings[document["title"]]) if document.get("title", -1) >= 0 else "",
        window=window,
        boxes=boxes,
        names={ids[node]: strings[name] for node, name in enumerate(nodes["nodeName"])},
        frames={
            ids[node]: strings[documents[child]["frameId"]]
            for node, child in zip(hosts["index"], hosts["value"], strict=False)
        },
        scroll=(scroll_x, scroll_y),
        content=(document.get("contentWidth", 0) or 0, document.get("contentHeight", 0) or 0),
        height=_own_size(document)[1],
    )
