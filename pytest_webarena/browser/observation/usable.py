"""Elements that only scripts make usable, from a layout snapshot.

The script of the ``fast`` extractor finds them in the page (`fast/js/usable.js`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_webarena.browser.messages import writable
from pytest_webarena.browser.observation.markup import is_control
from pytest_webarena.text import shorten

if TYPE_CHECKING:
    from pytest_webarena.browser.observation.editors import SnapshotDocument

__all__ = ["Bare", "Usable", "find_usable"]

_POINTERS = ("pointer", "grab", "grabbing", "move")
"""Shapes of the pointer over something that can be used."""
_PAGE = frozenset({"HTML", "BODY", "#document"})
_NATIVE = frozenset({"A", "BUTTON", "INPUT", "LABEL", "OPTION", "SELECT", "SUMMARY", "TEXTAREA"})
_ITEMS = frozenset({"LI", "TR"})
_ITEM_ROLES = frozenset({"listitem", "row"})
_TEXT = 3
_LONGEST = 80
"""Maximum number of characters of classes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bare:
    """Words about an element that shows no text."""

    text: str
    """Text that the page has moved away to draw an icon in its place."""
    title: str
    classes: str

    @property
    def name(self) -> str:
        """The text, else the title."""
        return self.text or self.title


@dataclass(frozen=True, slots=True, kw_only=True)
class Usable:
    """Elements of one document that only scripts make usable, by backend node id."""

    around: Mapping[int, int] = field(default_factory=dict)
    """Usable element around a node, or the node itself."""
    pointed: frozenset[int] = frozenset()
    """Elements that the pointer shows to be usable."""
    bare: Mapping[int, Bare] = field(default_factory=dict)
    """Those that show neither text nor controls."""


def find_usable(document: SnapshotDocument) -> Usable:
    """Return the elements over which the pointer changes, or whose clicks scripts receive. Of a list, these are its
    items. An element around controls receives clicks for these."""
    around: dict[int, int] = {}
    pointed: set[int] = set()
    bare: dict[int, Bare] = {}
    by_pointer = dict.fromkeys(_pointed(document))
    listening = dict.fromkeys(document.raw["nodes"].get("isClickable", {"index": ()})["index"])
    for root in (*(node for node in listening if node not in by_pointer), *by_pointer):
        used = [node for node in document.around(root) if _is_used(document, node)]
        if _is_used(document, root) or (used and root not in by_pointer):
            continue
        inside = list(_inside(document, root))
        words = _words_about(document, root, inside)
        # A control made of other elements may have an icon over which the pointer changes.
        if used and (words is None or any(_is_native(document, node) for node in used)):
            continue
        controls = any(_is_used(document, node) for node in inside)
        delegates = root not in by_pointer and (controls or any(node in by_pointer for node in inside))
        if document.name(root) in _PAGE or delegates:
            continue
        owners = {root: root}
        blocked: set[int] = set()
        for node in inside:
            parent = document.parents[node]
            cursor = document.style(node, "cursor")
            changes = root in by_pointer and cursor not in ("", document.style(root, "cursor"))
            if parent in blocked or changes or _is_used(document, node):
                blocked.add(node)
                continue
            owners[node] = node if _is_item(document, node) else owners[parent]
        around |= {document.ids[node]: document.ids[owner] for node, owner in owners.items()}
        if root in by_pointer:
            pointed |= {document.ids[owner] for owner in owners.values()}
        if not controls and words is not None:
            bare[document.ids[root]] = words
    return Usable(around=around, pointed=frozenset(pointed), bare=bare)


def _pointed(document: SnapshotDocument) -> Iterator[int]:
    """Yield elements that change the pointer to one of `_POINTERS`, in the order of the document."""
    numbers = {document.strings.index(each) for each in _POINTERS if each in document.strings}
    for node in sorted(document.styles):
        cursor = document.style_number(node, "cursor")
        if cursor not in numbers:
            continue
        parent = document.parents[node]
        while parent >= 0 and parent not in document.styles:
            parent = document.parents[parent]
        if parent < 0 or document.style_number(parent, "cursor") != cursor:
            yield node


def _inside(document: SnapshotDocument, root: int) -> Iterator[int]:
    """Yield the nodes below ``root``, which follow it."""
    within = {root}
    for node in range(root + 1, len(document.parents)):
        if document.parents[node] not in within:
            return
        within.add(node)
        yield node


def _is_used(document: SnapshotDocument, node: int) -> bool:
    """Return whether the markup says that an element can be used."""
    name = document.name(node)
    return name == "LABEL" or (
        not name.startswith(("#", "::")) and is_control(name.lower(), document.attributes_of(node))
    )


def _is_native(document: SnapshotDocument, node: int) -> bool:
    """Return whether an element is a control of the browser's own, which takes all clicks on its parts."""
    return document.name(node) in _NATIVE or "contenteditable" in document.attributes_of(node)


def _is_item(document: SnapshotDocument, node: int) -> bool:
    return document.name(node) in _ITEMS or document.attribute(node, "role") in _ITEM_ROLES


def _words_about(document: SnapshotDocument, root: int, inside: Sequence[int]) -> Bare | None:
    """Return the words about an element; None if it shows a text, or nothing at all."""
    place = document.box(root)
    if place is None:
        return None
    texts = []
    for node in inside:
        text = _text(document, node)
        box = document.box(node) if text else None
        if box is not None and box.overlaps(place):
            return None
        texts += [text] if box is not None else []
    title = " ".join(document.attribute(root, "title").split())
    classes = shorten(document.attribute(root, "class"), _LONGEST)
    return Bare(text=writable(" ".join(texts)), title=writable(title), classes=writable(classes))


def _text(document: SnapshotDocument, node: int) -> str:
    nodes = document.raw["nodes"]
    return " ".join(document.strings[nodes["nodeValue"][node]].split()) if nodes["nodeType"][node] == _TEXT else ""
