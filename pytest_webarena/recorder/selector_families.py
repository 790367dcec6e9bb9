"""What a selector asks for, by which independent ways to an element are told apart."""

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
    "as_leading",
    "as_sending",
    "called",
    "family",
]

NAME, CLASSES, AROUND, FORM, PLACE = "its name", "classes", "what is around it", "its form", "its place"
ADDRESS, FIELD = "its address", "its attribute name"
"""Families that others speak of; the rest are named by what they ask for."""
WEAK = frozenset({CLASSES, AROUND, PLACE})
"""Those that many elements share, or that shift with whatever comes before them."""
LAYOUT = WEAK | {FORM}
"""Those that say where an element is, or what it looks like: on another page these are other elements."""

_ROLE = re.compile(r'role=([\w-]+)(?:\[name=("(?:[^"\\]|\\.)*")s?\])?')
"""A selector by role, and by name in quotes if it has one."""
_TEXT = r'"(?:[^"\\]|\\.)*"'
_WORDS = re.compile(r"(text|internal:label)=")
_TEST_ID = re.compile(r"data-test(id|-id)?=")
_ID = re.compile(rf"id=|css=(#[\w-]+|\[id={_TEXT}\])$")
_BY_CLASSES = re.compile(r"css=[\w-]+(\.[\w-]+)+$")
_OTHERS = ':not([type="button"], [type="reset"], [formaction]'
"""The beginning of what `as_sending` adds."""
_WITHIN = re.compile(
    rf"css=[\w-]+(\[action={_TEXT}\]|(?:\.[\w-]+)*) ([\w-]+)(\[type={_TEXT}\])?({re.escape(_OTHERS)}[^)]*\))?$"
)
_ATTRIBUTE = re.compile(rf"css=(?:[\w-]+(?:\[action={_TEXT}\]|(?:\.[\w-]+)*) )?[\w-]+\[([\w-]+)={_TEXT}\]$")
_NOWHERE = re.compile(r'\[href="(#!?|javascript:[^"]*)"\]$', re.IGNORECASE)
"""An address that says nothing: a script does what is done."""
_SUBMIT = '[type="submit"]'
_SPOKEN = ("aria-label", "placeholder", "title")
"""Attributes that people hear or read."""


def family(selector: str) -> str:
    """What a selector asks for.

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
    if around := _WITHIN.match(last):
        sends = around[1].startswith("[") and (around[2] == "button" or around[3] == _SUBMIT)
        return FORM if sends else AROUND  # which field of a form it is, the form does not say
    if attribute := _ATTRIBUTE.match(last):
        name = attribute[1]
        leads = name == "formaction" or (name == "href" and not _NOWHERE.search(last))
        return NAME if name in _SPOKEN else ADDRESS if leads else f"its attribute {name}"
    return PLACE


def called(selectors: Sequence[str]) -> tuple[str, str]:
    """The role and the name that one of the selectors asks for; empty where none does.

    >>> called(["css=#a", 'role=link[name="Tea"s]']), called(["role=link"]), called([])
    (('link', 'Tea'), ('link', ''), ('', ''))
    """
    found = [match for each in selectors if (match := _ROLE.fullmatch(_last(each)))]
    best = next((match for match in found if match[2]), found[0] if found else None)
    return (
        (best[1], " ".join(re.sub(r"\\(.)", r"\1", (best[2] or '""')[1:-1]).split())) if best is not None else ("", "")
    )


def as_leading(selector: str) -> str:
    """A selector by the address of a link made to find only what does nothing else than lead there; others as they are.

    >>> family(as_leading('css=a[href="/x"]')), as_leading("css=#a")
    ('its place', 'css=#a')
    """
    leads = family(selector) == ADDRESS and "[href=" in _last(selector)
    return f"{selector}:not({', '.join(f'[{name}]' for name in DOES_MORE)})" if leads else selector


def as_sending(selector: str, known: Sequence[str]) -> str:
    """The selector; one by its form that asks for a button made to find only what sends that form, as it is, there.

    What leads elsewhere, empties the form, or does something by a script is another button. So is one that says by a
    name of its own which it is, if none of the ``known`` selectors does.

    >>> as_sending('css=form[action="/x"] button', [])
    'css=form[action="/x"] button:not([type="button"], [type="reset"], [formaction], [name])'
    >>> as_sending('css=form[action="/x"] button[type="button"]', []), as_sending("css=#a", [])
    ('css=form[action="/x"] button[type="button"]', 'css=#a')
    """
    within = _WITHIN.match(_last(selector))
    if within is None or not _last(selector).startswith("css=form") or within[4]:
        return selector
    if (within[2], within[3]) not in (("button", None), ("button", _SUBMIT), ("input", _SUBMIT)):
        return selector
    named = any(each.startswith("css=") and "[name=" in each for each in map(_last, known))
    return selector + _OTHERS + (")" if named else ", [name])")


def _last(selector: str) -> str:
    return selector.rpartition(" >> ")[2]
