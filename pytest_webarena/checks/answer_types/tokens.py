"""Splits an answer into tokens that are compared as a whole, so that nothing passes as a part of something longer.

A token is a run of characters without spaces, without the punctuation around it. Codes, versions, branches, user names,
dates and addresses are one token each: ``yjlou-2`` is not ``yjlou``, ``6*6`` is not ``6``.
"""

from __future__ import annotations

import functools
import html
import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["Token", "fold", "tokens"]

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe0f\ufeff]|[\u2122\u00ae\u00a9]")
_PLAIN = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u00b4`", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2212\ufe63\uff0d", "-"),
        "\u2013": "-",
        "\u2014": " - ",
        "\u2015": " - ",
        "\u2026": "...",
        "|": "\n",
    }
)
_FENCE = re.compile(r"^[ \t]*```\w*[ \t]*$\n?", re.MULTILINE)
_RULER = re.compile(r"^[ \t|:+=-]+$", re.MULTILINE)
_LINK = re.compile(r"\[([^\[\]\n]+)\]\(\s*<?([^\s()<>]+)>?\s*\)")
_HEADING = re.compile(r"^[ \t]*(?:#{1,6}|[-*+\u2022])[ \t]+", re.MULTILINE)
_ITEM = re.compile(r"^[ \t]*\(?(\d{1,2})[.)][ \t]+(?=\S)", re.MULTILINE)
_EMPHASIS = re.compile(
    r"(?<![\w*\\])\*{1,3}(?=[^\s*])([^*\n]+?)(?<=[^\s*])\*{1,3}(?![\w*])|(?<![\w`])`{1,2}(?=[^`])([^`\n]+)`{1,2}(?![\w`])"
    r"|(?<![\w\\/])_{1,2}(?=[^\s_])([^_\n]+?)(?<=[^\s_])_{1,2}(?![\w/])"
)
_FINAL = re.compile(r"^[ \t]*(?:final +)?answer *(?:is)? *[:=][ \t]*(\S.*)$", re.IGNORECASE | re.MULTILINE)

_CHUNK = re.compile(r"\S+")
_INNER = re.compile(r"[;\u2022]|(?<=[^\W\d]):(?!//)(?=\w)|,(?!\d)|(?<=\D),|(?<=\w)\((?=\w)|\)(?=\w)")
_BEFORE = "([{\"'*,.;:"
_AFTER = ")]}\"'*,.;:!?"
_AUTOLINK = re.compile(r"<[a-zA-Z][^<>]*>[.,;:!?)]*")
"""An address in angle brackets."""
_ITEM_MARKS = ",;\u2022"
_DASH = re.compile(r"[-*]+")
_EMPTY = re.compile(r"\[\s*\]|\(\s*\)")
"""A box or a gap that something was, or was not, put into."""
_VULGAR = re.compile("[\u00bc-\u00be\u2150-\u215e\u2189]")
"""Fractions of one character."""


@dataclass(frozen=True, slots=True)
class Token:
    """One token of an answer."""

    text: str
    """As written, without accents and with plain quotes and hyphens."""
    new_clause: bool = False
    """Whether punctuation or a line break separates it from the token before it, or it is the first one."""

    new_line: bool = False
    """Whether a line break separates it from the token before it."""
    new_item: bool = False
    """Whether a comma, a semicolon or a bullet separates it from the token before it, as in lists."""

    @property
    def plain(self) -> str:
        """The text in lower case."""
        return self.text.casefold()

    @property
    def has_digit(self) -> bool:
        """Whether it contains a digit."""
        return any(map(str.isdigit, self.text))


def fold(text: str) -> str:
    """Returns ``text`` in the form that is split: no Markdown, no accents, plain quotes and hyphens, JSON as lines.

    >>> fold("**Caf\u00e9** &amp; `bar`"), fold('{"count": 36}')
    ('Cafe & bar', 'count: 36')
    """
    text = _json_lines(html.unescape(text))
    text = re.sub(r"\\boxed\{([^{}]*)\}", r" \1 ", text)
    text = _VULGAR.sub(lambda found: " " + unicodedata.normalize("NFKC", found[0]).replace("\u2044", "/"), text)
    text = _INVISIBLE.sub("", _RULER.sub("", _FENCE.sub("", text)))
    text = _LINK.sub(lambda found: found[1] if found[1] == found[2] else f"{found[1]} ({found[2]})", text)
    text = _EMPTY.sub(" [] ", _HEADING.sub("", text))
    for _ in range(2):
        text = _EMPHASIS.sub(lambda found: found[1] or found[2] or found[3], text)
    text = text.translate(_PLAIN)
    if len(final := list(_FINAL.finditer(text))) == 1:
        text = text[final[0].start(1) :]
    text = _without_numbering(text)
    if not text.isascii():
        text = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text.replace("\u00b0", "\x01")))
        text = "".join(c for c in text if not unicodedata.combining(c)).replace("\x01", "\u00b0")
    return text.strip()


@functools.lru_cache(maxsize=256)
def tokens(text: str) -> tuple[Token, ...]:
    """Returns the tokens of a text.

    >>> [token.text for token in tokens("In total: 36 (on 2023-05-04), by A. Lee-2.")]
    ['In', 'total', '36', 'on', '2023-05-04', 'by', 'A', 'Lee-2']
    """
    return tuple(_split(fold(text)))


def _split(text: str) -> Iterator[Token]:
    new_clause, end, last = True, 0, 0
    chunks = [(found.start(), found.end()) for found in _CHUNK.finditer(text)]
    pieces = [piece for start, stop in chunks for piece in _pieces(text, start, stop)]
    for index, (start, stop) in enumerate(pieces):
        new_line = "\n" in text[end:start]
        new_clause = new_clause or new_line
        whole = text[start:stop]
        core = whole.strip("<>") if _AUTOLINK.fullmatch(whole) else whole.lstrip(_BEFORE)
        if whole[:1] in ".," and core[:1].isdigit():
            core = whole[0] + core
        new_clause = new_clause or len(core) < len(whole)
        core = whole if whole == "[]" else _trimmed(core)
        end = stop
        if not core or (_DASH.fullmatch(core) and not _operator(text, pieces, index)):
            new_clause = True
            if "?" in whole:
                yield Token("?")
            continue
        begin = start + whole.find(core)
        new_item = bool(last) and any(mark in text[last:begin] for mark in _ITEM_MARKS)
        last = begin + len(core)
        yield Token("and" if core == "&" else core, new_clause, new_line, new_item)
        if "?" in whole[whole.find(core) + len(core) :]:
            yield Token("?")
        new_clause = not whole.endswith(core) or text[stop : stop + 1] in (",", ";", ":", "(", ")")


def _pieces(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yields the parts of a run without spaces that inner punctuation separates."""
    if "://" in text[start:stop]:
        yield start, stop
        return
    for found in _INNER.finditer(text, start, stop):
        if found.start() > start:
            yield start, found.start()
        start = found.end()
    if start < stop:
        yield start, stop


def _trimmed(core: str) -> str:
    while core and core[-1] in _AFTER:
        if core[-1] == ")" and "(" in core:
            break
        core = core[:-1]
    return core


def _operator(text: str, pieces: list[tuple[int, int]], index: int) -> bool:
    """Whether a free-standing dash or star may be an operator or a sign: a numeral follows, and it begins no line."""
    if not 0 < index < len(pieces) - 1 or "\n" in text[pieces[index - 1][1] : pieces[index][0]]:
        return False
    return text[pieces[index + 1][0]].isdigit()


def _without_numbering(text: str) -> str:
    """Remove the numbers of list items that count from 1."""
    numbers = [int(number) for number in _ITEM.findall(text)]
    return _ITEM.sub("", text) if numbers == list(range(1, len(numbers) + 1)) else text


def _json_lines(text: str) -> str:
    """Returns JSON as lines ``key: value``; other text unchanged."""
    bare = _FENCE.sub("", text).strip()
    if bare[:1] + bare[-1:] not in ("{}", "[]"):
        return text
    try:
        data = json.loads(bare, parse_float=str, parse_int=str)
    except (ValueError, RecursionError):
        return text
    return "\n".join(_lines(data, ""))


def _lines(data: Any, key: str) -> Iterator[str]:
    match data:
        case dict():
            for name, value in data.items():
                yield from _lines(value, key if name == "answer" else f"{key}{name.replace('_', ' ')}: ")
        case list():
            for value in data:
                yield from _lines(value, key)
        case None:
            yield f"{key}none"
        case bool():
            yield f"{key}{'yes' if data else 'no'}"
        case _:
            yield f"{key}{data}"
