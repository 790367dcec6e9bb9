"""Rules of the ``html`` form: which parts of the DOM are printed, and how. Both extractors use them."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_webarena.text import shorten

__all__ = ["SKIPPED", "VOID", "MarkupWriter", "is_control", "opening", "rules"]

SKIPPED = frozenset({
    "script", "style", "noscript", "template", "head", "title", "meta", "link", "param", "source", "track", "datalist",
    "base", "area",
})  # fmt: skip
"""Tags that are omitted with all their content."""
VOID = frozenset({"svg", "math", "audio", "video", "object", "canvas", "img", "input", "textarea", "embed", "br"})
"""Tags that are printed without their content."""
TRANSPARENT = frozenset({
    "html", "body", "div", "span", "b", "i", "em", "strong", "u", "s", "font", "small", "big", "center", "tt", "tbody",
    "thead", "tfoot", "colgroup", "col", "wbr", "bdi", "bdo", "picture", "slot", "br", "abbr", "cite", "code", "kbd",
    "mark", "q", "samp", "sub", "sup", "time", "var", "svg", "canvas", "hgroup", "search",
})  # fmt: skip
"""Tags that are not printed without printed attributes or an id, while their content is."""
INTERACTIVE = frozenset({"a", "button", "input", "select", "textarea", "summary", "option"})
"""Tags with an id. Others have one with a control's role, ``tabindex``, ``onclick``,
``draggable`` or ``contenteditable``."""
CONTROL_ROLES = frozenset({
    "button", "checkbox", "combobox", "gridcell", "link", "listbox", "menuitem", "menuitemcheckbox", "menuitemradio",
    "option", "radio", "searchbox", "slider", "spinbutton", "switch", "tab", "textbox", "treeitem",
})  # fmt: skip
ATTRIBUTES = (
    "type", "name", "role", "href", "action", "alt", "title", "label", "placeholder", "aria-placeholder",
    "data-placeholder", "aria-label", "aria-expanded", "aria-selected", "aria-checked", "aria-pressed", "aria-current",
    "aria-haspopup", "aria-valuenow", "aria-valuetext", "contenteditable", "draggable", "min", "max", "step",
    "colspan", "rowspan", "scroll", "value", "class",
)  # fmt: skip
"""Printed attributes in their order, before `FLAGS`. ``scroll`` is ours: how far the element can be scrolled. ``class``
is printed only of elements that have no other words (`usable.Usable.bare`)."""
FLAGS = ("checked", "selected", "disabled", "required", "readonly", "multiple", "open")

_LONGEST = 200
"""Maximum number of characters of one attribute's value."""


def opening(tag: str, attributes: Mapping[str, str], number: int | None) -> str:
    """Return the line of an element without its text; empty for one that is not printed.

    >>> opening("a", {"href": "/x", "class": "big", "title": ""}, 7)
    '[7] <a href="/x">'
    >>> opening("div", {"class": "big"}, None)
    ''
    """
    parts = [tag]
    for name in ATTRIBUTES:
        value = attributes.get(name)
        if value is None or (not value and name not in ("alt", "contenteditable")):
            continue
        short = shorten(value, _LONGEST)
        parts.append(f'{name}="{short.replace(chr(34), "&quot;")}"')
    parts += [name for name in FLAGS if name in attributes]
    if number is None and tag in TRANSPARENT and len(parts) == 1:
        return ""
    return f"{'' if number is None else f'[{number}] '}<{' '.join(parts)}>"


def is_control(tag: str, attributes: Mapping[str, str]) -> bool:
    """Return whether an agent can act on the element, judged by its markup."""
    if tag == "a":
        return "href" in attributes
    if tag == "input":
        return attributes.get("type", "").lower() != "hidden"
    return (
        tag in INTERACTIVE
        or attributes.get("role", "") in CONTROL_ROLES
        or "onclick" in attributes
        or attributes.get("tabindex", "-").lstrip("0123456789") == ""
        or attributes.get("draggable", "").lower() == "true"
        or attributes.get("contenteditable", "false").lower() in ("", "true", "plaintext-only")
    )


def rules() -> dict[str, list[str]]:
    """Return the rules for the script in the page."""
    return {
        "skipped": sorted(SKIPPED),
        "void": sorted(VOID),
        "transparent": sorted(TRANSPARENT),
        "interactive": sorted(INTERACTIVE),
        "roles": sorted(CONTROL_ROLES),
        "attributes": list(ATTRIBUTES),
        "flags": list(FLAGS),
    }


class MarkupWriter:
    """Collects the lines: text is added to its element's line, or to a line of its own after other elements."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._open = -1
        """Index of the line to which text is added; -1 for none."""

    def element(self, depth: int, line: str) -> int:
        """Begin an element; return the index of its line."""
        self.lines.append("\t" * depth + line)
        self._open = len(self.lines) - 1
        return self._open

    def text(self, depth: int, text: str) -> None:
        """Add text with its white space collapsed."""
        shown = " ".join(text.split())
        if not shown:
            if self._open >= 0 and not self.lines[self._open].endswith((" ", ">")) and text:
                self.lines[self._open] += " "
            return
        if self._open < 0:
            self.lines.append("\t" * depth)
            self._open = len(self.lines) - 1
        line = self.lines[self._open]
        glue = " " if line.endswith(">") or (text[0].isspace() and line.strip() and not line.endswith(" ")) else ""
        self.lines[self._open] = line + glue + shown + (" " if text[-1].isspace() else "")

    def close(self) -> None:
        """End an element, so that a new line begins."""
        self._open = -1

    def block(self) -> None:
        """Begin or end a block of the layout that has no line here."""
        if self._open >= 0 and not self.lines[self._open].endswith(">"):
            self._open = -1

    def remove_last(self, line: int) -> None:
        """Remove the last element, in which nothing is visible."""
        del self.lines[line:]
        self._open = -1

    def finished(self) -> list[str]:
        """Return the lines without trailing white space."""
        return [line.rstrip(" ") for line in self.lines if line.strip()]
