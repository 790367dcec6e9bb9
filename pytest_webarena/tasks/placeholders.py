"""Placeholders such as ``__GITLAB__`` for the sites' addresses in texts of WebArena's task files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

__all__ = ["placeholder", "readable", "resolve_placeholders"]

_PLACEHOLDER = re.compile(r"__([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)__")


def placeholder(site: str) -> str:
    """Returns the placeholder of a site's base address.

    >>> placeholder("shopping_admin")
    '__SHOPPING_ADMIN__'
    """
    return f"__{site.upper().replace('-', '_')}__"


def resolve_placeholders(text: str, sites: Mapping[str, str]) -> str:
    """Replace the placeholders of ``sites`` (name to base address) in ``text``.

    Placeholders of other sites, and words that merely look like one, are not replaced.

    >>> resolve_placeholders("Post on __REDDIT__/f/books", {"reddit": "http://reddit.test"})
    'Post on http://reddit.test/f/books'
    """
    if "__" not in text:
        return text
    known = {placeholder(name): base.rstrip("/") for name, base in sites.items()}
    return _PLACEHOLDER.sub(lambda match: known.get(match[0], match[0]), text)


def readable(text: str, names: Iterable[str], sites: Mapping[str, str] = MappingProxyType({})) -> str:
    """Returns ``text`` for people: with the addresses of ``sites``, or else with the sites' ``names``.

    >>> readable("Post on __REDDIT__/f/books", ["reddit"])
    'Post on reddit/f/books'
    """
    return resolve_placeholders(text, {**{name: name for name in names}, **sites})
