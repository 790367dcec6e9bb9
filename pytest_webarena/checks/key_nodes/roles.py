"""Implicit ARIA roles of elements: HTML's mapping, as far as a record of the element determines it."""

from __future__ import annotations

from pytest_webarena.signals import ElementRecord

__all__ = ["is_control", "may_be", "role_of"]

_BY_TAG = {
    "article": "article",
    "aside": "complementary",
    "button": "button",
    "dialog": "dialog",
    "fieldset": "group",
    "h1": "heading",
    "h2": "heading",
    "h3": "heading",
    "h4": "heading",
    "h5": "heading",
    "h6": "heading",
    "hr": "separator",
    "li": "listitem",
    "main": "main",
    "meter": "meter",
    "nav": "navigation",
    "ol": "list",
    "optgroup": "group",
    "option": "option",
    "output": "status",
    "p": "paragraph",
    "progress": "progressbar",
    "table": "table",
    "tbody": "rowgroup",
    "td": "cell",
    "textarea": "textbox",
    "tfoot": "rowgroup",
    "th": "columnheader",
    "thead": "rowgroup",
    "tr": "row",
    "ul": "list",
}
_BY_TYPE = {
    "button": "button",
    "checkbox": "checkbox",
    "image": "button",
    "number": "spinbutton",
    "radio": "radio",
    "range": "slider",
    "reset": "button",
    "submit": "button",
    "email": "textbox",
    "tel": "textbox",
    "text": "textbox",
    "url": "textbox",
    "search": "searchbox",
}


def role_of(element: ElementRecord) -> str:
    """Returns the role; empty if there is none or it depends on more than the element.

    >>> role_of(ElementRecord(tag="a", attributes={"href": "/"})), role_of(ElementRecord(tag="div"))
    ('link', '')
    """
    attributes = element.attributes
    if said := attributes.get("role", "").split():
        return said[0].lower()
    match element.tag:
        case "a" | "area":
            return "link" if "href" in attributes else ""
        case "img":
            return "" if attributes.get("alt") == "" else "img"
        case "select":
            lists = "multiple" in attributes or attributes.get("size", "1") not in ("", "0", "1")
            return "listbox" if lists else "combobox"
        case "input":
            kind = attributes.get("type", "text").lower()
            role = _BY_TYPE.get(kind, "" if kind in _NO_ROLE else "textbox")
            return "combobox" if "list" in attributes and role in ("textbox", "searchbox") else role
    return _BY_TAG.get(element.tag, "")


_NO_ROLE = frozenset({"color", "date", "datetime-local", "file", "hidden", "month", "password", "time", "week"})


def is_control(element: ElementRecord) -> bool:
    """Whether clicks on descendants of the element are meant for the element."""
    return role_of(element) in _CONTROLS or ("role" not in element.attributes and element.tag in ("label", "summary"))


_CONTROL_ROLES = "button checkbox link menuitem menuitemcheckbox menuitemradio option radio switch tab treeitem"
_CONTROLS = frozenset(_CONTROL_ROLES.split())


def may_be(element: ElementRecord) -> frozenset[str]:
    """Returns roles that the element may have depending on facts that are not recorded: its name, its ancestors."""
    return frozenset() if "role" in element.attributes else _MAY_BE.get(element.tag, frozenset())


_MAY_BE = {
    "footer": frozenset({"contentinfo"}),
    "form": frozenset({"form"}),
    "header": frozenset({"banner"}),
    "section": frozenset({"region"}),
    "td": frozenset({"gridcell"}),
    "th": frozenset({"cell", "gridcell", "rowheader"}),
}
