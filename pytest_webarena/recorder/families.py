"""What a selector asks for, by which independent ways to an element are told apart."""

from __future__ import annotations

import re

__all__ = ["AROUND", "CLASSES", "FORM", "NAME", "PLACE", "ROLE", "family"]

NAME, CLASSES, AROUND, FORM, PLACE = "its name", "classes", "what is around it", "its form", "its place"
"""Families that others speak of; the rest are named by what they ask for."""

ROLE = re.compile(r'role=([\w-]+)(?:\[name=("(?:[^"\\]|\\.)*")s?\])?')
"""A selector by role, and by name as JSON if it has one."""
_TEXT = r'"(?:[^"\\]|\\.)*"'
_WORDS = re.compile(r"(text|internal:label)=")
_TEST_ID = re.compile(r"data-test(id|-id)?=")
_ID = re.compile(rf"id=|css=(#[\w-]+|\[id={_TEXT}\])$")
_BY_CLASSES = re.compile(r"css=[\w-]+(\.[\w-]+)+$")
_WITHIN = re.compile(rf"css=[\w-]+(\[action={_TEXT}\]|(?:\.[\w-]+)*) [\w-]+(\[type={_TEXT}\])?$")
_ATTRIBUTE = re.compile(rf"css=(?:[\w-]+(?:\[action={_TEXT}\]|(?:\.[\w-]+)*) )?[\w-]+\[([\w-]+)={_TEXT}\]$")
_SPOKEN = ("aria-label", "placeholder", "title")
"""Attributes that people hear or read."""


def family(selector: str) -> str:
    """What a selector asks for.

    >>> family('css=#a >> internal:control=enter-frame >> role=button[name="Save"s]'), family("css=#save")
    ('its name', 'its id')
    >>> family("css=#main > form > button:nth-of-type(2)"), family('css=form[action="/x"] button')
    ('its place', 'its form')
    """
    last = selector.rpartition(" >> ")[2]
    if ((role := ROLE.fullmatch(last)) and role[2]) or _WORDS.match(last):
        return NAME
    if _TEST_ID.match(last):
        return "its test id"
    if _ID.match(last):
        return "its id"
    if _BY_CLASSES.match(last):
        return CLASSES
    if around := _WITHIN.match(last):
        return FORM if around[1].startswith("[") else AROUND
    if attribute := _ATTRIBUTE.match(last):
        name = attribute[1]
        return NAME if name in _SPOKEN else "its address" if name == "href" else f"its attribute {name}"
    return PLACE
