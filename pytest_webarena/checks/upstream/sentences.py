"""Sentences of lower-cased English text, split as NLTK's Punkt model does: Kiss and Strunk's algorithm (2006).

The original harness cuts answers into sentences before it cuts them into words, which decides whether a full stop
belongs to a number ("0. the" does not end a sentence, "0. 5" does). Answers are in lower case by then, and of the
trained model little is left that could matter: no word starts a sentence by its capital letter.
"""

from __future__ import annotations

import itertools
import re
import string
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["sentences"]

_NO_WORD = r"(?:[)\";}\]*:@'({\[?!])"
_SEVERAL = r"(?:-{2,}|\.{2,}|(?:\.\s){2,}\.)"
_TOKEN = re.compile(
    rf"{_SEVERAL}"
    r"|(?=[^(\"`{\[:;&#*@)}\]\-,])\S+?"
    rf"(?=\s|$|{_NO_WORD}|{_SEVERAL}|,(?=$|\s|{_NO_WORD}|{_SEVERAL}))"
    r"|\S"
)
_END = re.compile(rf"[.?!](?=(?P<after>{_NO_WORD}|\s+(?P<next>\S+)))")
_CLOSING = re.compile(r"[\"')\]}]+?(?:\s+|(?=--)|$)", re.MULTILINE)
_NUMBER = re.compile(r"-?[.,]?\d[\d,.\-]*\.?$")
_INITIAL = re.compile(r"[^\W\d]\.$")

_SHORT = """
    adm ala ariz aug ave bros calif chg cie co col colo conn corp cos ct dec dr feb fla fri ft ga gen ill inc jan jr kan
    ky lt ltd maj messrs mg mich minn mr mrs ms nev nov oct ok okla ore pa ph.d prof rep reps sen sep sept sr st sw tenn
    tues va vs vt wash wed wis yr a.m p.m u.k u.n u.s u.s.a d.c n.y c d e f g h k l m n p r s t v w
"""
_ABBREVIATIONS = frozenset(_SHORT.split())
"""What the model takes for abbreviations, most dotted initials aside: these only matter to themselves."""
_STARTERS = frozenset({"administrators", "b-week", "r-revised", "z-holiday"})
"""Words that may start a sentence in lower case."""
_PUNCTUATION = frozenset(";:,.!?")


@dataclass(slots=True)
class _Token:
    text: str
    ends: bool = False
    """Whether a sentence ends with it."""
    short: bool = False
    """Whether it is an abbreviation or an ellipsis."""

    @property
    def is_number(self) -> bool:
        return bool(_NUMBER.match(self.text))


def sentences(text: str) -> Iterator[str]:
    """The sentences of ``text``, which is taken to be in lower case; white space around them is left out.

    >>> list(sentences("there are 0. the end? 5 and 0. 7"))
    ['there are 0. the end?', '5 and 0.', '7']
    """
    begin = 0
    spans: list[tuple[int, int]] = []
    for match, context in _candidates(text):
        if _breaks(context):
            spans.append((begin, match.end()))
            begin = match.start("next") if match["next"] else match.end()
    spans.append((begin, len(text.rstrip())))
    for start, end in _realigned(text, spans):
        if start < end:
            yield text[start:end]


def _candidates(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Where a sentence may end, each with the word before and what comes after; one per word, the last."""
    start, stop = 0, 0
    previous: re.Match[str] | None = None
    for match in _END.finditer(text):
        space = max(text.rfind(character, stop, match.start()) for character in string.whitespace)
        word = space + 1 if space > stop else start
        if previous is not None and stop <= word:
            yield previous, text[start:stop] + previous.group() + previous["after"]
        previous, start, stop = match, word, match.start()
    if previous is not None:
        yield previous, text[start:stop] + previous.group() + previous["after"]


def _breaks(context: str) -> bool:
    """Whether a sentence ends within ``context``."""
    tokens = [_first_look(word) for line in context.split("\n") for word in _TOKEN.findall(line)]
    for token, following in itertools.pairwise(tokens):
        _second_look(token, following)
        if token.ends:
            return True
    return False


def _first_look(word: str) -> _Token:
    if word in (".", "?", "!"):
        return _Token(word, ends=True)
    if re.match(r"\.\.+$", word):
        return _Token(word, short=True)
    if word.endswith(".") and not word.endswith(".."):
        known = word[:-1] in _ABBREVIATIONS or word[:-1].split("-")[-1] in _ABBREVIATIONS
        return _Token(word, ends=not known, short=known)
    return _Token(word)


def _second_look(token: _Token, following: _Token) -> None:
    """A number or an initial does not end a sentence when what follows can't start one."""
    if not token.text.endswith(".") or not (token.is_number or _INITIAL.match(token.text)):
        return
    first = following.text[0]
    if following.text in _PUNCTUATION or (first.islower() and following.text.rstrip(".") not in _STARTERS):
        token.ends = False


def _realigned(text: str, spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Quotes and brackets that close a sentence belong to it."""
    shift = 0
    for index, (start, end) in enumerate(spans):
        start += shift
        if index + 1 < len(spans) and (match := _CLOSING.match(text[slice(*spans[index + 1])])):
            yield start, spans[index + 1][0] + len(match.group().rstrip())
            shift = match.end()
        else:
            yield start, end
            shift = 0
