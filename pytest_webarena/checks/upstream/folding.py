"""One plain form for answers and references, in which readings of the grading ``repaired`` compare them."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable

from pytest_webarena.checks.upstream.structured import said_in_lines

__all__ = ["FUNCTION_WORDS", "abbreviated", "content_words", "fold", "folded_reference", "stem"]

_QUOTES = str.maketrans("\u2018\u2019\u201a\u201c\u201d\u201e\u2010\u2011\u2013\u2014\u2212", "'''\"\"\"-----")
_SIGNS = re.compile("\\((?:tm|TM|r|R|c|C)\\)|[\u2122\u00ae\u00a9\u200b\ufe0f]")  # trade marks and what can't be seen
_LINK = re.compile(r"\[([^\]\n]+)\]\([^)\s]*\)")
_EMPHASIS = re.compile(
    r"\*\*|(?<!\w)__(?=\w)|(?<=\w)__(?!\w)|`+|(?<![\w*])\*(?=\w)|(?<=[\w.!)\"'])\*(?!\w)|(?<!\w)_(?=\w)"
)
_BULLET = re.compile(r"^[ \t]*(?:[-*+\u2022>#]+[ \t]+|\(?\d{1,2}[.)][ \t]+(?=\S))", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*```\w*[ \t]*$", re.MULTILINE)
_RULER = re.compile(r"^[ \t|:+-]+$", re.MULTILINE)
_CELL = re.compile(r"[ \t]*\|[ \t]*")
_BRACKETS = re.compile(r"[)\]}][ \t]*[,;/|]?[ \t]*[(\[{]")
_ARROW = re.compile(r"[\u2192\u27a1\u21d2]|->|=>")
_ABBREVIATIONS = {
    "avenue": "ave", "street": "st", "boulevard": "blvd", "drive": "dr", "road": "rd", "highway": "hwy",
    "apartment": "apt", "suite": "ste", "north": "n", "south": "s", "east": "e", "west": "w",
    "&": "and",
}  # fmt: skip
_ABBREVIATED = re.compile(r"(?<![\w&])(?:" + "|".join(map(re.escape, _ABBREVIATIONS)) + r")(?![\w&])")
_AFTER_ABBREVIATION = re.compile(r"(?<![\w&])(ave|st|blvd|dr|rd|hwy|apt|ste|n|s|e|w)\.(?=\s|,|$)")
_INITIAL = re.compile(r"(?<=\b[a-z])\.(?= [a-z])")
_SPACED_UNIT = re.compile(r"(?<=\d) (?=(?:cm|mm|ft|inch(?:es)?|in|oz|gb|mb|kg|g|ml)\b)")

_DOUBLED = re.compile(r"([bdgmnprt])\1\Z")

FUNCTION_WORDS = frozenset(
    """
    a about according account across after ago all also altogether among amount an and answer any are as at
    based be because been being but by can come comes could did do does during each else exactly first final
    for found from full get gets given go goes had has have having he her here hers him his i i'd i'll i'm
    i've if in indeed into is it it's its itself just latest listed me mine most my name named namely names
    next no not number of on one only onto or our ours out over own per please result results said same says
    see seems she shown shows since so some store's sum than that that's the their theirs them then there
    there's these they they're this those through to together total totals under until up upon us value very
    via was we were what when where which while who whom whose will with within would yes you your yours
    called uses using user customer
    """.split()  # noqa: SIM905 - a list is no easier to read
)


@functools.lru_cache(maxsize=512)
def fold(text: str) -> str:
    """Lower case, plain quotes and dashes, no accents, no marks of Markdown; lines and cells stay apart by newlines.

    >>> fold("1. **Caf\u00e9** Band\u2122\\n2. [Tea](http://x.test) | `ok`")
    'cafe band\\ntea\\nok'
    """
    text = _SIGNS.sub("", said_in_lines(text))
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(_QUOTES)
        text = "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))
    text = _FENCE.sub("", text)
    text = _BULLET.sub("", _RULER.sub("", _EMPHASIS.sub("", _LINK.sub(r"\1", text))))
    text = _BRACKETS.sub(", ", _ARROW.sub(", ", _CELL.sub("\n", text)))  # side by side they are a list
    lines = (" ".join(line.split()) for line in text.lower().splitlines())
    return "\n".join(line for line in lines if line)


@functools.lru_cache(maxsize=2048)
def folded_reference(text: str) -> str:
    """``fold`` without the pair of quotes that the original ignores too."""
    folded = fold(text).replace("\n", " ")
    for quote in ("'", '"'):
        if len(folded) > 1 and folded.startswith(quote) and folded.endswith(quote):
            return folded[1:-1]
    return folded


@functools.lru_cache(maxsize=512)
def abbreviated(text: str) -> str:
    """Folded text with the usual abbreviations of addresses, and hyphens between letters as spaces.

    >>> abbreviated("3716 forbes avenue, s. aiken ave. & green-vines")
    '3716 forbes ave, s aiken ave and green vines'
    """
    text = _AFTER_ABBREVIATION.sub(r"\1", _ABBREVIATED.sub(lambda match: _ABBREVIATIONS[match[0]], text))
    text = _SPACED_UNIT.sub("", _INITIAL.sub("", text))
    return re.sub(r"(?<=[a-z])-(?=[a-z])", " ", text)


@functools.lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """A word without the endings by which a question and its answer differ.

    >>> [stem(word) for word in ("reviews", "orders", "cancelled", "cancellations", "purchases")]
    ['review', 'order', 'cancel', 'cancel', 'purchas']
    """
    word = word.removesuffix("'s")
    for ending in ("lations", "lation", "lling", "lled", "ations", "ation", "ing", "ies", "es", "ed", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return _DOUBLED.sub(r"\1", word[: -len(ending)]) + ("l" if ending.startswith("ll") else "")
    return word


def content_words(texts: Iterable[str]) -> frozenset[str]:
    """Stems of the words that carry meaning."""
    words = (word for text in texts for word in re.findall(r"[a-z][a-z']*", fold(text)))
    return frozenset(stem(word) for word in words if word not in FUNCTION_WORDS)
