"""The ``webcanvas`` form: an indented list of ``[n] role 'label'``, made from the lines of the ``html`` form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from pytest_webarena.browser.observation.extraction import ElementInfo

__all__ = ["list_elements"]

_ELEMENT = re.compile(r'(?:\[(\d+)\] )?<([a-z][\w:-]*)((?: [a-z-]+(?:="[^"]*")?)*)>(?: (.*))?', re.DOTALL)
_ATTRIBUTE = re.compile(r' ([a-z-]+)(?:="([^"]*)")?')
_ROLES: Mapping[str, str] = {
    "a": "link", "button": "button", "select": "combobox", "option": "option", "textarea": "textbox", "img": "image",
    "summary": "button", "h1": "heading", "h2": "heading", "h3": "heading", "h4": "heading", "h5": "heading",
    "h6": "heading", "li": "listitem", "td": "cell", "th": "columnheader", "iframe": "frame", "nav": "navigation",
    "dialog": "dialog",
}  # fmt: skip
_INPUTS: Mapping[str, str] = {
    "button": "button", "submit": "button", "reset": "button", "image": "button", "checkbox": "checkbox",
    "radio": "radio", "range": "slider", "number": "spinbutton", "search": "searchbox", "file": "button",
}  # fmt: skip
_LABELS = (
    "title",
    "placeholder",
    "aria-placeholder",
    "data-placeholder",
    "aria-label",
    "alt",
    "label",
    "name",
    "class",
)
"""Attributes that give the label if there is no text, in this order."""
_NAMED = frozenset({"image", "frame", "navigation", "dialog"})
"""Roles with a line for their title, even if there is no text."""
_LABELLED: Mapping[str, str] = {
    "aside": "complementary", "form": "form", "main": "main", "ol": "list", "section": "region", "table": "table",
    "ul": "list",
}  # fmt: skip
"""Roles of elements with an ARIA label, if they have no other; those of other tags are groups."""
_VALUELESS = frozenset({"button", "checkbox", "radio", "switch"})
"""Roles of inputs whose value is no content."""
_STATES = ("checked", "selected", "required")
_ARIA_STATES = {"aria-checked": "checked", "aria-selected": "selected", "aria-expanded": "expanded"}


@dataclass(slots=True)
class _Line:
    """One element, or a text outside of the listed elements."""

    depth: int
    id: str = ""
    role: str = "text"
    texts: list[str] = field(default_factory=list)
    fallback: str = ""
    label: str = ""
    """Its ARIA label, which is printed even if there is text."""
    states: list[str] = field(default_factory=list)
    value: str = ""
    scroll: str = ""
    """How far it can be scrolled."""

    def __str__(self) -> str:
        text = " ".join(" ".join(self.texts).split()) or self.fallback
        label = f" label '{self.label}'" if self.label.casefold() not in text.casefold() else ""
        number = f"[{self.id}] " if self.id else ""
        value = f" value '{self.value}'" if self.value else ""
        notes = [*self.states, *([self.scroll] if self.scroll else [])]
        states = f" ({', '.join(notes)})" if notes else ""
        return "\t" * self.depth + f"{number}{self.role} '{text}'{label}{value}{states}"


def list_elements(html: Iterable[str], elements: Mapping[str, ElementInfo]) -> list[str]:
    """Return the lines of a page, one for each element that can be used. Text inside it is its label; other text has a
    line of its own.

    Disabled elements are omitted with their content, because they can't be used. ``elements`` may be empty if only the
    page knows which ids exist; otherwise a text that looks like an element's line stays a text.
    """
    found: list[_Line] = []
    above: list[tuple[int, int, _Line | None]] = []
    """For each ancestor: its depth in ``html``, the depth of its content in the list, and its control, if any."""
    skipped: int | None = None
    for raw in html:
        line = raw.lstrip("\t")
        depth = len(raw) - len(line)
        if skipped is not None and depth > skipped:
            continue
        skipped = None
        while above and above[-1][0] >= depth:
            above.pop()
        place, control = (above[-1][1], above[-1][2]) if above else (0, None)
        match = _ELEMENT.fullmatch(line)
        if match is None or (match[1] and elements and match[1] not in elements):
            _text(found, line, place, control)
            continue
        made, off = _element(match, place)
        if off:
            skipped = depth
        elif made.id:
            found.append(made)
            above.append((depth, place + 1, made if made.role != "combobox" else None))
        elif control is not None and not (made.role == "frame" and made.fallback):
            control.texts += made.texts or [made.label or (made.fallback if made.role == "image" else "")]
            above.append((depth, place, control))
        elif made.texts and made.fallback:
            found.append(replace(made, texts=[]))
            _text(found, " ".join(made.texts), place + 1, None)
            above.append((depth, place + 1, None))
        elif made.texts or made.scroll or made.label or (made.fallback and made.role in _NAMED):
            found.append(made)
            above.append((depth, place + 1, None))
        else:
            above.append((depth, place, None))
    return [str(each) for each in found]


def _text(found: list[_Line], text: str, place: int, control: _Line | None) -> None:
    if control is not None:
        control.texts.append(text)
    else:
        found.append(_Line(place, texts=[text]))


def _element(match: re.Match[str], place: int) -> tuple[_Line, bool]:
    """Return an element's line with its own text, and whether it is disabled."""
    tag, text = match[2], match[4] or ""
    attributes = {name: value.replace("&quot;", '"') for name, value in _ATTRIBUTE.findall(match[3])}
    role = attributes.get("role") or (
        _INPUTS.get(attributes.get("type", "").lower(), "textbox")
        if tag == "input"
        else "textbox"
        if attributes.get("contenteditable", "false").lower() != "false"
        else _ROLES.get(tag, "text")
    )
    line = _Line(place, id=match[1] or "", role=role)
    line.fallback = next((attributes[name] for name in _LABELS if attributes.get(name)), "")
    line.label = attributes.get("aria-label", "")
    if line.label and line.role == "text" and not line.id:
        line.role = _LABELLED.get(tag, "group")
    line.scroll = attributes.get("scroll", "")
    line.states = [name for name in _STATES if name in attributes]
    line.states += [
        word for name, word in _ARIA_STATES.items() if attributes.get(name) == "true" and word not in line.states
    ]
    if tag == "textarea":
        line.value = text
    elif tag == "input" and role not in _VALUELESS:
        line.value = attributes.get("value", "")
    else:
        line.texts = [each for each in (text, attributes.get("value", "") if role == "button" else "") if each]
    if tag != "input":
        line.value = attributes.get("aria-valuetext") or attributes.get("aria-valuenow") or line.value
    if role == "button" and not line.texts and attributes.get("type", "").lower() == "submit":
        line.fallback = line.fallback or "submit"
    return line, "disabled" in attributes
