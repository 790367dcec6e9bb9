"""Addresses of searches: what a form sends as a GET request when a person types words into it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from urllib.parse import parse_qsl, quote, unquote, urlencode, urljoin, urlsplit, urlunsplit

from pytest_webarena.html_pages.get_forms import GetForm
from pytest_webarena.html_pages.links import kind_of

__all__ = ["form_key", "in_place_of", "searches"]

_MOST_FIELDS = 4
"""Maximum number of fields of a form that are tried, each alone."""
_APART = re.compile(r"[-_+ ]+")


def form_key(form: GetForm, url: str) -> str:
    """Returns what forms of one kind have in common: the kind of their address and the names of their fields."""
    return f"{kind_of(urljoin(url, form.action or url))} {sorted({each.name for each in form.fields})}"


def searches(form: GetForm, url: str, words: Sequence[str]) -> Iterator[str]:
    """Yields the addresses of a form on the page ``url`` with the words in its search field, or in each of its fields.

    >>> from pytest_webarena.html_pages.get_forms import GetField
    >>> list(searches(GetForm("/find", [GetField("q", typed=True)]), "http://a.test/x", ["a b"]))
    ['http://a.test/find?q=a+b']
    """
    parts = urlsplit(urljoin(url, form.action or url))
    typed = [index for index, each in enumerate(form.fields) if each.searches]
    typed = typed or [index for index, each in enumerate(form.fields) if each.typed][:_MOST_FIELDS]
    for each in words:
        for place in typed:
            query = [
                (item.name, each if index == place else item.value)
                for index, item in enumerate(form.fields)
                if item.sent
            ]
            yield urlunsplit(parts._replace(query=urlencode(query), fragment=""))


def in_place_of(url: str, words: str, other: str) -> str:
    """Returns the address with ``other`` for ``words`` in its values and the parts of its path; empty if it has them in
    none.

    >>> in_place_of("http://a.test/find?q=Big+bell&page=2", "bell", "tree")
    'http://a.test/find?q=Big+tree&page=2'
    >>> in_place_of("http://a.test/tags/big-bell", "big bell", "tree")
    'http://a.test/tags/tree'
    >>> in_place_of("http://a.test/bells", "bell", "tree")
    ''
    """
    parts = urlsplit(url)
    whole = re.compile(rf"(?<!\w){re.escape(words)}(?!\w)", re.IGNORECASE)
    given = parse_qsl(parts.query, keep_blank_values=True)
    query = [(name, whole.sub(lambda _: other, value)) for name, value in given]
    path = "/".join(
        quote(other) if _spaced(unquote(part)) == _spaced(words) else part for part in parts.path.split("/")
    )
    changed = urlunsplit(parts._replace(path=path, query=urlencode(query)))
    return changed if (path, query) != (parts.path, given) else ""


def _spaced(text: str) -> str:
    return _APART.sub(" ", text).strip().casefold()
