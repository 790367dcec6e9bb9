"""Which passages of a page belong together: names and what is said of them, by the structure of the page alone."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_webarena.html_pages.page_tree import Structure

__all__ = ["belongs"]

_ROWS = frozenset(("li", "option", "tr"))
"""Elements that HTML defines as items of a list."""
_ITEMS = _ROWS | {"article", "p"}
"""Elements that are items of their own when they follow each other, except within a record."""
_WHOLE = frozenset(("body", "html", "main"))
_MOST_WORDS = 8
"""Maximum length of a label in words."""


def belongs(structure: Structure, places: Sequence[int], name: int, value: int, *, text: str, first: bool) -> bool:
    """Whether the passage ``value`` is about what the passage ``name`` names; both are indices of ``places``, which has
    the element of each passage.

    The nearest common ancestor decides. They belong together if it is one of several similar records (a card, a row),
    or a list of the properties of one thing, or if the name is a label, and no further label comes between them. Of
    columns side by side, the items with the same position do.

    Args:
        structure: The elements of the page.
        places: The element of each passage.
        name: The passage with the name.
        value: The other one.
        text: The text of the passage with the name.
        first: Whether the name is in the first line, or cell, of its passage.
    """
    named, valued = structure.path(places[name]), structure.path(places[value])
    depth = next((at for at, (a, b) in enumerate(zip(named, valued, strict=False)) if a != b), None)
    if depth is None:  # one contains the other
        return name == value or structure.tags[min(named, valued, key=len)[-1]] not in _WHOLE
    ancestor, mine, theirs = named[depth - 1], named[depth], valued[depth]
    if _names_columns(structure, named, ancestor) or _is_property(structure, named[depth:], theirs, first=first):
        return True
    are_alike = structure.alike(mine, theirs)
    if are_alike and structure.tags[mine] in _ROWS:
        return False
    if _are_columns(structure, mine, theirs):
        return len(named) > depth + 1 < len(valued) and (
            structure.children(mine).index(named[depth + 1]) == structure.children(theirs).index(valued[depth + 1])
        )
    siblings = structure.children(ancestor)
    if _is_record(structure, ancestor):
        return True
    if are_alike:  # without rows, nothing in the page separates one thing from the next
        return structure.tags[mine] not in _ITEMS and not any(map(structure.children, siblings))
    inside = [at for at, place in enumerate(places) if mine in structure.path(place)]
    if inside != [name] or structure.tags[mine] in _ITEMS or len(text.split()) > _MOST_WORDS:
        return False
    labels = [sibling for sibling in siblings if sibling != mine and structure.alike(sibling, mine)]
    if theirs < mine:
        return not any(label < mine for label in labels)
    return not any(mine < label < theirs for label in labels)


def _names_columns(structure: Structure, named: Sequence[int], ancestor: int) -> bool:
    """Whether the name is in a row of headings, so that the rows of its table are about it."""
    row = next((number for number in named[::-1] if structure.tags[number] == "tr"), None)
    if row is None or row <= ancestor or "table" not in (structure.tags[each] for each in structure.path(ancestor)):
        return False
    return {structure.tags[cell] for cell in structure.children(row)} == {"th"}


def _is_property(structure: Structure, named: Sequence[int], theirs: int, *, first: bool) -> bool:
    """Whether the name is the value of one property of a thing, and the other element is another property of it."""
    tags = [structure.tags[number] for number in named]
    if tags[0] == "tr":
        rows = structure.children(named[0]), structure.children(theirs)
        return not first and structure.tags[theirs] == "tr" and len(rows[0]) == len(rows[1]) == 2
    return "dd" in tags and structure.tags[structure.parents[named[0]]] == "dl"


def _are_columns(structure: Structure, one: int, other: int) -> bool:
    """Whether two elements have the same number of children, and those of each are alike."""
    lists = structure.children(one), structure.children(other)
    return len(lists[0]) == len(lists[1]) > 1 and all(
        structure.alike(items[0], item) for items in lists for item in items[1:]
    )


def _is_record(structure: Structure, number: int) -> bool:
    """Whether an element is one of several with the same parts."""
    parts = [structure.tags[child] for child in structure.children(number)]
    return any(
        sibling != number
        and structure.alike(sibling, number)
        and [structure.tags[child] for child in structure.children(sibling)] == parts
        for sibling in structure.children(structure.parents[number])
    )
