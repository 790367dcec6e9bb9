"""Selectors for recorded elements, from their accessible name (most durable) to their place in the document."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile

from pytest_webarena.element_paths import css_path, css_step, frame_prefix
from pytest_webarena.signals import DomEvent, ElementRecord, KeyPressed
from pytest_webarena.tasks.syntax import ROLES

__all__ = ["selectors_of"]

_FIELDS = frozenset({"input", "select", "textarea"})
"""Tags of fields. A click on one of them is not a click on the label around it."""
_NAMED_BY_TEXT = frozenset({
    "button", "cell", "checkbox", "columnheader", "gridcell", "heading", "link", "menuitem", "menuitemcheckbox",
    "menuitemradio", "option", "radio", "row", "rowheader", "switch", "tab", "tooltip", "treeitem",
})  # fmt: skip
"""Roles whose elements have their text as name; the text of others, such as paragraphs, is no name."""
_TEST_IDS = ("data-testid", "data-test-id", "data-test")
_LONGEST = 80
"""Maximum number of characters of a name; longer ones are paragraphs that are likely to be reworded."""
_MADE_UP = re.compile(r"\d{3,}|[0-9a-f]{8,}|^:|--")
"""Pattern in an id or class that a program generated for this page or this row."""
_MOST_CLASSES = 4
"""Maximum number of classes of an element. With more, they are the names of styles in a program."""
_HOLDERS = frozenset({"form", "dialog", "main", "nav", "header", "footer", "aside", "section", "article", "fieldset"})
_ALONE = frozenset({"main", "dialog", "nav", "header", "footer", "aside"})
"""Containers of which a page has few."""
_LABEL = "internal:label"
"""Playwright's engine behind `get_by_label`."""


def selectors_of(event: DomEvent | KeyPressed) -> tuple[str, ...]:
    """Return Playwright selectors for the element of ``event``, each at most once.

    The order is: role and name, label, text, test id, id, attributes, surroundings. If the target is inside a link, a
    button or the like, the selectors are for that. The last selector is the element's place in its document, as the
    listener saw it.
    """
    chain, place = event.chain, 0
    name, text = event.target.name, event.target.text
    in_field = event.target.tag in _FIELDS
    control = event.control if isinstance(event, DomEvent) else None
    if control is not None and control.place < len(chain) and not in_field:
        place, name, text = control.place, control.name, control.text
    element = chain[place] if chain else None
    frame = frame_prefix(chain)
    position = event.target.selector if place == 0 else ""
    last = f"css={position or css_path(chain[place:])}"
    selectors = (*_selectors(event, element, place, name, text), *_around(chain[place:]))
    found = dict.fromkeys(frame + selector for selector in selectors if selector != last)
    return (*found, frame + last)


def _selectors(
    event: DomEvent | KeyPressed, element: ElementRecord | None, place: int, name: str, text: str
) -> Iterator[str]:
    role = event.target.role if place == 0 else _role(element)
    attributes = element.attributes if element is not None else {}
    plain_name, label = " ".join(name.split()), " ".join(text.split())
    if _is_editable(event.chain[place:]):  # its text is what is written in it, and not yet there in a replay
        plain_name, label = "" if plain_name == label else plain_name, ""
    is_name = role in _NAMED_BY_TEXT or event.target.tag in _FIELDS or plain_name != label
    if role in ROLES and role != "generic" and 0 < len(plain_name) <= _LONGEST and is_name:
        yield f"role={role}[name={_quoted(plain_name)}s]"
    if event.target.tag in _FIELDS and place == 0 and _is_label(plain_name, attributes):
        yield f"{_LABEL}={_quoted(plain_name)}s"
    if 1 < len(label) <= _LONGEST:
        yield f"text={_quoted(label)}"
    for test_id in _TEST_IDS:
        if attributes.get(test_id):
            yield f"{test_id}={attributes[test_id]}"
    id = attributes.get("id", "")
    if id and len(id) <= _LONGEST and not _MADE_UP.search(id):
        yield f"css=[id={_quoted(id)}]" if not re.fullmatch(r"[A-Za-z_][\w-]*", id) else f"css=#{id}"
    if element is not None:
        yield from (f"css={element.tag}{part}" for part in _attribute_selectors(element))


def _is_editable(chain: Sequence[ElementRecord]) -> bool:
    """Return whether the first element is in an editor."""
    given = (each.attributes.get("contenteditable") for each in chain)
    return next((value.lower() != "false" for value in given if value is not None), False)


def _is_label(words: str, attributes: Mapping[str, str]) -> bool:
    """Return whether a field gets its name from a visible label on the page."""
    spoken = [attributes.get(key, "") for key in ("aria-label", "title", "placeholder", "value", "aria-labelledby")]
    return 0 < len(words) <= _LONGEST and words not in spoken and not spoken[-1]


def _around(chain: Sequence[ElementRecord]) -> Iterator[str]:
    """Yield selectors by classes, by the only element of its kind in a container, and by the place in the parent."""
    element = chain[0] if chain else None
    if element is None or element.tag in ("html", "body"):
        return
    if classes := _classes(element):
        yield f"css={element.tag}{classes}"
    if holder := _holder(chain):
        yield from (f"css={holder} {element.tag}{part}" for part in _attribute_selectors(element))
        kind = element.attributes.get("type", "")
        if not element.attributes.get("formaction"):  # that button sends it elsewhere
            yield f"css={holder} {element.tag}" + (f"[type={_quoted(kind)}]" if kind else "")
    outer = css_path(chain[1:]) if element.within == "element" else ""
    if outer and element.attributes.get("id"):
        yield f"css={outer} > {css_step(element)}"


def _holder(chain: Sequence[ElementRecord]) -> str:
    """Return a CSS selector, without a position, for the form, menu or the like around the first element; or empty."""
    inside = takewhile(lambda each: each.within == "element", chain)
    container = next((each for each in inside if each is not chain[0] and each.tag in _HOLDERS), None)
    if container is None:
        return ""
    action = container.attributes.get("action", "")
    part = f"[action={_quoted(action)}]" if 0 < len(action) <= _LONGEST and "…" not in action else _classes(container)
    return container.tag + part if part or container.tag in _ALONE else ""


def _attribute_selectors(element: ElementRecord) -> Iterator[str]:
    for attribute in ("name", "aria-label", "placeholder", "href", "formaction"):
        value = element.attributes.get(attribute, "")
        if 0 < len(value) <= _LONGEST and "…" not in value:
            yield f"[{attribute}={_quoted(value)}]"


def _classes(element: ElementRecord) -> str:
    names = [name for name in element.attributes.get("class", "").split() if re.fullmatch(r"[A-Za-z_][\w-]*", name)]
    return "".join(f".{name}" for name in names if not _MADE_UP.search(name)) if len(names) <= _MOST_CLASSES else ""


_BY_TAG = {"button": "button", "summary": "", "label": "", "option": "option"}


def _role(element: ElementRecord | None) -> str:
    """Return the role of a control around the target, for which the listener records none."""
    if element is None:
        return ""
    roles = element.attributes.get("role", "").split()
    if roles:
        return roles[0]
    if element.tag == "a":
        return "link" if "href" in element.attributes else ""
    if element.tag == "input":
        kind = element.attributes.get("type", "text").lower()
        return {"checkbox": "checkbox", "radio": "radio", "button": "button", "submit": "button"}.get(kind, "")
    return _BY_TAG.get(element.tag, "")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
