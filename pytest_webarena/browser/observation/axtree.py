"""Formats the browser's accessibility tree as WebArena's text.

One line per node, tabs for depth: ``[id] role 'name' property: value``. Ids are the browser's backend node ids, so an
element keeps its id as long as it exists. Selection and format of lines follow the original harness, without its
defects:

- The chosen option and the value of a field are shown; inner parts of a field are merged into its value.
- Iframes are not cut off.
- Text boxes of the layout (``InlineTextBox``) and bare line breaks are omitted.
- The overlap ratio of 0.6, which never worked, is replaced by "any pixel in the viewport".
- A text is omitted only if an element around it has the same text, not if any of the three lines before happens to
  contain it (``1`` after ``10``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_webarena.browser.config import ObservationConfig
from pytest_webarena.browser.messages import is_readable, writable
from pytest_webarena.browser.observation.extraction import Box, ElementInfo
from pytest_webarena.browser.observation.snapshot import DocumentLayout
from pytest_webarena.browser.observation.usable import Bare

__all__ = ["HIDDEN_PROPERTIES", "PLAIN_ROLES", "RenderedTree", "render_tree"]

AXNode = Mapping[str, Any]

_DROPPED_ROLES = frozenset({"InlineTextBox", "LineBreak"})
"""Roles that are omitted with everything below them."""
_RISEN_ROLES = frozenset({"MenuListPopup"})
"""Roles that are not printed, while everything below them is."""
PLAIN_ROLES = frozenset({
    "generic", "img", "list", "strong", "paragraph", "banner", "navigation", "Section", "LabelText", "Legend",
    "listitem",
})  # fmt: skip
"""Roles that are not printed without a name and properties."""
HIDDEN_PROPERTIES = frozenset({"focusable", "editable", "readonly", "level", "settable", "multiline", "invalid"})
_VALUELESS_ROLES = frozenset({"RootWebArea", "generic", "link", "StaticText"})
_OPTION = frozenset({"option", "menuitem"})
_NAMED_BY_CONTENT = frozenset({
    "button", "cell", "checkbox", "columnheader", "DisclosureTriangle", "gridcell", "heading", "LabelText",
    "LayoutTableCell", "Legend", "link", "menuitem", "menuitemcheckbox", "menuitemradio", "option", "radio", "row",
    "rowheader", "switch", "tab", "term", "tooltip", "treeitem",
})  # fmt: skip
"""Roles whose name is the text inside them, which is not printed again."""

_CONTROLS = frozenset({
    "button", "checkbox", "ColorWell", "combobox", "Date", "DateTime", "DisclosureTriangle", "InputTime", "link",
    "listbox", "menuitem", "menuitemcheckbox", "menuitemradio", "option", "radio", "searchbox", "slider", "spinbutton",
    "switch", "tab", "textbox", "treeitem",
})  # fmt: skip
"""Roles that are marked in pictures; elements with other roles are marked if they are focusable."""
_TEXT_ROLES = frozenset({"textbox", "searchbox", "combobox", "spinbutton"})
_FIELDS = frozenset({"INPUT", "TEXTAREA", "SELECT", "#document"})
_INSERTED = frozenset({"::before", "::after"})
_NOT_MARKED = frozenset({"RootWebArea", "Iframe", "StaticText"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedTree:
    """A page as text."""

    lines: tuple[str, ...]
    elements: Mapping[str, ElementInfo]
    title: str
    focused: str
    """``[id] role 'name'`` of the focused element; empty if only the page has the focus."""
    marks: Mapping[str, Box] = field(default_factory=dict)
    """Id to box of elements that can be acted on and have a box."""


@dataclass(slots=True)
class _Select:
    """A ``<select>`` whose options are being listed."""

    id: int
    listed: int = 0
    left_out: int = 0


@dataclass(slots=True)
class _Work:
    """A node to visit, or, with ``mark`` or without a node, the end of one."""

    node: AXNode | None
    depth: int
    layout: DocumentLayout
    view: Box
    box: Box | None
    """Box of the nearest ancestor that has one."""
    outer_names: str = ""
    """Names of printed ancestors that are named by their content."""
    select: _Select | None = None
    mark: int | None = None
    """Number of visible nodes when this one was visited."""
    line: int = 0
    """Index of its line."""
    host: int | None = None
    """Backend node id of the nearest element around it."""


@dataclass(slots=True)
class _Output:
    lines: list[str] = field(default_factory=list)
    elements: dict[str, ElementInfo] = field(default_factory=dict)
    focused: str = ""
    marks: dict[str, Box] = field(default_factory=dict)
    marked: set[tuple[int, int]] = field(default_factory=set)
    """Elements with a box: base of their process and backend node id."""
    visible_count: int = 0
    """Number of visible nodes, printed or not."""


def render_tree(
    trees: Mapping[str, Sequence[AXNode]], layouts: Sequence[DocumentLayout], config: ObservationConfig
) -> RenderedTree:
    """Return the lines of the page whose main frame is ``layouts[0]``.

    ``trees`` maps frame ids to the nodes of ``Accessibility.getFullAXTree``. A frame without an entry is printed as a
    bare ``Iframe`` line. The time is linear in the number of nodes.
    """
    main = layouts[0]
    documents = {layout.frame_id: layout for layout in layouts}
    by_id: dict[tuple[str, str], AXNode] = {}
    for frame, nodes in trees.items():
        for node in nodes:
            by_id.setdefault((frame, node["nodeId"]), node)
    out = _Output()
    nodes = trees.get(main.frame_id) or ()
    title = _text(nodes[0].get("name", {}).get("value")) if nodes else ""
    stack = [_Work(nodes[0], 0, main, main.window, main.window)] if nodes else []
    while stack:
        work = stack.pop()
        if work.node is None:
            _finish(work, out, config)
            continue
        node, layout = work.node, work.layout
        role = _role(node)
        if role in _DROPPED_ROLES:
            continue
        backend = node.get("backendDOMNodeId")
        if backend in layout.surroundings.spare:
            continue
        node_name = layout.names.get(backend, "") if backend is not None else ""
        if backend is not None and node_name in _INSERTED:
            inserted = {"role": {"value": "StaticText"}, "name": {"value": _inserted_text(node, layout, by_id)}}
            if _visible(backend, node_name, layout.boxes.get(backend), work, config):
                out.visible_count += 1
                if _emit(inserted, "StaticText", backend, node_name, work, out, config):
                    _mark_usable(backend, "StaticText", work, out, config)
            continue
        if backend in layout.surroundings.draggable:
            node = _as_draggable(node, layout, by_id)
            role = _role(node)
        elif backend in layout.surroundings.usable.pointed and (node.get("ignored") or role == "generic"):
            node = _as_clickable(node, layout.surroundings.usable.bare.get(backend))
            role = _role(node)
        own_box = layout.boxes.get(backend) if backend is not None else None
        is_root = backend is not None and node_name == "#document"
        box = own_box or work.box
        select = _Select(backend) if node_name == "SELECT" and backend is not None else work.select
        printed = _visible(backend, node_name, own_box, work, config) and _prints(
            node, role, layout is main or not is_root
        )
        if printed and select is not None and role in _OPTION:
            if select.listed >= config.max_options and not _property(node, "selected"):
                select.left_out += 1
                printed = False
            else:
                select.listed += 1
        if own_box is not None and own_box.overlaps(work.view):
            out.visible_count += 1
        if printed:
            assert backend is not None
            node = _with_surroundings(node, backend, node_name, layout, documents, by_id)
            for text, content in layout.surroundings.texts.get(backend, ()):
                shown = {"role": {"value": "StaticText"}, "name": {"value": content}}
                if not config.current_viewport_only or layout.boxes[text].overlaps(work.view):
                    _emit(shown, "StaticText", text, "#text", work, out, config)
            printed = _emit(node, role, backend, node_name, work, out, config)
            seen_box = layout.surroundings.surfaces.get(backend, own_box)
            if printed and seen_box is not None and role not in _NOT_MARKED and _can_be_acted_on(node, role):
                _mark(backend, backend, seen_box, work, out, config)
            elif printed:
                _mark_usable(backend, role, work, out, config)
        depth = work.depth + 1 if printed else work.depth
        named = role in _NAMED_BY_CONTENT or "clickable" in node or "draggable" in node or _is_editor(node, node_name)
        outer_names = work.outer_names
        if printed and named:
            outer_names += f"\n{_text(node['name'].get('value'))}"
        if select is not work.select:
            stack.append(_Work(None, depth, layout, work.view, box, select=select))
        in_list = node_name in ("OPTION", "OPTGROUP")
        if printed and own_box is None and node_name and not is_root and not in_list:
            stack.append(_Work(None, depth, layout, work.view, box, mark=out.visible_count, line=len(out.lines) - 1))
        if node_name in ("INPUT", "TEXTAREA"):
            continue
        child_frame = layout.frames.get(backend) if backend is not None else None
        if child_frame is not None:
            child = documents.get(child_frame)
            if child is not None and trees.get(child_frame):
                view = child.window.clip(work.view)
                stack.append(_Work(trees[child_frame][0], depth, child, view, child.window))
            continue
        for child_id in reversed(node.get("childIds", ())):
            child_node = by_id.get((layout.frame_id, child_id))
            if child_node is not None:
                host = backend if backend is not None else work.host
                stack.append(
                    _Work(child_node, depth, layout, work.view, box, outer_names=outer_names, select=select, host=host)
                )
    return RenderedTree(
        lines=tuple(out.lines), elements=out.elements, title=title, focused=out.focused, marks=out.marks
    )


def _finish(work: _Work, out: _Output, config: ObservationConfig) -> None:
    """End a node: add a line after its children, or remove the node if nothing in it is visible."""
    if work.mark is not None:
        # An element without a box (display: contents) is visible only if something in it is.
        if config.current_viewport_only and out.visible_count == work.mark:
            del out.lines[work.line :]
    elif work.select is not None and work.select.left_out:
        number = work.layout.base + work.select.id
        more = f"… {work.select.left_out} more options; to choose one of them, type its text into [{number}]"
        out.lines.append("\t" * work.depth + more)


def _visible(backend: int | None, node_name: str, own: Box | None, work: _Work, config: ObservationConfig) -> bool:
    if backend is None:
        return False
    if not config.current_viewport_only or node_name == "#document":
        return True
    if own is not None:
        # Pages move a text away to draw an icon in its place.
        is_away = node_name == "#text" and own.x + own.width < work.layout.window.x
        return own.overlaps(work.view) or (is_away and work.box is not None and work.box.overlaps(work.view))
    if node_name and node_name not in ("OPTION", "OPTGROUP"):
        return True  # without a box: `_finish` removes it unless something in it is visible
    # The snapshot has no parts of controls and options of closed lists: their place is that of the control.
    return work.box is not None and work.box.overlaps(work.view)


def _prints(node: AXNode, role: str, root_prints: bool) -> bool:
    return root_prints and not node.get("ignored") and "name" in node and role not in _RISEN_ROLES


def _emit(
    node: AXNode, role: str, backend: int, node_name: str, work: _Work, out: _Output, config: ObservationConfig
) -> bool:
    """Add the node's line if the rules permit; return whether it was added."""
    name = _text(node["name"].get("value"))
    properties = _properties(node, config)
    value = _value(node, role, name)
    if value is not None:
        properties.append(f"value: {value!r}")
    if not name.strip() and ((role in PLAIN_ROLES and not properties) or role == "listitem"):
        return False
    if role == "StaticText" and (not name.strip() or name.strip() in work.outer_names):
        return False
    number = work.layout.base + backend
    if node_name in _INSERTED and work.host is not None:
        backend = work.host  # actions on the text are actions on its element
        node_name = work.layout.names.get(backend, "")
    out.lines.append("\t" * work.depth + " ".join([f"[{number}] {role} {name!r}", *properties]))
    usable = work.layout.surroundings.usable.around.get(backend, backend)
    out.elements[str(number)] = ElementInfo(
        backend=backend,
        node_name=node_name,
        role=role,
        name=name,
        frame=work.layout.remote,
        around=(usable, work.layout.names.get(usable, "")) if usable != backend else None,
    )
    if role != "RootWebArea" and _property(node, "focused"):
        out.focused = f"[{number}] {role} {name!r}"
    return True


def _mark(id: int, element: int, box: Box, work: _Work, out: _Output, config: ObservationConfig) -> None:
    out.marked.add((work.layout.base, element))
    out.marks[str(work.layout.base + id)] = box.clip(work.view) if config.current_viewport_only else box


def _mark_usable(backend: int, role: str, work: _Work, out: _Output, config: ObservationConfig) -> None:
    """Mark the element around a node that only scripts make usable, at the first line in it."""
    usable = work.layout.surroundings.usable.around.get(backend)
    box = work.layout.boxes.get(usable) if usable is not None else None
    marked = (work.layout.base, usable) in out.marked
    if usable is not None and box is not None and not marked and role not in ("RootWebArea", "ListMarker"):
        _mark(backend, usable, box, work, out, config)


def _with_surroundings(
    node: AXNode,
    backend: int,
    node_name: str,
    layout: DocumentLayout,
    documents: Mapping[str, DocumentLayout],
    by_id: Mapping[tuple[str, str], AXNode],
) -> AXNode:
    """Add what the browser does not report of editors and scrolling areas: ``editor``, ``scroll``, a name."""
    added: dict[str, Any] = {}
    frame = documents.get(layout.frames.get(backend, ""))
    scroll = layout.surroundings.scrolls.get(backend) or (frame.describe_scroll() if frame is not None else "")
    if scroll:
        added["scroll"] = scroll
    if form := layout.surroundings.editable.get(backend):  # the browser does not report it of a custom element
        lacking = {
            name: value for name, value in (("editable", form), ("focusable", True)) if not _property(node, name)
        }
        properties = [{"name": name, "value": {"value": value}} for name, value in lacking.items()]
        node = {**node, "properties": [*node.get("properties", ()), *properties]}
    if _is_editor(node, node_name):
        added["editor"] = _role(node) not in _TEXT_ROLES
        if not _text(node["name"].get("value")).strip():
            added["name"] = {
                "value": layout.surroundings.placeholders.get(backend) or _only_inserted(node, layout, by_id)
            }
    return {**node, **added}


def _as_draggable(node: AXNode, layout: DocumentLayout, by_id: Mapping[tuple[str, str], AXNode]) -> AXNode:
    """Return the node of an element that can be dragged; its text is its name if it has no other."""
    name = _text(node.get("name", {}).get("value")).strip()
    texts = (_text(each["name"].get("value")) for each in _below(node, layout, by_id) if _role(each) == "StaticText")
    role = "group" if node.get("ignored") else _role(node)
    named = name or " ".join("".join(texts).split())
    return {**node, "ignored": False, "role": {"value": role}, "name": {"value": named}, "draggable": True}


def _as_clickable(node: AXNode, bare: Bare | None) -> AXNode:
    """Return the node of an element that shows no text, with what names it; ``clickable``: its classes if nothing."""
    if bare is None:
        return node
    role, name = {"value": "generic"}, bare.text or _text(node.get("name", {}).get("value")).strip() or bare.title
    return {**node, "ignored": False, "role": role, "name": {"value": name}, "clickable": "" if name else bare.classes}


def _is_editor(node: AXNode, node_name: str) -> bool:
    return node_name not in _FIELDS and bool(_property(node, "editable")) and bool(_property(node, "focusable"))


def _below(node: AXNode, layout: DocumentLayout, by_id: Mapping[tuple[str, str], AXNode]) -> Iterator[AXNode]:
    """Yield the node and everything below it in its document, in order."""
    stack = [node]
    while stack:
        at = stack.pop()
        yield at
        stack += [by_id[key] for each in reversed(at.get("childIds", ())) if (key := (layout.frame_id, each)) in by_id]


def _inserted_text(node: AXNode, layout: DocumentLayout, by_id: Mapping[tuple[str, str], AXNode]) -> str:
    """Return the text that CSS inserts as this pseudo element; empty if nobody can read it."""
    texts = (each["name"] for each in _below(node, layout, by_id) if _role(each) == "StaticText" and "name" in each)
    text = "".join(_text(name.get("value")) for name in texts)
    return text if is_readable(text) else ""


def _only_inserted(node: AXNode, layout: DocumentLayout, by_id: Mapping[tuple[str, str], AXNode]) -> str:
    """Return the text that CSS shows in an empty editor; empty for another one."""
    found = ""
    pseudo: set[str] = set()
    for each in _below(node, layout, by_id):
        if layout.names.get(each.get("backendDOMNodeId", -1)) in _INSERTED:
            found = found or _inserted_text(each, layout, by_id).strip()
            pseudo.update(each.get("childIds", ()))
        elif each["nodeId"] in pseudo:
            pseudo.update(each.get("childIds", ()))
        elif _role(each) == "StaticText":
            return ""
    return found


def _can_be_acted_on(node: AXNode, role: str) -> bool:
    return role in _CONTROLS or "draggable" in node or bool(_property(node, "focusable"))


def _properties(node: AXNode, config: ObservationConfig) -> list[str]:
    found = []
    for each in node.get("properties", ()):
        name = each["name"]
        if name == "editable" and node.get("editor"):
            found.append(f"editable: {each['value']['value']}")
        if name in HIDDEN_PROPERTIES or (name == "url" and not config.link_urls):
            continue
        if "value" in each.get("value", {}):
            found.append(f"{name}: {each['value']['value']}")
    if "clickable" in node:
        found.append(f"clickable: True class: {node['clickable']!r}" if node["clickable"] else "clickable: True")
    if "draggable" in node:
        found.append("draggable: True")
    if scroll := node.get("scroll"):
        found.append(f"scroll: {scroll}")
    return found


def _value(node: AXNode, role: str, name: str) -> Any:
    """Return a field's value; None if the line already contains it."""
    value = node.get("value", {}).get("value")
    if value in (None, "") or role in _VALUELESS_ROLES or "editor" in node:
        return None
    if isinstance(value, float):
        return round(value, 6)  # the browser has single precision
    return _text(value) if isinstance(value, str) else value


def _property(node: AXNode, name: str) -> Any:
    for each in node.get("properties", ()):
        if each["name"] == name:
            return each.get("value", {}).get("value")
    return None


def _role(node: AXNode) -> str:
    return str(node.get("role", {}).get("value", ""))


def _text(value: object) -> str:
    return writable(value if isinstance(value, str) else "" if value is None else str(value))
