"""Parses HTML as browsers do, and walks through the tree. The only importer of lxml."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Step", "Structure", "visible", "walk"]

_LONGEST = 3_000_000
"""Maximum length of a page in characters."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a walk: an element begins or ends, or there is text."""

    kind: Literal["start", "end", "text"]
    tag: str
    """The element; of a text: the one that it is in."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    text: str = ""


def walk(html: str) -> Iterator[Step]:
    """Yields the steps of a walk through a page in document order. Every element ends, with or without an end tag.

    >>> [f"{step.kind} {step.tag}" for step in walk("<ul><li>a<li>b")][2:7]
    ['start ul', 'start li', 'text li', 'end li', 'start li']
    """
    from lxml import etree  # late, because only audits read pages

    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        root = etree.fromstring(html[:_LONGEST].encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError:  # an empty page
        return
    if root is None:
        return
    for event, element in etree.iterwalk(root, events=("start", "end")):
        if not isinstance(element.tag, str):
            continue
        tag = element.tag.rpartition("}")[2].lower()
        if event == "start":
            yield Step("start", tag, {str(name).lower(): str(value) for name, value in element.attrib.items()})
            if element.text:
                yield Step("text", tag, text=element.text)
        else:
            yield Step("end", tag)
            parent = element.getparent()
            if element.tail and parent is not None:
                yield Step("text", str(parent.tag), text=element.tail)


def visible(text: str) -> str:
    """Returns a text without the characters that nobody sees: soft hyphens, zero-width spaces, marks of direction.

    >>> visible("wei\\u00adght\\u200b")
    'weight'
    """
    if text.isascii():
        return text
    return "".join(each for each in text if unicodedata.category(each) != "Cf")


@dataclass(slots=True)
class Structure:
    """The elements of a page that are, or contain, passages, by number in document order."""

    parents: list[int] = field(default_factory=list)
    """The number of each element's parent; -1 for the root."""
    tags: list[str] = field(default_factory=list)
    classes: list[frozenset[str]] = field(default_factory=list)
    _children: dict[int, list[int]] | None = None

    def add(self, parent: int, tag: str, classes: frozenset[str]) -> int:
        """Add an element, and return its number."""
        self.parents.append(parent)
        self.tags.append(sys.intern(tag))
        self.classes.append(classes)
        return len(self.parents) - 1

    def children(self, number: int) -> list[int]:
        """Returns the element's children, in order."""
        if self._children is None:
            self._children = {}
            for child, parent in enumerate(self.parents):
                self._children.setdefault(parent, []).append(child)
        return self._children.get(number, [])

    def path(self, number: int) -> list[int]:
        """Returns the elements from the root to this one."""
        found = []
        while number >= 0:
            found.append(number)
            number = self.parents[number]
        return found[::-1]

    def alike(self, one: int, other: int) -> bool:
        """Whether two elements look like items of one list: the same tag, and a common class if they have any."""
        mine, theirs = self.classes[one], self.classes[other]
        return self.tags[one] == self.tags[other] and (bool(mine & theirs) or not (mine or theirs))
