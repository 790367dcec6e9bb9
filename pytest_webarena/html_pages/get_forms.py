"""Forms that are sent as GET requests: their fields, and the addresses that a person reaches by choosing."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode, urljoin, urlsplit, urlunsplit

__all__ = ["FormReader", "GetField", "GetForm", "choices"]

_BUTTONS = frozenset(("submit", "button", "reset", "image"))
_TYPED = frozenset(("", "text", "search", "number", "url", "email", "tel"))
"""Types of inputs that a person types into."""
_TICKED = frozenset(("checkbox", "radio"))


@dataclass(slots=True)
class GetField:
    """A field of a form."""

    name: str
    value: str = ""
    """The initial value."""
    typed: bool = False
    """Whether a person types its value."""
    searches: bool = False
    """Whether it is marked as a field for a search."""
    sent: bool = True
    """Whether it is sent if nobody touches it."""
    options: list[str | None] = field(default_factory=list)
    """What a person may choose instead of the initial value; None: that it is not sent."""


@dataclass(slots=True)
class GetForm:
    """A form that is sent as a GET request."""

    action: str
    """Address without query and fragment."""
    fields: list[GetField] = field(default_factory=list)
    """Fields that are sent, or may be, with their initial values."""

    @property
    def types(self) -> bool:
        """Whether a person types into one of its fields."""
        return any(each.typed for each in self.fields)


def choices(form: GetForm, url: str, most: int) -> tuple[list[str], bool]:
    """Returns the addresses of a form on the page ``url`` for what a person can choose in it, and whether these are
    all: if there are more than ``most``, the choices of one field at a time.

    >>> form = GetForm("/list", [GetField("sort", "a", options=["b"]), GetField("q", typed=True)])
    >>> choices(form, "http://a.test/x", 9)
    (['http://a.test/list?sort=a&q=', 'http://a.test/list?sort=b&q='], True)
    """
    lists = [[each.value if each.sent else None, *each.options] for each in form.fields]
    combined: Sequence[Sequence[str | None]]
    if is_whole := math.prod(map(len, lists)) <= most:
        combined = list(itertools.product(*lists))
    else:
        first = [values[0] for values in lists]
        combined = [first] + [
            [*first[:at], value, *first[at + 1 :]] for at, values in enumerate(lists) for value in values[1:]
        ]
    parts = urlsplit(urljoin(url, form.action or url))
    made = []
    for values in combined[:most]:
        query = [(each.name, value) for each, value in zip(form.fields, values, strict=True) if value is not None]
        made.append(urlunsplit(parts._replace(query=urlencode(query), fragment="")))
    return made, is_whole


class FormReader:
    """Collects the forms of a page from its elements, in order."""

    def __init__(self) -> None:
        self.forms: list[GetForm] = []
        self._form: GetForm | None = None
        self._list: GetField | None = None
        """The list whose options are being read."""
        self._option: Mapping[str, str] = {}
        self._parts: list[str] = []

    def start(self, tag: str, given: Mapping[str, str]) -> None:
        """Read the start of an element."""
        if tag == "form":
            self._form = None
            if given.get("method", "get").strip().lower() in ("", "get"):
                self._form = GetForm(given.get("action", "").strip())
                self.forms.append(self._form)
        elif tag == "option":
            self._option, self._parts = given, []
        elif self._form is not None and given.get("name"):
            self._read_field(tag, given, self._form)

    def text(self, text: str) -> None:
        """Read a text, which is the value of an option without one."""
        self._parts.append(text)

    def end(self, tag: str) -> None:
        """Read the end of an element."""
        if tag == "form":
            self._form = None
        elif tag == "select":
            self._list = None
        elif tag == "option" and self._list is not None:
            self._end_option(self._list)

    def _end_option(self, choice: GetField) -> None:
        value = self._option.get("value", " ".join("".join(self._parts).split()))
        if choice.sent and "selected" not in self._option:
            choice.options.append(value)
            return
        if choice.sent:
            choice.options.append(choice.value)
        choice.value, choice.sent = value, True

    def _read_field(self, tag: str, given: Mapping[str, str], form: GetForm) -> None:
        kind, name = given.get("type", "").strip().lower(), given["name"]
        if tag == "select":
            self._list = GetField(name, sent=False)
            form.fields.append(self._list)
        elif tag == "textarea":
            form.fields.append(GetField(name, typed=True))
        elif tag == "button" or (tag == "input" and kind in _BUTTONS):
            if kind in ("submit", "image") or (tag == "button" and not kind):
                self._add_choice(form, name, given.get("value", ""))
        elif tag == "input" and kind in _TICKED:
            self._tick(form, given, kind)
        elif tag == "input":
            form.fields.append(GetField(name, given.get("value", ""), typed=kind in _TYPED, searches=kind == "search"))

    def _tick(self, form: GetForm, given: Mapping[str, str], kind: str) -> None:
        value, is_on = given.get("value", "on"), "checked" in given
        if kind == "checkbox":
            form.fields.append(GetField(given["name"], value, sent=is_on, options=[None if is_on else value]))
            return
        radio = self._add_choice(form, given["name"], value)
        if is_on:
            radio.options.remove(value)
            radio.value, radio.sent = value, True

    @staticmethod
    def _add_choice(form: GetForm, name: str, value: str) -> GetField:
        """Add a value to the choices of the field with this name, which several elements make."""
        known = next((each for each in form.fields if each.name == name and not each.typed), None)
        if known is None:
            known = GetField(name, sent=False)
            form.fields.append(known)
        known.options.append(value)
        return known
