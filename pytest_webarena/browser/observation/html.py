"""The ``html`` form from the browser's layout snapshot, with the ids of the ``exact`` extractor, in one call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_webarena.browser.config import ObservationConfig
from pytest_webarena.browser.messages import is_readable, writable
from pytest_webarena.browser.observation.extraction import Box, ElementInfo, RemoteFrame
from pytest_webarena.browser.observation.markup import SKIPPED, VOID, MarkupWriter, is_control, opening
from pytest_webarena.browser.observation.snapshot import DocumentLayout

__all__ = ["HOLE", "SNAPSHOT_STYLES", "Html", "fill_holes", "render_html"]

HOLE = "\0"
"""Prefix of a line in place of the content of a frame of another process: see `fill_holes`."""
SNAPSHOT_STYLES = ("visibility", "display")
"""Computed styles that the snapshot must include."""

_INSERTED = frozenset({"::before", "::after"})
_EVERYWHERE = Box(-1e9, -1e9, 2e9, 2e9)
_ELEMENT, _TEXT, _DOCUMENT, _FRAGMENT = 1, 3, 9, 11


@dataclass(frozen=True, slots=True, kw_only=True)
class Html:
    """The page's markup, one element a line."""

    lines: tuple[str, ...]
    elements: Mapping[str, ElementInfo]


class _Strings(list[str]):
    """The snapshot's texts by index; index -1 is empty."""

    def __getitem__(self, number: Any) -> Any:
        return list.__getitem__(self, number) if number >= 0 else ""


class _Document:
    """One document of the snapshot with its lookup tables."""

    def __init__(self, raw: Mapping[str, Any], strings: list[str], layout: DocumentLayout) -> None:
        nodes = raw["nodes"]
        self.layout = layout
        self.strings = _Strings(strings)
        self.ids: list[int] = nodes["backendNodeId"]
        self.types: list[int] = nodes["nodeType"]
        self.names: list[int] = nodes["nodeName"]
        self.values: list[int] = nodes["nodeValue"]
        self.attributes: list[list[int]] = nodes["attributes"]
        self.children: list[list[int]] = [[] for _ in self.ids]
        for node, parent in enumerate(nodes["parentIndex"]):
            if parent >= 0:
                self.children[parent].append(node)
        self.inputs = dict(zip(nodes["inputValue"]["index"], nodes["inputValue"]["value"], strict=True))
        self.texts = dict(zip(nodes["textValue"]["index"], nodes["textValue"]["value"], strict=True))
        self.checked = set(nodes["inputChecked"]["index"])
        self.selected = set(nodes["optionSelected"]["index"])
        hosts = nodes.get("contentDocumentIndex", {"index": [], "value": []})
        self.frames = dict(zip(hosts["index"], hosts["value"], strict=True))
        self.inserted: dict[int, str] = {}
        """Texts that CSS inserts, by their pseudo elements."""
        self._find_inserted(raw, strings)
        self._by_id: dict[str, int] | None = None
        self.hidden: set[int] = set()
        self.inline: set[int] = set()
        """Nodes in inline layout."""
        for node, styles in zip(raw["layout"]["nodeIndex"], raw["layout"]["styles"], strict=True):
            if styles and strings[styles[0]] != "visible":
                self.hidden.add(node)
            if styles and strings[styles[1]] == "inline":
                self.inline.add(node)

    def _find_inserted(self, raw: Mapping[str, Any], strings: list[str]) -> None:
        pseudo = {node for node in raw["nodes"]["pseudoType"]["index"] if self.strings[self.names[node]] in _INSERTED}
        if not pseudo:
            return
        for node, text in zip(raw["layout"]["nodeIndex"], raw["layout"]["text"], strict=True):
            if node in pseudo and text >= 0:
                self.inserted[node] = self.inserted.get(node, "") + strings[text]
        for children in self.children:  # the snapshot has them before the element's own content
            after = [node for node in children if node in pseudo and self.strings[self.names[node]] == "::after"]
            children[:] = [*(node for node in children if node not in after), *after] if after else children

    def attributes_of(self, node: int, tag: str) -> dict[str, str]:
        """Return the attributes by name, with the current value of a field instead of the initial one."""
        pairs = self.attributes[node]
        found = {self.strings[pairs[at]]: self.strings[pairs[at + 1]] for at in range(0, len(pairs), 2)}
        if tag == "input" and found.get("type", "").lower() not in ("checkbox", "radio", "submit", "button", "reset"):
            value = self.strings[self.inputs[node]] if node in self.inputs else ""
            found["value"] = "•" * len(value) if found.get("type", "").lower() == "password" else value
        if "aria-labelledby" in found and (label := self._hidden_label(found["aria-labelledby"])):
            found["aria-label"] = label
        if tag in ("input", "option"):
            for name, nodes in (("checked", self.checked), ("selected", self.selected)):
                found.pop(name, None)
                if node in nodes:
                    found[name] = ""
        if tag == "option":
            found.pop("value", None)  # the agent chooses by label
        return found

    def _hidden_label(self, labels: str) -> str:
        """Return the text of elements by their ids if they are hidden, so that nothing else has it."""
        if self._by_id is None:
            self._by_id = {}
            for node, pairs in enumerate(self.attributes):
                for at in range(0, len(pairs), 2):
                    if self.strings[pairs[at]] == "id":
                        self._by_id.setdefault(self.strings[pairs[at + 1]], node)
        nodes = [self._by_id[each] for each in labels.split() if each in self._by_id]
        if any(self.ids[node] in self.layout.boxes for node in nodes):
            return ""
        return " ".join(" ".join(self._text_below(node)) for node in nodes)

    def _text_below(self, node: int) -> Iterator[str]:
        if self.types[node] == _TEXT:
            yield from self.strings[self.values[node]].split()
        for child in self.children[node]:
            yield from self._text_below(child)


@dataclass(slots=True)
class _Work:
    """A node to visit, or, with ``ends``, to leave."""

    document: _Document
    node: int
    depth: int
    view: Box
    inside: Box | None
    """Box of the nearest ancestor that has one, for options of closed lists."""
    ends: bool = False
    line: int | None = None
    shown: int = 0
    """Number of visible things before it."""
    note: str = ""
    """Additional last line inside it."""


class _Renderer:
    def __init__(self, documents: list[_Document | None], config: ObservationConfig) -> None:
        self._documents, self._config = documents, config
        self._all = not config.html_viewport_only
        self._left_out: set[tuple[int, int]] = set()
        self._shown = 0
        self._stack: list[_Work] = []
        self.writer = MarkupWriter()
        self.elements: dict[str, ElementInfo] = {}

    def render(self, main: _Document) -> None:
        self._stack = [_Work(main, 0, 0, main.layout.window, None)]
        while self._stack:
            work = self._stack.pop()
            kind = work.document.types[work.node]
            if work.ends:
                self._leave(work)
            elif kind == _TEXT:
                self._text(work)
            elif kind == _ELEMENT:
                self._element(work)
            elif kind in (_DOCUMENT, _FRAGMENT):
                self._enter(work, work.depth, work.inside)

    def _leave(self, work: _Work) -> None:
        if work.line is None:
            self.writer.block()
            return
        if work.shown == self._shown:
            self.writer.remove_last(work.line)
        elif work.note:
            self.writer.element(work.depth, work.note)
        self.writer.close()

    def _text(self, work: _Work) -> None:
        document, node = work.document, work.node
        box = document.layout.boxes.get(document.ids[node])
        if box is not None and node not in document.hidden and (self._all or box.overlaps(work.view)):
            text = writable(document.strings[document.values[node]])
            self._shown += bool(text.strip())
            self.writer.text(work.depth, text)

    def _inserted(self, work: _Work) -> None:
        document, node = work.document, work.node
        box, text = document.layout.boxes.get(document.ids[node]), writable(document.inserted[node])
        if (
            box is None
            or node in document.hidden
            or not (self._all or box.overlaps(work.view))
            or not is_readable(text)
        ):
            return
        self._shown += 1
        self.writer.text(work.depth, text if node in document.inline else f" {text} ")

    def _element(self, work: _Work) -> None:
        document, node = work.document, work.node
        tag = document.strings[document.names[node]].lower()
        if node in document.inserted:
            self._inserted(work)
        backend = document.ids[node]
        spare = backend in document.layout.surroundings.spare
        if tag in SKIPPED or ":" in tag or spare or (id(document), node) in self._left_out:
            return
        box = document.layout.boxes.get(backend)
        in_list = tag in ("option", "optgroup")
        if box is None and not in_list and not document.children[node]:
            return
        place = work.inside if in_list and box is None else box
        visible = place is not None and node not in document.hidden and (self._all or place.overlaps(work.view))
        attributes = document.attributes_of(node, tag)
        bare = document.layout.surroundings.usable.bare.get(backend)
        attributes["class"] = bare.classes if bare is not None and not bare.text else ""
        if visible:
            frame = self._documents[document.frames[node]] if node in document.frames else None
            area = document.layout.surroundings.scrolls.get(backend, "")
            attributes["scroll"] = frame.layout.describe_scroll() if frame is not None else area
        scripted = visible and document.layout.surroundings.usable.around.get(backend) == backend
        control = scripted or ((visible or box is None) and is_control(tag, attributes))
        number = document.layout.base + backend if control else None
        depth, end = work.depth, _Work(document, node, work.depth + 1, work.view, None, ends=True, shown=self._shown)
        if (line := opening(tag, attributes, number)) and (visible or box is None):
            end.line = self.writer.element(depth, writable(line))
            depth += 1
            self._shown += visible
            if number is not None:
                self.elements[str(number)] = ElementInfo(
                    backend=backend,
                    node_name=tag.upper(),
                    role=tag,
                    name=_name(document, node, attributes),
                    frame=document.layout.remote,
                )
        elif node not in document.inline and box is not None:
            self.writer.block()
        if end.line is not None or (node not in document.inline and box is not None):
            self._stack.append(end)
        if tag == "iframe" and node not in document.frames and end.line is not None:
            self.writer.element(depth, f"{HOLE}{document.layout.base + backend}")
        if tag == "br":
            self.writer.text(depth, " ")
        elif tag == "textarea" and visible and node in document.texts:
            self.writer.text(depth, writable(document.strings[document.texts[node]]))
        elif tag == "option" and visible:
            self.writer.text(depth, " " + writable(_content(document, node)))
        elif tag not in VOID and (tag != "select" or visible):
            if tag == "select":
                end.note = self._leave_out_options(document, node, number)
            # A control's text is its name, so it is printed even where it is outside of the viewport.
            view = work.view if number is None else _EVERYWHERE
            self._enter(_Work(document, node, depth, view, None), depth, box or work.inside)

    def _enter(self, work: _Work, depth: int, inside: Box | None) -> None:
        document = work.document
        child = document.frames.get(work.node)
        inner = self._documents[child] if child is not None else None
        if inner is not None:
            self._stack.append(_Work(inner, 0, depth, inner.layout.window.clip(work.view), None))
            return
        for each in reversed(document.children[work.node]):
            self._stack.append(_Work(document, each, depth, work.view, inside))

    def _leave_out_options(self, document: _Document, select: int, number: int | None) -> str:
        """Mark the options beyond the limit to be omitted; return a line with their number."""
        options, queue = [], list(document.children[select])
        while queue:
            node = queue.pop(0)
            name = document.strings[document.names[node]]
            if name == "OPTION":
                options.append(node)
            elif name == "OPTGROUP":
                queue[:0] = document.children[node]
        rest = [node for node in options[self._config.max_options :] if node not in document.selected]
        self._left_out |= {(id(document), node) for node in rest}
        return f"… {len(rest)} more options; to choose one of them, type its text into [{number}]" if rest else ""


def render_html(raw: Mapping[str, Any], layouts: Sequence[DocumentLayout], config: ObservationConfig) -> Html:
    """Return the lines of one process's documents. ``layouts`` are those of `read_snapshot`. Linear in the nodes."""
    strings: list[str] = raw["strings"]
    by_frame = {layout.frame_id: layout for layout in layouts}
    documents: list[_Document | None] = []
    for each in raw["documents"]:
        layout = by_frame.get(strings[each["frameId"]])
        documents.append(_Document(each, strings, layout) if layout is not None else None)
    renderer = _Renderer(documents, config)
    if documents and documents[0] is not None:
        renderer.render(documents[0])
    return Html(lines=tuple(renderer.writer.finished()), elements=renderer.elements)


def fill_holes(lines: Sequence[str], frame: RemoteFrame, inside: Sequence[str]) -> list[str]:
    """Insert the lines of a frame of another process into ``lines`` at its place."""
    base = frame.parent.base if frame.parent is not None else 0
    hole = f"{HOLE}{base + frame.owner}"
    found: list[str] = []
    for line in lines:
        if line.lstrip("\t") == hole:
            depth = len(line) - len(hole)
            found += ["\t" * depth + each for each in inside]
        else:
            found.append(line)
    return found


def _content(document: _Document, node: int) -> str:
    return " ".join(
        " ".join(document.strings[document.values[each]].split())
        for each in document.children[node]
        if document.types[each] == _TEXT
    )


def _name(document: _Document, node: int, attributes: Mapping[str, str]) -> str:
    """Return a name for an element in messages."""
    label = next(
        (attributes[name] for name in ("aria-label", "alt", "placeholder", "title") if attributes.get(name)), ""
    )
    return writable(label or _content(document, node))
