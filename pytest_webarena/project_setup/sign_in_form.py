"""Finds the form with which people sign in: a field for the name, and one for the password."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_webarena.html_pages.page_tree import walk

__all__ = ["SignInForm", "find_form"]

_NAMES = frozenset(("", "text", "email", "tel", "search", "url"))
"""Types of inputs that may hold the name of an account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInForm:
    """Where to sign in."""

    path: str
    """Address of the page on its site."""
    name: str
    """Selector of the field for the account's name."""
    password: str
    """Selector of the field for its password."""

    def steps(self) -> list[Any]:
        """Returns the steps as in a catalogue. The key Enter sends a form without a guess about its buttons."""
        return [
            {"fill": {self.name: "{username}", self.password: "{password}"}},
            {"press": {self.password: "Enter"}},
        ]


def find_form(html: str, path: str) -> SignInForm | None:
    """Returns the sign-in form of the page at ``path``: the first one with exactly one password and a field before it.

    A form with two passwords registers, or changes one.

    >>> page = '<form><input name="q"></form><form><input name=user><input type=password id=p></form>'
    >>> find_form(page, "/login")
    SignInForm(path='/login', name='css=[name="user"]', password='css=#p')
    """
    for fields in _forms(html):
        kinds = [field.get("type", "").strip().lower() for field in fields]
        if kinds.count("password") != 1:
            continue
        at = kinds.index("password")
        named = [field for field, kind in zip(fields[:at], kinds, strict=False) if kind in _NAMES]
        if named:
            return SignInForm(path=path, name=_selector(named[-1]), password=_selector(fields[at]))
    return None


def _forms(html: str) -> Iterator[list[Mapping[str, str]]]:
    """Yields the inputs of each form, and at last those outside of forms, as pages of scripts have them."""
    outside: list[Mapping[str, str]] = []
    inside: list[Mapping[str, str]] | None = None
    for step in walk(html):
        if step.tag == "form":
            if step.kind == "end" and inside is not None:
                yield inside
            inside = [] if step.kind == "start" else None
        elif step.tag == "input" and step.kind == "start" and step.attributes.get("type", "").lower() != "hidden":
            (outside if inside is None else inside).append(step.attributes)
    yield outside


def _selector(field: Mapping[str, str]) -> str:
    for key in ("name", "id"):
        if (value := field.get(key, "")) and '"' not in value and "\\" not in value:
            plain = key == "id" and value.isidentifier()
            return f"css=#{value}" if plain else f'css=[{key}="{value}"]'
    return "css=input[type=password]" if field.get("type", "").lower() == "password" else "css=input"
