"""Families of selectors. Selectors of different families identify an element independently."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_webarena.tasks.syntax import DOES_MORE

__all__ = [
    "ADDRESS",
    "AROUND",
    "CLASSES",
    "FIELD",
    "FORM",
    "LAYOUT",
    "NAME",
    "PLACE",
    "WEAK",
    "family",
    "leading_only",
    "role_and_name",
    "submitting_only",
]

NAME, CLASSES, AROUND, FORM, PLACE = "its name", "classes", "what is around it", "its form", "its place"
ADDRESS, FIELD = "its address", "its attribute name"
"""Families that other modules use; the rest are named after what they match."""
WEAK = frozenset({CLASSES, AROUND, PLACE})
"""Families that many elements share, or that depend on the elements before them."""
LAYOUT = WEAK | {FORM}
"""Families that describe position or looks; on another page they match other elements."""

_ROLE = re.compile(r'role=([\w-]+)(?:\[name=("(?:[^"\\]|\\.)*")s?\])?')
"""Selector by role, with a quoted name if it has one."""
_TEXT = r'"(?:[^"\\]|\\.)*"'
_WORDS = re.compile(r"(text|internal:label)=")
_TEST_ID = re.compile(r"data-test(id|-id)?=")
_ID = re.compile(rf"id=|css=(#[\w-]+|\[id={_TEXT}\])$")
_BY_CLASSES = re.compile(r"css=[\w-]+(\.[\w-]+)+$")
_OTHERS = ':not([type="button"], [type="reset"], [formaction]'
"""Start of the suffix that `submitting_only` adds."""
_WITHIN = re.compile(
    rf"css=[\w-]+(\[action={_TEXT}\]|(?:\.[\w-]+)*) ([\w-]+)(\[type={_TEXT}\])?({re.escape(_OTHERS)}[^)]*\))?$"
)
_ATTRIBUTE = re.compile(rf"css=(?:[\w-]+(?:\[action={_TEXT}\]|(?:\.[\w-]+)*) )?[\w-]+\[([\w-]+)={_TEXT}\]$")
_NOWHERE = re.compile(r'\[href="(#!?|javascript:[^"]*)"\]$', re.IGNORECASE)
"""Address without meaning, because a script handles the click."""
_SUBMIT = '[type="submit"]'
_SPOKEN = ("aria-label", "placeholder", "title")
"""Attributes that users hear or read."""


def family(selector: str) -> str:
    """Return the family of a selector.

    >>> family('css=#a >> internal:control=enter-frame >> role=button[name="Save"s]'), family("css=#save")
    ('its name', 'its id')
    >>> family("css=#main > form > button:nth-of-type(2)"), family('css=form[action="/x"] button')
    ('its place', 'its form')
    """
    last = _last(selector)
    if ((role := _ROLE.fullmatch(last)) and role[2]) or _WORDS.match(last):
        return NAME
    if _TEST_ID.match(last):
        return "its test id"
    if _ID.match(last):
        return "its id"
    if _BY_CLASSES.match(last):
        return CLASSES
    if container := _WITHIN.match(last):
        sends = container[1].startswith("[") and (container[2] == "button" or container[3] == _SUBMIT)
        return FORM if sends else AROUND  # the form does not identify one of its fields
    if attribute := _ATTRIBUTE.match(last):
        name = attribute[1]
        leads = name == "formaction" or (name == "href" and not _NOWHERE.search(last))
        return NAME if name in _SPOKEN else ADDRESS if leads else f"its attribute {name}"
    return PLACE


def role_and_name(selectors: Sequence[str]) -> tuple[str, str]:
    """Return the role and the name in one of the selectors; empty if none has them.

    >>> role_and_name(["css=#a", 'role=link[name="Tea"s]']), role_and_name(["role=link"]), role_and_name([])
    (('link', 'Tea'), ('link', ''), ('', ''))
    """
    found = [match for each in selectors if (match := _ROLE.fullmatch(_last(each)))]
    best = next((match for match in found if match[2]), found[0] if found else None)
    return (
        (best[1], " ".join(re.sub(r"\\(.)", r"\1", (best[2] or '""')[1:-1]).split())) if best is not None else ("", "")
    )


def leading_only(selector: str) -> str:
    """Restrict a selector by a link's address to links that do nothing else than lead there; return others unchanged.

    >>> family(leading_only('css=a[href="/x"]')), leading_only("css=#a")
    ('its place', 'css=#a')
    """
    leads = family(selector) == ADDRESS and "[href=" in _last(selector)
    return f"{selector}:not({', '.join(f'[{name}]' for name in DOES_MORE)})" if leads else selector


def submitting_only(selector: str, known: Sequence[str]) -> str:
    """Restrict a selector by a form to buttons that submit this form as it is; return others unchanged.

    Buttons that submit elsewhere, reset the form or run a script are excluded. So are buttons with a name, unless one
    of the ``known`` selectors has a name.

    >>> submitting_only('css=form[action="/x"] button', [])
    'css=form[action="/x"] button:not([type="button"], [type="reset"], [formaction], [name])'
    >>> submitting_only('css=form[action="/x"] button[type="button"]', []), submitting_only("css=#a", [])
    ('css=form[action="/x"] button[type="button"]', 'css=#a')
    """
    within = _WITHIN.match(_last(selector))
    if within is None or not _last(selector).startswith("css=form") or within[4]:
        return selector
    if (within[2], within[3]) not in (("button", None), ("button", _SUBMIT), ("input", _SUBMIT)):
        return selector
    has_named_field = any(each.startswith("css=") and "[name=" in each for each in map(_last, known))
    return selector + _OTHERS + (")" if has_named_field else ", [name])")


def _last(selector: str) -> str:
    return selector.rpartition(" >> ")[2]
