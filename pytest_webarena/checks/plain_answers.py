"""Answers without what only decorates them: marks of Markdown, what is struck out, accents that a task writes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import replace

from pytest_webarena.checks.text import TextMatch

__all__ = ["emphasised", "spelt_alike", "unaccented", "unmarked"]

_STRUCK = re.compile(r"~~(?=\S).*?(?<=\S)~~", re.DOTALL)
_FENCE = re.compile(r"^[ \t]*```\w*[ \t]*$\n?", re.MULTILINE)
_STRONG = re.compile(r"(?<![\w*\\])\*\*(?=[^\s*])([^*\n]+?)(?<=\S)\*\*(?![\w*])")
_SLANTED = re.compile(r"(?<![\w*\\/)])\*(?=[^\s*\d])([^*\n]+?)(?<=\S)\*(?![\w*])")
_CODE = re.compile(r"(`{1,2})(?=[^`])([^`\n]+)\1")
_UNDERLINED = re.compile(r"(?<![\w\\/])(__?)(?=[^\s_])([^\n]+?)(?<=[^\s_])\1(?![\w/])")
_LINK = re.compile(r"\[([^\[\]\n]+)\]\(\s*<?([^\s()<>]+)>?\s*\)")
_ADDRESS = re.compile(r"<((?:https?://|mailto:)?[^\s<>@]+(?:@|://|\.)[^\s<>]+)>")
_BULLET = re.compile(r"^[ \t]*(?:[-*+\u2022]|\#{1,6})[ \t]+", re.MULTILINE)


def unmarked(text: str) -> str:
    """``text`` without marks of Markdown, and without what they strike out. What may be part of a name stays.

    >>> unmarked("**Caf\u00e9** ~~Bar~~, `a_b_c`"), unmarked("[x.test/a](http://x.test/a)"), unmarked("2**3**2")
    ('Caf\u00e9 , a_b_c', 'http://x.test/a', '2**3**2')
    """
    if not re.search(r"[*`_~\[<#\u2022-]", text):
        return text
    text = _rows_told(text)
    text = _FENCE.sub("", _STRUCK.sub("", text))
    text = _LINK.sub(_linked, text)
    text = _ADDRESS.sub(lambda found: found[1], text)
    for pattern in (_STRONG, _SLANTED):
        text = pattern.sub(lambda found: found[1], text)
    for pattern in (_CODE, _UNDERLINED):
        text = pattern.sub(lambda found: found[2], text)
    return _BULLET.sub("", text).strip()


_RULE = re.compile(r"^[ \t]*\|?(?:[ \t]*:?-{2,}:?[ \t]*\|)+(?:[ \t]*:?-{2,}:?[ \t]*)?$", re.MULTILINE)
_ROW = re.compile(r"^[ \t]*\|(.+)\|[ \t]*$", re.MULTILINE)


def _rows_told(text: str) -> str:
    """``text`` in which the rows of tables are lines, where they have two cells: ``| Size | 40 |`` is ``Size: 40``.

    Between the cells is no choice, as there is between words with a bar. Wider tables stay: what their cells are is in
    their heads.
    """
    rows = [[cell.strip() for cell in found[1].split("|")] for found in _ROW.finditer(text)]
    if not _RULE.search(text) or not rows or any(len(row) != 2 for row in rows):
        return text
    plain = re.sub(r"\n\n+", "\n", _RULE.sub("", text))
    return _ROW.sub(lambda found: ": ".join(cell.strip() for cell in found[1].split("|")), plain)


def _linked(found: re.Match[str]) -> str:
    """Of a link what is read, or where it leads, if that is what is read."""
    shown, address = found[1].strip(), found[2]
    return (
        address if re.sub(r"^\w+://", "", address).rstrip("/") == re.sub(r"^\w+://", "", shown).rstrip("/") else shown
    )


def emphasised(text: str) -> tuple[str, ...]:
    """What stands in bold letters.

    >>> emphasised("It is **36** crowns, 18 a night")
    ('36',)
    """
    return tuple(found[1] for found in _STRONG.finditer(text))


def unaccented(match: TextMatch) -> TextMatch | None:
    """The same condition in plain letters, for answers of those whose keyboard lacks the accents; None: it has none.

    >>> unaccented(TextMatch(exact="Caf\u00e9 Yardley")).exact
    'Cafe Yardley'
    """
    if match.case:
        return None
    plain = replace(
        match,
        exact=None if match.exact is None else _bare(match.exact),
        includes=_all(match.includes),
        one_of=_all(match.one_of),
    )
    return None if plain == match else plain


def _all(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(map(_bare, texts))


def _bare(text: str) -> str:
    """Latin letters without their accents; others keep theirs, which are no decoration."""
    parts = unicodedata.normalize("NFD", text)
    bare = re.sub(r"([A-Za-z])[\u0300-\u036f]+", r"\1", parts)
    return unicodedata.normalize("NFC", bare)


_AMOUNT = re.compile(r"(?<=\d)[ \u00a0\u202f](?=(?:kg|g|mg|l|ml|cl|m|mm|cm|km|lm|W|h|min)\b)")


def spelt_alike(match: TextMatch, text: str) -> tuple[TextMatch, str] | None:
    """Condition and text with units right behind their numbers and "and" for "&"; None: that makes no difference.

    >>> spelt_alike(TextMatch(exact="Jam & Jelly, 250 g"), "Jam and Jelly, 250g")[0].exact
    'Jam and Jelly, 250g'
    """
    alike = replace(
        match,
        exact=None if match.exact is None else _alike(match.exact),
        includes=tuple(map(_alike, match.includes)),
        excludes=tuple(map(_alike, match.excludes)),
        one_of=tuple(map(_alike, match.one_of)),
    )
    plain = _alike(text)
    return None if (alike, plain) == (match, text) else (alike, plain)


def _alike(text: str) -> str:
    return _AMOUNT.sub("", text).replace(" & ", " and ")
